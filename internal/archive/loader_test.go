package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// A file with more or fewer records than its header says is refused by all ranks.
func TestRecordsAreCounted(t *testing.T) {
	for said := range uint64(8) {
		path := filepath.Join(t.TempDir(), "file")
		w, err := archive.Create(path, "")
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(w.WriteBlock(0, 0, []byte("three")[:3]), w.WriteBlock(1, 0, []byte("2")),
			w.Finish(2, said, nil), w.Close())
		if err != nil {
			t.Fatal(err)
		}
		err = local.Run(2, func(job rma.Job) error {
			l, err := archive.NewLoader(t.Context(), job, path, archive.Fixed(1),
				func([]byte) error { return nil })
			if (err == nil) != (said == 4) {
				t.Errorf("4 records that are said to be %d: %v", said, err)
			}
			if err != nil {
				return nil
			}
			return errors.Join(job.Barrier(t.Context()), l.Close())
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A save replaces a file of its own kind, and no other one.
func TestOtherKind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	save := func(kind string) error {
		w, err := archive.Create(path, kind)
		if err == nil {
			err = errors.Join(w.Finish(0, 0, []byte(`{"kind":"`+kind+`"}`)), w.Close())
		}
		return err
	}
	if err := errors.Join(save("farhash map"), save("farhash map")); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := save("farhash cache"); err == nil ||
		!strings.Contains(err.Error(), path+" is no saved farhash cache, and would be lost") {
		t.Errorf("a cache in place of a map: %v", err)
	}
	if after, err := os.ReadFile(path); string(after) != string(before) {
		t.Errorf("the map has become %.20q, %v", after, err)
	}
	copy(before, "FARHASH")
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := save("farhash map"); err == nil {
		t.Error("a file of another program was replaced")
	}
}
