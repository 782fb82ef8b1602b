//go:build ucx && cgo

package ucx

// #include "shim.h"
import "C"

import (
	"unsafe"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

var (
	_ rma.Server  = (*Window)(nil)
	_ rma.Carrier = (*Queue)(nil)
	_ [0]struct{} = [rma.MaxShipWords - C.FH_SHIP_WORDS]struct{}{} // C knows the limit as well
)

// serve answers requests until the job ends.
func (j *Job) serve() {
	for r := C.fu_take(j.c); r != nil; r = C.fu_take(j.c) {
		words, served := j.service.Answer(uint32(r.window), int(r.from),
			unsafe.Slice((*uint64)(r.request), int(r.words)),
			unsafe.Slice((*uint64)(r.answer), int(r.room)))
		code := C.int(0)
		if !served {
			code = C.FH_UNSERVED
		}
		C.fu_answer(j.c, r, code, C.int(words))
	}
}

// Serve has handler answer what other ranks ship to this one's segment; nil ends that.
func (w *Window) Serve(handler rma.Handler) {
	if handler != nil && w.closed.Load() {
		panic("rma/ucx: a handler for a window that this rank has closed")
	}
	w.job.service.Serve(w.number, handler)
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
