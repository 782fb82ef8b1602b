//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/farhash/farhash/internal/invariant"
)

// threadMultiple is the level at which a program calls MPI without the lock of the engine.
const threadMultiple = 3

// openMessages finds out whether all ranks take messages at any time, and whether their atomics, or
// all operations, go by them. Where the program has initialised MPI with less than
// MPI_THREAD_MULTIPLE it may wait in MPI, with the lock, for a rank that waits for an answer.
// Collective.
func (j *member) openMessages(ctx context.Context, hidden, carried bool, store int) error {
	var facts C.fh_facts
	C.fh_phase(&facts)
	serves := !mpiState.passive && (facts.ours != 0 || facts.level == threadMultiple)
	windows := !carried && !j.lib.refusesWindows(int(facts.level))
	least, err := j.least(ctx, []uint64{uint64(flag(serves)),
		uint64(flag(!hidden && !fastNetwork())), uint64(flag(windows))})
	if err != nil {
		return err
	}
	if j.serves = least[0] == 1; !j.serves {
		return nil
	}
	j.carried = least[2] == 0
	j.swaps = least[1] == 1 || j.carried && !hidden
	if store > 0 {
		C.fh_limit(j.c, C.int64_t(store))
	}
	C.fh_serve(j.c)
	j.inbox.Send = func(request unsafe.Pointer, served bool, words int) {
		code := C.int(0)
		if !served {
			code = C.FH_UNSERVED
		}
		C.fh_answer(j.c, request, code, C.int(words))
		if invariant.Enabled {
			s := j.stored()
			invariant.Check(s.sound, "the memory for requests is %+v", s)
		}
	}
	j.inbox.Begin(unsafe.Pointer(C.fh_inbox(j.c)))
	return nil
}

// stored is what the requests of others have of the memory for them.
type stored struct {
	used, limit int
	waiting     int  // claims that wait for room
	sound       bool // the limit is kept
}

func (j *member) stored() stored {
	var now C.fr_store
	sound := C.fh_stored(j.c, &now)
	return stored{int(now.used), int(now.limit), int(now.waiting), sound != 0}
}
