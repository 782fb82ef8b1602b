//go:build (mpi || ucx) && cgo

package remote

// #include <stdlib.h>
// #include "remote.h"
import "C"

import (
	_ "embed"
	"sync"
	"unsafe"

	"github.com/farhash/farhash/rma"
)

// header is never read. A change of it changes this package, so that Go compiles the C of the
// engines again, which include it: Go examines the headers of a package's own folder alone.
//
//go:embed remote.h
var header string

// CMemory is memory of C.
var CMemory = Memory{
	Allocate: func(words int) *uint64 { return (*uint64)(C.calloc(C.size_t(words), 8)) },
	Free:     func(memory unsafe.Pointer) { C.free(memory) },
}

// Go and C have the same slots, numbers and limits, or this does not compile.
var (
	_ [0]struct{} = [unsafe.Sizeof(Op{}) - C.sizeof_fr_op]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(Op{}.orphan) - unsafe.Offsetof(C.fr_op{}.orphan)]struct{}{}
	_ [0]struct{} = [Unserved - C.FH_UNSERVED]struct{}{}
	_ [0]struct{} = [Ship - C.FH_SHIP]struct{}{}
	_ [0]struct{} = [Done - C.FH_DONE]struct{}{}
	_ [0]struct{} = [rma.MaxShipWords - C.FH_SHIP_WORDS]struct{}{}
)

// Inbox is the requests that have come to a rank, and the goroutine that has the handlers answer
// them. C brings them.
type Inbox struct {
	Handlers
	// Dropped reports whether the requests of a rank are not answered; nil: all are.
	Dropped func(from int) bool
	// Send sends the answer to a request, words of it, or that it is not served. The request
	// belongs to C again, and fr_answered was called.
	Send func(request unsafe.Pointer, served bool, words int)

	c       *C.fr_inbox
	serving sync.WaitGroup
}

// Begin begins to answer the requests of an fr_inbox.
func (in *Inbox) Begin(c unsafe.Pointer) {
	in.c = (*C.fr_inbox)(c)
	in.serving.Go(func() {
		for in.answer(1) {
		}
	})
}

// AnswerNow answers the requests that there are, unless another goroutine does so.
func (in *Inbox) AnswerNow() (answered bool) {
	for in.c != nil && in.answer(0) {
		answered = true
	}
	return answered
}

func (in *Inbox) answer(wait C.int) bool {
	r := C.fr_take(in.c, wait)
	if r == nil {
		return false
	}
	words, served := 0, false
	if in.Dropped == nil || !in.Dropped(int(r.from)) {
		words, served = in.Answer(uint32(r.window), int(r.from),
			unsafe.Slice((*uint64)(r.request), int(r.words)),
			unsafe.Slice((*uint64)(r.answer), int(r.room)))
	}
	in.Send(unsafe.Pointer(r), served, words)
	return true
}

// End ends the goroutine, after the handler that runs.
func (in *Inbox) End() {
	if in.c != nil {
		C.fr_dismiss(in.c)
	}
	in.serving.Wait()
}
