//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/remote"
)

// window is a window of MPI.
type window struct {
	remote.Server // Coherent: owners swap words, by their processors; what MPI swaps they must not
	job           *member
	c             *C.fh_window
	host          rma.Window       // the segments of this host, nil where they are memory of MPI
	part          *memory.Reserved // or this rank's segment, where its memory is taken in parts
	own           []uint64         // this rank's segment
	parts         *remote.Parts    // of it, or of the window that it controls
}

// lineWords is what segments are rounded up to: in windows of MPICH 4.0 on one host, ranks
// disagree where a segment begins that follows one of an odd number of words.
const lineWords = 8

// wholeLines is the size of a segment in memory.
func wholeLines(words int) int { return (words + lineWords - 1) / lineWords * lineWords }

// NewWindow makes a window. The segments of the ranks of a host are in memory that they
// share, unless windows are hidden.
func (j *member) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	spec.Reserve = spec.Reserve && j.reserves
	w, err := j.newWindow(ctx, spec)
	if err != nil {
		return nil, err
	}
	if spec.Reserve {
		control, err := j.newWindow(ctx, rma.Spec{Name: spec.Name + ": memory", Key: spec.Key,
			Words: remote.ControlWords(spec.Words)})
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		parts := remote.NewParts(j, spec.Name, &w.Window, &control.Window, control.own, w.takes())
		w.CommitBy(parts)
		w.parts, control.parts = parts, parts
		j.owner.Add(parts)
	}
	if j.serves {
		return &w.Server, nil
	}
	return &w.Window, nil
}

// takes are what takes the memory of the ranks of this host.
func (w *window) takes() []remote.Take {
	j := w.job
	takes := make([]remote.Take, j.size)
	if w.part != nil {
		units := direct.NewUnits("rma/mpi: a segment of rank "+fmt.Sprint(j.rank), w.Len()*8,
			w.part.Take)
		takes[j.rank] = func(off, words int) error { return units.Commit(off*8, (off+words)*8) }
		return takes
	}
	return j.near.Takes(w.host)
}

// newWindow makes a window. What is reserved takes no memory.
func (j *member) newWindow(ctx context.Context, spec rma.Spec) (*window, error) {
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
		return nil, errors.Join(w.release(), fmt.Errorf("making window %q: %w", spec.Name, err))
	}
	if w.Coherent {
		C.fh_coherent(w.c)
	}
	j.windows = append(j.windows, w)
	return w, nil
}

// agreeOnSwaps decides who does atomics: their owners, if every process sees its segment.
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
	if spec.Reserve && (j.near.Memory == nil || j.trying) {
		part, err := memory.Reserve(wholeLines(spec.Words))
		w.part = part
		return err
	}
	if j.near.Memory == nil {
		need := uint64(wholeLines(spec.Words)) * 8 * uint64(len(j.near.Ranks))
		return memory.Check(need, "rma/mpi: the segments of this host")
	}
	spec.Words = wholeLines(spec.Words)
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
	if w.part != nil {
		base = pointer(w.part.Words)
	}
	code := C.fh_open(j.c, base, C.int64_t(wholeLines(w.Len())), C.uint32_t(w.Number()),
		flag(j.carried), &w.c, &mine)
	w.C = unsafe.Pointer(w.c)
	if code != 0 {
		return j.lib.fault("making a window", code)
	}
	w.own = unsafe.Slice((*uint64)(unsafe.Pointer(mine)), w.Len())
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
	w.job.owner.Remove(w.parts)
	_ = w.Window.Close()
	err := w.job.lib.fault("freeing a window", C.fh_close(w.c))
	return errors.Join(err, w.release())
}

// release releases the memory, which MPI does not know any more.
func (w *window) release() (err error) {
	if w.host != nil {
		err = w.host.Close()
	}
	if w.part != nil {
		err = w.part.Release()
	}
	w.host, w.part, w.own = nil, nil, nil
	return err
}
