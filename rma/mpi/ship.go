//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

var (
	_ rma.Server  = (*servedWindow)(nil)
	_ rma.Carrier = (*Queue)(nil)
	_ [0]struct{} = [rma.MaxShipWords - C.FH_SHIP_WORDS]struct{}{} // C knows the limit as well
)

// threadMultiple is the level at which a program calls MPI without the lock of the engine.
const threadMultiple = 3

// openMessages finds out whether all ranks take messages at any time, and whether their atomics go
// by them. Where the program has initialised MPI with less than MPI_THREAD_MULTIPLE it may wait
// in MPI, with the lock, for a rank that waits for an answer. Collective.
func (j *Job) openMessages(ctx context.Context, hidden bool) error {
	var facts C.fh_facts
	C.fh_phase(&facts)
	var mine [2]uint64
	if !mpiState.passive && (facts.ours != 0 || facts.level == threadMultiple) {
		mine[0] = 1
	}
	if !hidden && !fastNetwork() {
		mine[1] = 1
	}
	least, err := j.least(ctx, mine[:])
	if err != nil || least[0] == 0 {
		return err
	}
	j.serves, j.swaps = true, least[1] == 1
	C.fh_serve(j.c)
	j.serving.Go(j.serve)
	return nil
}

// serve answers requests until the job ends. Goroutines that wait for an answer do so as well, as
// to wake this one takes longer. C has all of them call one handler at a time.
func (j *Job) serve() {
	for r := C.fh_take(j.c); r != nil; r = C.fh_take(j.c) {
		j.answer(r)
	}
}

// serveNow answers the requests that there are, unless another goroutine does so.
func (j *Job) serveNow() (served bool) {
	for r := C.fh_take_now(j.c); r != nil; r = C.fh_take_now(j.c) {
		j.answer(r)
		served = true
	}
	return served
}

func (j *Job) answer(r *C.fh_request) {
	words, served := j.service.Answer(uint32(r.window), int(r.from),
		unsafe.Slice((*uint64)(r.request), int(r.words)),
		unsafe.Slice((*uint64)(r.answer), int(r.room)))
	code := C.int(0)
	if !served {
		code = C.FH_UNSERVED
	}
	C.fh_answer(j.c, r, code, C.int(words)) // an error comes again where this rank calls MPI
}

// endService ends it, when all ranks have left.
func (j *Job) endService() {
	C.fh_dismiss(j.c)
	j.serving.Wait()
}

// servedWindow is a window of a job whose ranks take messages at any time.
type servedWindow struct {
	*Window
	number uint32 // the same on all ranks
}

// windowOf is the window of this engine in one that an operation names. A window of another
// engine is a bug of the caller.
func windowOf(w rma.Window) *Window {
	if s, ok := w.(*servedWindow); ok {
		return s.Window
	}
	return w.(*Window)
}

// Serve has handler answer what other ranks ship to this one's segment; nil ends that.
func (w *servedWindow) Serve(handler rma.Handler) {
	if handler != nil && w.closed.Load() {
		panic("rma/mpi: a handler for a window that this rank has closed")
	}
	w.job.service.Serve(w.number, handler)
}

// Close gives the window up, and ends serving it.
func (w *servedWindow) Close() error {
	if !w.closed.Load() {
		w.Serve(nil)
	}
	return w.Window.Close()
}

// Ship sends a request to the handler of a rank. The window must be a [rma.Server].
func (q *Queue) Ship(request, answer rma.Buf, window rma.Window, rank int) rma.Handle {
	direct.CheckShip(request, answer, window, rank)
	h, op := q.take(C.FH_SHIP, window.(*servedWindow).Window, rank, 0, len(request))
	op.buf = q.own(request)
	if op.room = C.int64_t(len(answer)); op.room > 0 {
		op.answer = q.own(answer)
	}
	q.stats.Ships++
	return h
}
