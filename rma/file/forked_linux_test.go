package file

import (
	"context"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/rma"
)

// bare is a table of one window.
type bare struct{ rma.Job }

func (bare) Check(context.Context) error { return nil }

func makeBare(job rma.Job) (bare, error) {
	_, err := job.NewWindow(context.Background(), rma.Spec{Name: "words", Words: 8})
	return bare{job}, err
}

// The locks of a process that has closed a table end, though a fork of it has their descriptor.
func TestForked(t *testing.T) {
	path, kind := filepath.Join(t.TempDir(), "bare"), Kind{"bare", 1}
	open := func(options ...Option) bare {
		table, err := Open(path, kind, options, makeBare)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	told := map[bool]int{}
	table := open(OnLocks(func(fd int, open bool) {
		told[open]++
		if open {
			forks, err := unix.Dup(fd) // the same open file description, as in a fork
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Close(forks) })
		}
	}))
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if told[true] != 1 || told[false] != 1 {
		t.Errorf("OnLocks was told %v", told)
	}
	if info, err := Stat(path); err != nil || info.Members != 0 {
		t.Fatalf("%d members are left, %v", info.Members, err)
	}
	again := open() // does not wait for the fork
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
