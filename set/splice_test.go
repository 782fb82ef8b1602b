package set_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/testkit/archivetest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

const spliceBytes = 12 // of an element

// withTable calls what two ranks do with a set of words or of elements.
func withTable(elements bool,
	do func(ctx context.Context, job rma.Job, t spliceTable) error) error {
	return local.Run(2, func(job rma.Job) error {
		ctx := context.Background()
		s, err := set.New(ctx, job, set.Config{Buckets: 256})
		if err != nil {
			return err
		}
		e, err := set.NewBytes(ctx, job, set.BytesConfig{
			Config: set.Config{Buckets: 256}, ElementBytes: spliceBytes})
		if err != nil {
			return err
		}
		if elements {
			return do(ctx, job, e)
		}
		return do(ctx, job, wordTable{s})
	})
}

type spliceTable interface {
	FindOrPut(element []byte) (set.Result, error)
	Save(ctx context.Context, path string) error
	Load(ctx context.Context, path string) error
	Len(ctx context.Context) (uint64, error)
	Contains(element []byte) (bool, error)
}

// wordTable takes the first 8 bytes of elements.
type wordTable struct{ *set.Set }

func (w wordTable) FindOrPut(element []byte) (set.Result, error) {
	return w.Set.FindOrPut(binary.LittleEndian.Uint64(element))
}

func (w wordTable) Contains(element []byte) (bool, error) {
	return w.Set.Contains(binary.LittleEndian.Uint64(element))
}

func spliceElement(i int) []byte {
	element := make([]byte, spliceBytes)
	binary.LittleEndian.PutUint64(element, uint64(i))
	return element
}

// saveFrom saves elements from to from+99.
func saveFrom(t *testing.T, elements bool, from int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "set")
	err := withTable(elements, func(ctx context.Context, job rma.Job, s spliceTable) error {
		for i := from + job.Rank(); i < from+100; i += job.Size() {
			if _, err := s.FindOrPut(spliceElement(i)); err != nil {
				return err
			}
		}
		return errors.Join(job.Barrier(ctx), s.Save(ctx, path))
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// loadAll loads a file and lists what it held. Where it is refused nothing is there.
func loadAll(elements bool, path string) (content string, err error) {
	failed := make([]error, 2)
	err = withTable(elements, func(ctx context.Context, job rma.Job, s spliceTable) error {
		failed[job.Rank()] = s.Load(ctx, path)
		n, err := s.Len(ctx)
		if failed[job.Rank()] != nil {
			if n != 0 {
				err = errors.Join(err, fmt.Errorf("%d are there after a refusal", n))
			}
			return errors.Join(err, job.Barrier(ctx))
		}
		var there []int
		for i := range 300 {
			found, err := s.Contains(spliceElement(i))
			if err != nil {
				return err
			}
			if found {
				there = append(there, i)
			}
		}
		if job.Rank() == 0 {
			content = fmt.Sprint(n, there)
		}
		return job.Barrier(ctx)
	})
	if (failed[0] == nil) != (failed[1] == nil) {
		err = errors.Join(err, errors.New("one rank has loaded the file and one has not"))
	}
	if err != nil {
		return content, err
	}
	return content, errors.Join(failed...)
}

// A file of the blocks of two sets, or with a block too many, too few or twice, is refused.
func TestSplicedFiles(t *testing.T) {
	for _, elements := range []bool{false, true} {
		t.Run(fmt.Sprintf("elements=%v", elements), func(t *testing.T) {
			archivetest.Refused(t, saveFrom(t, elements, 0), saveFrom(t, elements, 200),
				func(path string) (string, error) { return loadAll(elements, path) })
		})
	}
}

// What a file says of the number of its records is compared with what it has, and with what is
// in the set afterwards.
func TestRecordsAreCounted(t *testing.T) {
	payload := slices.Concat(spliceElement(1)[:8], spliceElement(2)[:8], spliceElement(2)[:8])
	for _, c := range []struct {
		bytes, records int
		want           bool
	}{{16, 2, true}, {16, 3, false}, {16, 1, false}, {15, 2, false}, {24, 3, false}} {
		path := filepath.Join(t.TempDir(), "set")
		w, err := archive.Create(path, "")
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(w.WriteBlock(0, 0, payload[:c.bytes]), w.Finish(1, uint64(c.records),
			[]byte(`{"kind":"farhash set of words","elementBytes":8}`)), w.Close())
		if err != nil {
			t.Fatal(err)
		}
		err = withTable(false, func(ctx context.Context, job rma.Job, s spliceTable) error {
			if err := s.Load(ctx, path); (err == nil) != c.want {
				t.Errorf("%d bytes that say %d records: %v", c.bytes, c.records, err)
			}
			return job.Barrier(ctx)
		})
		if err != nil {
			t.Error(err)
		}
	}
}
