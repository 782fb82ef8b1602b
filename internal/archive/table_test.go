package archive_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// accept accepts any description.
func accept([]byte) error { return nil }

// A saver fills blocks of each section with whole records, and a loader gives each section all of
// its records, once, and no other ones.
func TestSections(t *testing.T) {
	const ranks, size = 2, 100
	counts := []int{3000, 5} // records of a rank by section; a block has 2621
	path := filepath.Join(t.TempDir(), "file")
	err := local.Run(ranks, func(job rma.Job) error {
		s, err := archive.NewSaver(t.Context(), job, path, "")
		if err != nil {
			return err
		}
		for section, n := range counts {
			for i := range n {
				name := fmt.Sprintf("%d: %d of rank %d", section, i, job.Rank())
				record := fmt.Appendf(nil, "%-*s", size, name)
				err = errors.Join(err, s.Add(t.Context(), uint32(section), record))
			}
		}
		return s.Finish(t.Context(), err, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	var mutex sync.Mutex
	found := map[string]int{} // by section and record
	err = local.Run(ranks, func(job rma.Job) error {
		l, err := archive.NewLoader(t.Context(), job, path, archive.Fixed(size), accept)
		if err != nil {
			return err
		}
		for section := range counts {
			err = errors.Join(err, l.Each(t.Context(), uint32(section), func(payload []byte) error {
				mutex.Lock()
				defer mutex.Unlock()
				for record := range slices.Chunk(payload, size) {
					if !strings.HasPrefix(string(record), fmt.Sprintf("%d: ", section)) {
						t.Errorf("section %d has the record %.30q", section, record)
					}
					found[string(record)]++
				}
				return nil
			}))
		}
		return errors.Join(err, job.Barrier(t.Context()), l.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := ranks * (counts[0] + counts[1]); len(found) != want {
		t.Errorf("%d records, want %d", len(found), want)
	}
	for record, n := range found {
		if n != 1 {
			t.Errorf("%.30q is there %d times", record, n)
		}
	}
}

// A block that ends within a record is refused, whatever the header counts.
func TestHalfARecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	w, err := archive.Create(path, "")
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(w.WriteBlock(0, 0, []byte("aabbc")), w.Finish(1, 2, nil), w.Close())
	if err != nil {
		t.Fatal(err)
	}
	err = local.Run(1, func(job rma.Job) error {
		_, err := archive.NewLoader(t.Context(), job, path, archive.Fixed(2), accept)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "no whole records of 2") {
		t.Errorf("two records and a half: %v", err)
	}
}

// A table loads what another one of its kind, content and sizes has saved, whether or not records
// expire, and nothing else.
func TestOtherTables(t *testing.T) {
	folder := t.TempDir()
	saved := archive.Contents{Kind: "farhash map", Of: "states", KeyBytes: 8, ValueBytes: 4,
		Expires: true}
	unnamed := saved
	unnamed.Of = ""
	for _, is := range []archive.Contents{saved, unnamed} {
		err := local.Run(1, func(job rma.Job) error {
			return archive.SaveTable(t.Context(), job, folder+"/"+is.Of+"file", is,
				func(yield func([]byte, error) bool) {
					for i := range byte(3) {
						record := make([]byte, 8+4+archive.ExpiryBytes)
						if record[0] = i; !yield(record, nil) {
							return
						}
					}
				})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file   string
		change func(want *archive.Contents)
		says   string
	}{
		{"statesfile", func(*archive.Contents) {}, ""},
		{"statesfile", func(c *archive.Contents) { c.Expires = false }, ""},
		{"statesfile", func(c *archive.Contents) { c.Kind = "farhash set" }, "no farhash set"},
		{"statesfile", func(c *archive.Contents) { c.Of = "words" }, "of states and not of words"},
		{"file", func(*archive.Contents) {}, "of unknown records and not of states"},
		{"statesfile", func(c *archive.Contents) { c.KeyBytes, c.ValueBytes = 4, 8 },
			"has keys of 8 bytes and values of 4, this table has keys of 4 bytes and values of 8"},
	} {
		want := saved
		c.change(&want)
		err := local.Run(1, func(job rma.Job) error {
			l, is, err := archive.LoadTable(t.Context(), job, folder+"/"+c.file, want, nil)
			if err != nil {
				return err
			}
			if is != saved || l.Records != 3 {
				t.Errorf("%d records of %+v", l.Records, is)
			}
			return l.Close()
		})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s as %+v: %v, want %q", c.file, want, err, c.says)
		}
	}
}
