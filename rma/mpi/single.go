//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"unsafe"

	"github.com/farhash/farhash/rma"
)

// SinglesOf is what callers in C need for single gets and puts in a window of this engine. ok is
// false for others, and where MPI makes no windows, on all ranks.
func SinglesOf(w rma.Window) (s Singles, ok bool) {
	ours, ok := w.(interface {
		Inside(engine string) unsafe.Pointer
	})
	if !ok || ours.Inside("rma/mpi") == nil {
		return s, false
	}
	inside := ours.Inside("rma/mpi")
	near := C.fh_near((*C.fh_window)(inside))
	if near == nil {
		return s, false
	}
	s = Singles{Window: inside, Direct: unsafe.Pointer(near), Get: C.fh_get_one, Put: C.fh_put_one}
	if ask().useRequests() {
		s.Get = C.fh_get_by_request
	}
	return s, true
}
