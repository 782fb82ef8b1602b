//go:build ucx && cgo

package ucx

// #include "shim.h"
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

var (
	_ rma.Server  = (*Window)(nil)
	_ rma.Carrier = (*Queue)(nil)
	_ [0]struct{} = [rma.MaxShipWords - C.FH_SHIP_WORDS]struct{}{} // C knows the limit as well
)

// service answers the requests of other ranks: it has the windows that are served, by number, and
// the goroutine that calls their handlers.
type service struct {
	mu      sync.Mutex
	windows map[uint32]*Window
	running sync.WaitGroup
}

// serve answers requests until the job ends.
func (j *Job) serve() {
	for r := C.fu_take(j.c); r != nil; r = C.fu_take(j.c) {
		j.service.mu.Lock()
		w := j.service.windows[uint32(r.window)]
		j.service.mu.Unlock()
		words, code := 0, C.int(C.FH_UNSERVED)
		if w != nil {
			words, code = w.handle(r)
		}
		C.fu_answer(j.c, r, code, C.int(words))
	}
}

// handle has the window's handler answer a request.
func (w *Window) handle(r *C.fu_request) (words int, code C.int) {
	w.handling.Lock()
	defer w.handling.Unlock()
	if w.handler == nil {
		return 0, C.FH_UNSERVED
	}
	request := unsafe.Slice((*uint64)(r.request), int(r.words))
	answer := unsafe.Slice((*uint64)(r.answer), int(r.room))
	words = w.handler(int(r.from), request, answer)
	if words < 0 || words > len(answer) {
		panic(fmt.Sprintf("rma/ucx: a handler says that it wrote %d words, and there was room "+
			"for %d", words, len(answer)))
	}
	return words, 0
}

// Serve has handler answer what other ranks ship to this one's segment; nil ends that.
func (w *Window) Serve(handler rma.Handler) {
	if handler != nil && w.closed.Load() {
		panic("rma/ucx: a handler for a window that this rank has closed")
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
		s.windows = map[uint32]*Window{}
	}
	s.windows[w.number] = w
}

// Ship sends a request to the handler of a rank.
func (q *Queue) Ship(request, answer rma.Buf, window rma.Window, rank int) rma.Handle {
	direct.CheckShip(request, answer, window, rank)
	h, op := q.take(C.FH_SHIP, window.(*Window), rank, 0, len(request))
	op.buf = q.own(request)
	if op.room = C.int64_t(len(answer)); op.room > 0 {
		op.answer = q.own(answer)
	}
	q.stats.Ships++
	return h
}
