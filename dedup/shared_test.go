package dedup

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// Ranks that read the same records at the same time write each of them once.
func TestShared(t *testing.T) {
	for _, exact := range []bool{false, true} {
		shareRecords(t, exact)
	}
}

func shareRecords(t *testing.T, exact bool) {
	const distinct = 30000
	for _, e := range lab.Engines()[:2] {
		var lock sync.Mutex
		var all []string
		err := e.Run(3, func(job rma.Job) error {
			f, err := NewShared(t.Context(), job, Config{Exact: exact})
			if err != nil {
				return err
			}
			var in, out bytes.Buffer
			for i := range 2 * distinct {
				fmt.Fprintln(&in, (i+job.Rank()*distinct/2)%distinct)
			}
			stats, err := f.Copy(t.Context(), &out, &in, Format{})
			if err != nil {
				return err
			}
			lines := strings.Fields(out.String())
			if stats.Kept != uint64(len(lines)) || stats.Read != 2*distinct {
				t.Errorf("%s: %+v, %d lines", e.Name, stats, len(lines))
			}
			lock.Lock()
			all = append(all, lines...)
			lock.Unlock()
			if err := job.Barrier(t.Context()); err != nil {
				return err
			}
			n, chance := f.Distinct(), f.Chance()
			if n != distinct || chance > 1e-28 || (chance == 0) != exact {
				t.Errorf("%s: %d distinct, chance %g", e.Name, n, chance)
			}
			if n := f.MemoryBytes(); n < distinct*(printBytes+bucketBytes) {
				t.Errorf("%s: %d bytes", e.Name, n)
			}
			return errors.Join(job.Barrier(t.Context()), f.Close())
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		slices.Sort(all)
		if n := len(slices.Compact(slices.Clone(all))); n != distinct || len(all) != distinct {
			t.Errorf("%s: %d lines, %d of them different, and not %d", e.Name, len(all), n,
				distinct)
		}
	}
}

// Where memory is full what was written is right, and the rest is refused.
func TestSharedFull(t *testing.T) {
	err := local.Run(2, func(job rma.Job) error {
		f, err := NewShared(t.Context(), job, Config{MemoryBytes: 1 << 16})
		if err != nil {
			return err
		}
		var in, out bytes.Buffer
		for i := range 20000 {
			fmt.Fprintln(&in, i)
		}
		stats, err := f.Copy(t.Context(), &out, &in, Format{})
		var full *FullError
		if !errors.As(err, &full) || full.EnoughBytes <= full.MemoryBytes {
			t.Errorf("%v", err)
		}
		if lines := strings.Fields(out.String()); uint64(len(lines)) != stats.Kept {
			t.Errorf("%d lines, %+v", len(lines), stats)
		}
		return errors.Join(job.Barrier(t.Context()), f.Close())
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSharedExcludes(t *testing.T) {
	job := local.Single()
	defer job.Close()
	if _, err := NewShared(t.Context(), job, Config{Count: true}); err == nil ||
		!strings.Contains(err.Error(), "excludes Count") {
		t.Error(err)
	}
	f, err := NewShared(t.Context(), job, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Save(t.Context(), "x"); err == nil {
		t.Error("fingerprints of several ranks are saved")
	}
	e, err := NewShared(t.Context(), job, Config{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	seen := make([]bool, 2)
	n, err := e.SeenBatch([][]byte{{1}, make([]byte, set.MaxStringBytes)}, seen)
	if n != 1 || seen[0] || err == nil || !strings.Contains(err.Error(), "has 65536 bytes") {
		t.Errorf("a long record: %d answered, %v", n, err)
	}
}

// Ranks save together what they have seen, for any number of ranks.
func TestSharedSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen")
	err := local.Run(3, func(job rma.Job) error {
		f, err := NewShared(t.Context(), job, Config{Exact: true})
		if err != nil {
			return err
		}
		for i := range 3000 {
			if _, err := f.Seen(fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		return errors.Join(f.Save(t.Context(), path), f.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	f := newFilter(t, Config{Exact: true})
	if err := f.Load(t.Context(), path); err != nil || f.Distinct() != 3000 {
		t.Errorf("%d records, %v", f.Distinct(), err)
	}
}
