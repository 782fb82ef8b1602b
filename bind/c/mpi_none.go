//go:build !mpi

package main

// #include "library.h"
import "C"

import (
	"cmp"
	"fmt"
	"unsafe"
)

func joinComm(_ int32, _ options, wrong error) (*job, error) {
	return nil, cmp.Or(wrong, fmt.Errorf("farhash: this libfarhash has been built without MPI; "+
		"link with libfarhash-openmpi or libfarhash-mpich: %w", errUnsupported))
}

//export goExclusive
func goExclusive(function, argument unsafe.Pointer) (code C.int) {
	C.fh_call_plain(function, argument)
	return C.FARHASH_OK
}
