//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"sync"
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
	j.service.running.Go(j.serve)
	return nil
}

// service answers the requests of other ranks: it has the windows that are served, by number, and
// a goroutine that calls their handlers. Goroutines that wait for an answer call them as well, as
// to wake another one takes longer. C has all of them call one handler at a time.
type service struct {
	mu      sync.Mutex
	windows map[uint32]*servedWindow
	running sync.WaitGroup
}

// serve answers requests until the job ends.
func (j *Job) serve() {
	for r := C.fh_take(j.c); r != nil; r = C.fh_take(j.c) {
		j.answer(r)
	}
}

// serveNow answers a request, if there is one and no other goroutine does so.
func (j *Job) serveNow() bool {
	r := C.fh_take_now(j.c)
	if r == nil {
		return false
	}
	j.answer(r)
	return true
}

func (j *Job) answer(r *C.fh_request) {
	j.service.mu.Lock()
	w := j.service.windows[uint32(r.window)]
	j.service.mu.Unlock()
	words, code := 0, C.int(C.FH_UNSERVED)
	if w != nil {
		words, code = w.handle(r)
	}
	C.fh_answer(j.c, r, code, C.int(words)) // an error comes again where this rank calls MPI
}

// endService ends it, when all ranks have left.
func (j *Job) endService() {
	C.fh_dismiss(j.c)
	j.service.running.Wait()
}

// servedWindow is a window of a job whose ranks take messages at any time.
type servedWindow struct {
	*Window
	number   uint32     // the same on all ranks
	handling sync.Mutex // around the following, and each of its calls
	handler  rma.Handler
}

// windowOf is the window of this engine in one that an operation names. A window of another
// engine is a bug of the caller.
func windowOf(w rma.Window) *Window {
	if s, ok := w.(*servedWindow); ok {
		return s.Window
	}
	return w.(*Window)
}

// handle has the window's handler answer a request.
func (w *servedWindow) handle(r *C.fh_request) (words int, code C.int) {
	w.handling.Lock()
	defer w.handling.Unlock()
	if w.handler == nil {
		return 0, C.FH_UNSERVED
	}
	request := unsafe.Slice((*uint64)(r.request), int(r.words))
	answer := unsafe.Slice((*uint64)(r.answer), int(r.room))
	words = w.handler(int(r.from), request, answer)
	if words < 0 || words > len(answer) {
		panic(fmt.Sprintf("rma/mpi: a handler says that it wrote %d words, and there was room "+
			"for %d", words, len(answer)))
	}
	return words, 0
}

// Serve has handler answer what other ranks ship to this one's segment; nil ends that.
func (w *servedWindow) Serve(handler rma.Handler) {
	if handler != nil && w.closed.Load() {
		panic("rma/mpi: a handler for a window that this rank has closed")
	}
	w.handling.Lock() // one under way has returned
	w.handler = handler
	w.handling.Unlock()
	s := &w.job.service
	s.mu.Lock()
	defer s.mu.Unlock()
	if handler == nil {
		delete(s.windows, w.number)
		return
	}
	if s.windows == nil {
		s.windows = map[uint32]*servedWindow{}
	}
	s.windows[w.number] = w
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
