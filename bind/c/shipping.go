package main

// #include "library.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/farhash/farhash/rma"
)

// shipping is what a table does with batches, and how many operations this rank has done for
// others.
func shipping(kind C.uint32_t, v C.uint64_t) (rma.AccessChoice, uint64) {
	switch kind {
	case C.FH_SET:
		s := setOf(v).Stats()
		return s.Access, s.Served
	case C.FH_BYTES:
		s := bytesOf(v).Stats()
		return s.Access, s.Served
	case C.FH_CACHE:
		s := cacheOf(v).Stats()
		return s.Access, s.Served
	case C.FH_MAP:
		s := mapOf(v).Stats()
		return s.Access, s.Served
	}
	x := indexOf(v)
	return x.reader.Stats().Access, x.Stats().Served
}

//export goShipping
func goShipping(kind C.uint32_t, v C.uint64_t, out *C.farhash_shipping) (code C.int) {
	defer guard(&code)
	choice, served := shipping(kind, v)
	*out = C.farhash_shipping{min_batch: C.uint64_t(choice.MinBatch), served: C.uint64_t(served)}
	if choice.MinBatch == 0 || choice.MinBatch == math.MaxInt {
		out.min_batch = math.MaxUint64
	}
	reason := unsafe.Slice((*byte)(unsafe.Pointer(&out.reason)), len(out.reason)-1)
	copy(reason, choice.String())
	return C.FARHASH_OK
}
