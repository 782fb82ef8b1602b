//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/remote"
)

// window is a window of MPI.
type window struct {
	remote.Server // Coherent: owners swap words, by their processors; what MPI swaps they must not
	job           *member
	c             *C.fh_window
	host          rma.Window // the segments of this host, nil where they are memory of MPI
}

// lineWords is what segments are rounded up to: in windows of MPICH 4.0 on one host, ranks
// disagree where a segment begins that follows one of an odd number of words.
const lineWords = 8

// wholeLines is the size of a segment in memory.
func wholeLines(words int) int { return (words + lineWords - 1) / lineWords * lineWords }

// NewWindow makes a window. The segments of the ranks of a host lie in memory that they
// share, unless windows are hidden.
func (j *member) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := direct.AgreeOnSpec(ctx, j, spec); err != nil {
		return nil, err
	}
	if err := j.freeClosed(ctx); err != nil {
		return nil, err
	}
	w := &window{job: j}
	w.Init("rma/mpi", j.rank, j.size, spec.Words, uint32(j.made), &j.inbox.Handlers)
	j.made++
	err := j.agree(ctx, "memory for a window", w.reserve(ctx, spec))
	if err == nil {
		err = j.agree(ctx, "making a window", w.open())
	}
	if err == nil {
		err = w.agreeOnSwaps(ctx)
	}
	if err != nil {
		if w.host != nil {
			_ = w.host.Close()
		}
		return nil, fmt.Errorf("making window %q: %w", spec.Name, err)
	}
	if w.Coherent {
		C.fh_coherent(w.c)
	}
	j.windows = append(j.windows, w)
	if j.serves {
		return &w.Server, nil
	}
	return &w.Window, nil
}

// agreeOnSwaps decides who carries out atomics: their owners, if every process sees its segment.
// Collective.
func (w *window) agreeOnSwaps(ctx context.Context) error {
	if !w.job.swaps {
		return nil
	}
	least, err := w.job.least(ctx, []uint64{uint64(flag(w.Words(w.job.rank) != nil))})
	w.Coherent = err == nil && least[0] == 1
	return err
}

// reserve gets or checks the memory for this rank's segment.
func (w *window) reserve(ctx context.Context, spec rma.Spec) error {
	j := w.job
	if j.near.Memory == nil {
		need := uint64(wholeLines(spec.Words)) * 8 * uint64(len(j.near.Ranks))
		return memory.Check(need, "rma/mpi: the segments of this host")
	}
	spec.Words = wholeLines(spec.Words)
	spec.Reserve = false // the window is no Committer: all memory is taken at once
	host, err := j.near.Memory.NewWindow(ctx, spec)
	if err == nil {
		w.host = host
	}
	return j.near.InWorld(err)
}

// open makes the window of MPI. Collective.
func (w *window) open() error {
	j := w.job
	var base, mine *C.uint64_t
	if w.host != nil {
		base = pointer(w.host.Words(j.near.Places[j.rank]))
	}
	code := C.fh_open(j.c, base, C.int64_t(wholeLines(w.Len())), C.uint32_t(w.Number()), &w.c,
		&mine)
	w.C = unsafe.Pointer(w.c)
	if code != 0 {
		return fmt.Errorf("%w; %s", j.lib.fault("making a window", code), j.lib.remedy())
	}
	if w.host == nil || C.fh_unified(w.c) == 0 {
		return nil
	}
	for local, rank := range j.near.Ranks {
		w.Views[rank] = w.host.Words(local)[:w.Len():w.Len()]
		C.fh_direct(w.c, C.int(rank), pointer(w.Views[rank]))
	}
	return nil
}

func pointer(words []uint64) *C.uint64_t {
	return (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(words)))
}

// freeClosed frees the windows that every rank has closed. Collective.
func (j *member) freeClosed(ctx context.Context) error {
	if len(j.windows) == 0 {
		return nil
	}
	closed := make([]uint64, len(j.windows))
	for i, w := range j.windows {
		if w.Closed() {
			closed[i] = 1
		}
	}
	closed, err := j.least(ctx, closed)
	if err != nil {
		return err
	}
	var kept []*window
	var errs []error
	for i, w := range j.windows {
		if closed[i] == 0 {
			kept = append(kept, w)
			continue
		}
		errs = append(errs, w.free())
	}
	j.windows = kept
	return errors.Join(errs...)
}

// free gives the window back. Collective.
func (w *window) free() error {
	_ = w.Window.Close()
	err := w.job.lib.fault("freeing a window", C.fh_close(w.c))
	if w.host != nil {
		err = errors.Join(err, w.host.Close())
	}
	return err
}
