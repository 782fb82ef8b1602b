package index

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
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
// was built with; Info.NotMapped then says why. Collective.
func Open(ctx context.Context, job rma.Job, path string) (*Index, error) {
	m, err := sameImage(ctx, job, path)
	if err != nil {
		return nil, err
	}
	if why := rma.AllSucceeded(ctx, job, "index: mapping "+path, m.mapped()); why != nil {
		_ = m.close() // it was only read
		x, err := Load(ctx, job, path, m.Config)
		if err == nil {
			x.t.notMapped = why
		}
		return x, err
	}
	t := m.table(job)
	t.image = m
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&m.memory[m.header])), t.ranks*t.segment)
	t.address(core.OnePiece(t.ranks, words))
	t.findGuides()
	t.findNumbers()
	t.findFar()
	x := &Index{t: t}
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
	all, err := core.Gather(ctx, job, "index: opening "+path, found, err)
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
var mapping = memory.MapFile

// mapped maps the file.
func (m *image) mapped() (err error) {
	t := m.table(nil)
	m.memory, err = mapping(m.f, t.sumsAt(m.header, t.ranks))
	if err != nil {
		return fmt.Errorf("index: mapping %s: %w", m.path, err)
	}
	return nil
}
