package dedup

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// Ranks that read the same records at the same time write each of them once.
func TestShared(t *testing.T) {
	const distinct = 30000
	for _, e := range lab.Engines()[:2] {
		var lock sync.Mutex
		var all []string
		err := e.Run(3, func(job rma.Job) error {
			f, err := NewShared(t.Context(), job, Config{})
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
			if n != distinct || chance <= 0 || chance > 1e-28 {
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
	for _, cfg := range []Config{{Exact: true}, {Count: true}} {
		_, err := NewShared(t.Context(), job, cfg)
		if err == nil || !strings.Contains(err.Error(), "excludes") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	f, err := NewShared(t.Context(), job, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Save(t.Context(), "x"); err == nil {
		t.Error("a filter of several ranks is saved")
	}
}
