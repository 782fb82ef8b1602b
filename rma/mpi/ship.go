//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"
)

// threadMultiple is the level at which a program calls MPI without the lock of the engine.
const threadMultiple = 3

// openMessages finds out whether all ranks take messages at any time, and whether their atomics go
// by them. Where the program has initialised MPI with less than MPI_THREAD_MULTIPLE it may wait
// in MPI, with the lock, for a rank that waits for an answer. Collective.
func (j *member) openMessages(ctx context.Context, hidden bool) error {
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
	j.inbox.Send = func(request unsafe.Pointer, served bool, words int) {
		code := C.int(0)
		if !served {
			code = C.FH_UNSERVED
		}
		C.fh_answer(j.c, request, code, C.int(words))
	}
	j.inbox.Begin(unsafe.Pointer(C.fh_inbox(j.c)))
	return nil
}
