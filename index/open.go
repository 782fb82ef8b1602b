package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// Open makes an index of a file that Save has written, without building: each rank maps the
// file into its memory, to be read only. So any number of jobs, of any number of ranks,
// share the one copy that the system keeps of the file on a host. path must lead to the
// same file, or an equal one, on every rank.
//
// Opening verifies the header and the size, which takes no longer for a large file;
// CheckAll verifies all. Lookups go directly to the memory, and Lookups.OneSided is
// refused.
//
// Where a rank cannot map the file, all ranks Load it instead, with the configuration that it
// was built with; NotMapped then says why. Collective.
func Open(ctx context.Context, job rma.Job, path string) (*Index, error) {
	m, err := sameImage(ctx, job, path)
	if err != nil {
		return nil, err
	}
	cfg, why := m.config(), m.mapped()
	cfg.OffsetBytes = 0 // as the heaps of this job need
	unmapped := uint64(0)
	if why != nil {
		unmapped = 1
	}
	all, err := gather(ctx, job, "mapping "+path, []uint64{unmapped}, nil)
	for rank, words := range all {
		if err == nil && why == nil && words[0] != 0 {
			why = &rma.PeerError{What: "index: mapping " + path, Rank: rank}
		}
	}
	if err != nil || why != nil {
		err = errors.Join(err, m.close())
	}
	switch {
	case err != nil:
		return nil, err
	case why != nil:
		x, err := Load(ctx, job, path, cfg)
		if err == nil {
			x.notMapped = why
		}
		return x, err
	}
	t := m.table(job)
	t.image = m
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&m.memory[m.header])), t.ranks*t.segment)
	t.address(core.OnePiece(t.ranks, words))
	t.findGuides()
	t.findNumbers()
	for _, number := range t.ownSegments() {
		t.mine += t.owned[number]
	}
	x := &Index{job: job, t: t}
	if x.Reader, err = x.NewReader(Lookups{}); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return x, nil
}

// sameImage opens the image that all ranks find at a path. Collective.
func sameImage(ctx context.Context, job rma.Job, path string) (*image, error) {
	m, err := openImage(path)
	found := []uint64{0}
	if m != nil {
		found[0] = m.fingerprint
	}
	all, err := gather(ctx, job, "opening "+path, found, err)
	for rank, words := range all {
		if err == nil && words[0] != all[0][0] {
			err = fmt.Errorf("index: at %s rank %d has another file than rank 0; give every rank "+
				"the same", path, rank)
		}
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// mapping is a variable so that a test can have it fail.
var mapping = mapFile

// mapped maps the file.
func (m *image) mapped() (err error) {
	t := m.table(nil)
	m.memory, err = mapping(m.f, t.sumsAt(m.header, t.ranks))
	if err != nil {
		return fmt.Errorf("index: mapping %s: %w", m.path, err)
	}
	return nil
}

// NotMapped says why Open has built the table instead of mapping its file. It is nil where
// the file is mapped, and for an index that does not come from Open.
func (x *Index) NotMapped() error { return x.notMapped }

// share are the segments whose records are this rank's to save, check and list: its own,
// or its part of a file.
func (t *table) ownSegments() (numbers []int) {
	if t.image == nil {
		return []int{t.job.Rank()}
	}
	for number := t.job.Rank(); number < t.ranks; number += t.job.Size() {
		numbers = append(numbers, number)
	}
	return numbers
}

// guarded calls what reads the table. Where a page of a mapped file cannot be read, as its
// disk fails or somebody has cut it short, that is an error and not the end of the process. It is
// one as well where such a file now ends inside a page, whose rest can be read and is zero.
func (t *table) guarded(read func() error) (err error) {
	if t.image == nil {
		return read()
	}
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		panicked := recover()
		if panicked == nil {
			return
		}
		fault, ok := panicked.(interface{ Addr() uintptr })
		if !ok || !t.image.holds(fault.Addr()) {
			panic(panicked)
		}
		err = t.image.lost()
	}()
	err = read()
	if t.image.cut() {
		err = t.image.lost()
	}
	return err
}

// cut reports whether a file that is mapped has been truncated since it was opened: then the end
// mark is zero, or cannot be read. Whatever was read before is right if it has not.
func (m *image) cut() bool {
	return m != nil && m.memory != nil &&
		binary.LittleEndian.Uint64(m.memory[len(m.memory)-8:]) != m.end
}

func (m *image) lost() error {
	return fmt.Errorf("index: a page of %s cannot be read any more: its disk fails, or it was "+
		"truncated", m.path)
}

// holds reports whether an address lies in the mapped file.
func (m *image) holds(address uintptr) bool {
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(m.memory)))
	return address >= begin && address-begin < uintptr(len(m.memory))
}
