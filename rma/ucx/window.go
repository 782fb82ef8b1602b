//go:build ucx && cgo

package ucx

// #include "shim.h"
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/remote"
)

// maxKeyBytes is more than UCX needs for the key of a segment.
const maxKeyBytes = 1 << 12

// window is a window of several hosts, or a hidden one.
type window struct {
	remote.Server
	job   *member
	c     *C.fu_window
	host  rma.Window       // the segments of this host; nil in a hidden window
	mem   []byte           // this rank's segment of a hidden window
	part  *memory.Reserved // or this, where its memory is taken in parts
	own   []uint64         // this rank's segment
	parts *remote.Parts    // of it, or of the window that it controls
}

// NewWindow makes a window. The segments of the ranks of a host are in memory that they
// share, unless windows are hidden.
func (j *member) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	spec.Reserve = spec.Reserve && j.reserves
	w, err := j.newWindow(ctx, spec, j.near.Memory == nil)
	if err != nil {
		return nil, err
	}
	if !spec.Reserve {
		return w, nil
	}
	control, err := j.newWindow(ctx, rma.Spec{Name: spec.Name + ": memory", Key: spec.Key,
		Words: remote.ControlWords(spec.Words)}, j.near.Memory == nil)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	parts := remote.NewParts(j, spec.Name, w, control, control.own, w.takes())
	w.CommitBy(parts)
	w.parts, control.parts = parts, parts
	j.owner.Add(parts)
	return w, nil
}

// takes are what takes the memory of the ranks of this host.
func (w *window) takes() []remote.Take {
	j := w.job
	takes := make([]remote.Take, j.size)
	if w.part != nil {
		units := direct.NewUnits("rma/ucx: a segment of rank "+fmt.Sprint(j.rank), w.Len()*8,
			w.part.Take)
		takes[j.rank] = func(off, words int) error { return units.Commit(off*8, (off+words)*8) }
		return takes
	}
	return j.near.Takes(w.host)
}

// newWindow makes a window. A hidden one is memory of each rank alone.
func (j *member) newWindow(ctx context.Context, spec rma.Spec, hidden bool) (*window, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	number := j.made // the same on every rank, else AgreeOnSpec fails
	j.made++
	if err := direct.AgreeOnSpec(ctx, j, spec); err != nil {
		return nil, err
	}
	if err := j.freeClosed(ctx); err != nil {
		return nil, err
	}
	w := &window{job: j}
	w.Init("rma/ucx", j.rank, j.size, spec.Words, number, &j.inbox.Handlers)
	w.Coherent = j.coherent
	_, err := j.share(ctx, "memory for a window", nil, w.reserve(ctx, spec, hidden))
	if err == nil {
		err = w.open(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making window %q: %w", spec.Name, err), w.free())
	}
	j.windows = append(j.windows, w)
	return w, nil
}

// reserve gets the memory for this rank's segment.
func (w *window) reserve(ctx context.Context, spec rma.Spec, hidden bool) error {
	j := w.job
	if !hidden {
		within, cancel := j.untilGone(ctx)
		defer cancel()
		host, err := j.near.Memory.NewWindow(within, spec)
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			return context.Cause(within)
		}
		if err == nil {
			w.host = host
			for local, rank := range j.near.Ranks {
				w.Views[rank] = host.Words(local)
			}
			w.own = w.Views[j.rank]
		}
		return j.near.InWorld(err)
	}
	if spec.Reserve {
		part, err := memory.Reserve(spec.Words)
		if err == nil {
			w.part, w.own = part, part.Words
		}
		return err
	}
	need := uint64(spec.Words) * 8
	err := memory.Check(need*uint64(len(j.near.Ranks)), "rma/ucx: the segments of this host")
	if err != nil {
		return err
	}
	w.mem, err = unix.Mmap(-1, 0, int(need), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("rma/ucx: no memory for a segment of %s: %w", memory.Format(need), err)
	}
	w.own = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(w.mem))), spec.Words)
	return nil
}

// register registers this rank's segment with UCX, and returns its address and key for the others.
func (w *window) register() (packed []byte, err error) {
	j := w.job
	base := pointer(w.own)
	err = j.fault("registering memory",
		C.fu_map(j.c, C.uint32_t(w.Number()), base, C.int64_t(w.Len()), &w.c))
	w.C = unsafe.Pointer(w.c)
	if err != nil {
		return nil, err
	}
	var key [maxKeyBytes]byte
	n := C.fu_key(w.c, unsafe.Pointer(&key[0]), maxKeyBytes)
	if n < 0 {
		return nil, j.fault("the key of a segment", n)
	}
	packed = binary.LittleEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(base))))
	return append(packed, key[:n]...), nil
}

// open exchanges the addresses and keys of all segments. Collective.
func (w *window) open(ctx context.Context) error {
	key, err := w.register()
	all, err := w.job.share(ctx, "making a window", key, err)
	if err != nil {
		return err
	}
	for rank, key := range all {
		if len(key) <= 8 {
			return fmt.Errorf("rma/ucx: rank %d has given no key of its segment", rank)
		}
		w.accept(rank, key)
	}
	return nil
}

// accept takes the address and key of the segment of a rank.
func (w *window) accept(rank int, key []byte) {
	C.fu_segment(w.c, C.int(rank), C.uint64_t(binary.LittleEndian.Uint64(key)),
		unsafe.Pointer(&key[8]), C.int(len(key)-8))
	if w.Words(rank) != nil {
		C.fu_direct(w.c, C.int(rank), pointer(w.Views[rank]), C.int(flag(w.Coherent)))
	}
}

func pointer(words []uint64) *C.uint64_t {
	return (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(words)))
}

// freeClosed frees the windows that every rank has closed. Collective.
func (j *member) freeClosed(ctx context.Context) error {
	if len(j.windows) == 0 {
		return nil
	}
	closed := make([]byte, len(j.windows))
	for i, w := range j.windows {
		closed[i] = flag(w.Closed())
	}
	all, err := j.tree.Gather(ctx, closed)
	if err != nil {
		return err
	}
	var kept []*window
	var errs []error
	for i, w := range j.windows {
		byAll := true
		for _, closed := range all {
			byAll = byAll && i < len(closed) && closed[i] == 1
		}
		if !byAll {
			kept = append(kept, w)
			continue
		}
		errs = append(errs, w.free())
	}
	j.windows = kept
	return errors.Join(errs...)
}

// free releases a window that nobody uses any more.
func (w *window) free() error {
	var err error
	if w.c != nil {
		err = w.job.fault("giving up a segment", C.fu_unmap(w.c, w.job.c))
	}
	return errors.Join(err, w.release())
}

// release releases the memory, which is not registered with UCX any more.
func (w *window) release() error {
	w.job.owner.Remove(w.parts)
	_ = w.Window.Close()
	var err error
	if w.host != nil {
		err = w.host.Close()
	}
	if w.mem != nil {
		err = unix.Munmap(w.mem)
	}
	if w.part != nil {
		err = w.part.Release()
	}
	w.host, w.mem, w.part, w.own = nil, nil, nil, nil
	return err
}
