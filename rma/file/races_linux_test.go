package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
)

// Races of processes that come and go, each at a place where another one may be suspended.
var (
	takesNumber = mark.Named("file: the number of a member is about to be taken")
	waitsToLook = mark.Named("file: a table is to be checked after the system has stopped")
	lastLeaves  = mark.Named(
		"file: the last member has ended and is about to have the file written to the disk")
)

func TestMain(m *testing.M) { os.Exit(mark.Main(m, "file: ", os.Stderr)) }

// once intercepts a mark the first time that it is reached.
func once(t *testing.T, place *mark.Mark, fn func()) {
	t.Helper()
	mark.Need(t)
	place.Claim(t)
	done := false
	place.Intercept(t, func() {
		if !done {
			done = true
			fn()
		}
	})
}

// A number whose member has come and ended meanwhile is not taken by one that does not inherit.
func TestNumberOfOneThatHasEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	first := mustOpen(t, path)
	ended := -1
	once(t, takesNumber, func() {
		p := mustOpen(t, path)
		ended = p.job.Member()
		p.job.Leaves(true) // as if it was killed
		if err := errors.Join(p.words.Close(), p.job.Close()); err != nil {
			t.Error(err)
		}
	})
	second := mustOpen(t, path)
	if second.job.Member() == ended || second.job.Inherits() {
		t.Errorf("it is member %d, as one that has ended; inherits %v", ended,
			second.job.Inherits())
	}
	var adopted []int
	err := first.job.Adopt(func(member int) error {
		adopted = append(adopted, member)
		return nil
	})
	if err != nil || len(adopted) != 1 || adopted[0] != ended {
		t.Errorf("members %v were adopted, %v; want %d", adopted, err, ended)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
}

// Who opens a table while the last one leaves makes it unclean.
func TestOpenWhileLastLeaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	last, next := mustOpen(t, path), (*plain)(nil)
	once(t, lastLeaves, func() { next = mustOpen(t, path) })
	if err := last.Close(); err != nil {
		t.Fatal(err)
	}
	if isClean(t, path) {
		t.Error("it is clean while it is open")
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if !isClean(t, path) {
		t.Error("it is not clean after it was closed")
	}
}

// Of two that open a table after the system has stopped one checks it.
func TestCheckedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	if err := mustOpen(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	patch(t, path, bootWord*8, word(1))
	patch(t, path, cleanWord*8, word(0))
	checks, late := 0, 0
	var first *plain
	once(t, waitsToLook, func() {
		var err error
		if first, err = Open(path, kind, nil, makePlain(&checks)); err != nil {
			t.Error(err)
		}
	})
	second, err := Open(path, kind, nil, makePlain(&late))
	if err != nil {
		t.Fatal(err)
	}
	if checks != 1 || late != 0 {
		t.Errorf("%d checks by the first one and %d by the second", checks, late)
	}
	if err := errors.Join(first.Check(context.Background()), first.Close(),
		second.Close()); err != nil {
		t.Error(err)
	}
}
