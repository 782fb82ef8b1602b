package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

// fill takes all space of a file system, and returns how to give it back.
func fill(t *testing.T, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := int64(1 << 20); size >= 4096; {
		info, err := f.Stat()
		if err == nil {
			err = unix.Fallocate(int(f.Fd()), 0, info.Size(), size)
		}
		if err != nil {
			size /= 2
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// roomLeft is the free space of a file system.
func roomLeft(t *testing.T, dir string) uint64 {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return st.Bavail * uint64(st.Bsize)
}

// More than the file system has: rank 0 says what is missing and where, all ranks
// get an error, nothing is left, and what fits can be had afterwards.
func TestTooLargeWindow(t *testing.T) {
	dir := mountTmpfs(t, "size=4m")
	errs := make([]error, 3)
	mustTogether(t, Config{Size: 3, Job: "large", Dir: dir}, func(j *member) error {
		_, errs[j.Rank()] = j.NewWindow(t.Context(), rma.Spec{Name: "large", Words: 1 << 18})
		w, err := j.NewWindow(t.Context(), rma.Spec{Name: "small", Words: 1 << 16})
		if err != nil {
			return err
		}
		for rank := range 3 {
			words := w.Words(rank)
			for i := range words {
				words[i] = 1 // a SIGBUS ends the test
			}
			if err := j.Barrier(t.Context()); err != nil {
				return err
			}
		}
		return w.Close()
	})
	for rank, err := range errs {
		parts := []string{`"large"`, "rank 0 failed"}
		if rank == 0 {
			parts = []string{`"large"`, dir, "6.0 MiB are needed", "are missing", "remount"}
		}
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("rank %d: %v, want %q in it", rank, err, part)
			}
		}
	}
	if !errors.Is(errs[0], syscall.ENOSPC) {
		t.Errorf("rank 0: %v is not of the kind of ENOSPC", errs[0])
	}
	expectNames(t, dir)
	if left := roomLeft(t, dir); left != 4<<20 {
		t.Errorf("%d bytes left of 4 MiB", left)
	}
}

// The space is used up between the check and the reservation.
func TestRoomTakenByOthers(t *testing.T) {
	dir := mountTmpfs(t, "size=8m")
	spec := rma.Spec{Name: "late", Words: 1 << 17}
	cfg := Config{Size: 2, Job: "late", Dir: dir}
	var empty func()
	errs := together(cfg, func(j *member) error {
		if j.Rank() == 0 {
			_, err := j.NewWindow(t.Context(), spec)
			return err
		}
		f := inSteps(t, j, spec, func() { empty = fill(t, dir) })
		if f != nil {
			return errors.Join(errors.New("a window was made of nothing"), f.Close())
		}
		return nil
	})
	if !errors.Is(errs[0], syscall.ENOSPC) ||
		!strings.Contains(errs[0].Error(), dir+" is full: 1.0 MiB of 1.0 MiB") {
		t.Errorf("rank 0: %v", errs[0])
	}
	if errs[1] != nil {
		t.Errorf("rank 1: %v", errs[1])
	}
	expectNames(t, dir, "filler")
	empty()
	if left := roomLeft(t, dir); left != 8<<20 {
		t.Errorf("%d bytes left of 8 MiB", left)
	}
}

// A reserved window is larger than the file system. Where that is full Commit says so, what has
// been committed stays, and when there is room again the same Commit succeeds.
func TestCommitInFullFileSystem(t *testing.T) {
	dir := mountTmpfs(t, "size=16m")
	const unit = direct.UnitBytes / 8 // words
	spec := rma.Spec{Name: "growing", Words: 1 << 30, Reserve: true}
	mustTogether(t, Config{Size: 2, Job: "growing", Dir: dir}, func(j *member) error {
		made, err := j.NewWindow(t.Context(), spec)
		if err != nil {
			return err
		}
		if j.Rank() == 0 {
			w, other := made.(rma.Committer), made.Words(1)
			if err := w.Commit(1, 0, unit); err != nil {
				return err
			}
			other[0], other[unit-1] = 1, 2
			empty := fill(t, dir)
			err := w.Commit(1, 0, 20*unit)
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), dir+" is full") ||
				!strings.Contains(err.Error(), "remount") {
				t.Errorf("in a full file system: %v", err)
			}
			if other[0] != 1 || other[unit-1] != 2 {
				t.Error("what has been committed is gone")
			}
			empty()
			if err := w.Commit(1, unit, 2*unit); err != nil {
				return err
			}
			for i, word := range other[unit : 3*unit] {
				if word != 0 {
					t.Fatalf("word %d is %d", i, word)
				}
				other[unit+i] = 3 // a SIGBUS ends the test
			}
			if err := w.Commit(0, 0, 20*unit); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("more than the file system has: %v", err)
			}
		}
		return errors.Join(j.Barrier(t.Context()), made.Close())
	})
	if left := roomLeft(t, dir); left != 16<<20 {
		t.Errorf("%d bytes left of 16 MiB", left)
	}
}

// Where there is no room for the control file, rank 0 says so, and a hole in a foreign file where
// the control file should be is not touched.
func TestNoRoomForControlFile(t *testing.T) {
	dir := mountTmpfs(t, "size=4m")
	path := filePath(dir, "hole", "ctl")
	if err := badFile(nil, 1<<16, 0o600)(path); err != nil {
		t.Fatal(err)
	}
	empty := fill(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Join(ctx, Config{Rank: 0, Size: 2, Job: "full", Dir: dir})
	if err == nil || !strings.Contains(err.Error(), dir+" is full") {
		t.Errorf("without room: %v", err)
	}
	for rank := range 2 {
		_, err = Join(ctx, Config{Rank: rank, Size: 2, Job: "hole", Dir: dir})
		if err == nil {
			t.Error("a hole was taken for a control file")
		}
	}
	expectNames(t, dir, filepath.Base(path), "filler")
	empty()
	cancel()
}

// As soon as a control file has a name, its memory is there: others write to it at
// once.
func TestControlFileIsReserved(t *testing.T) {
	dir := lab.TempFolder(t)
	for _, h := range []header{{kindControl, 500, 16, 1}, {kindWindow, 2, 1 << 12, 1}} {
		f, err := createFile(filepath.Join(dir, fmt.Sprint("kind", h.kind)), h)
		if err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(f.FD.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		want := int64(headerBytes)
		if h.kind == kindControl {
			want = int64(h.bytes())
		}
		if got := st.Blocks * 512; got < want || h.kind == kindWindow && got > want {
			t.Errorf("kind %d: %d bytes are reserved of %d, want %d", h.kind, got, st.Size, want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A window that is not of this job is refused by the rank that sees it, and so by
// all.
func TestForeignWindow(t *testing.T) {
	dir := lab.TempFolder(t)
	anothers := foreigner{name: "another job's",
		make: badFile([]uint64{magic, version, kindWindow, 2, 4, 1}, headerBytes+64, 0o600)}
	for _, c := range append([]foreigner{anothers}, foreigners...) {
		var once sync.Once
		errs := together(Config{Size: 2, Job: "swap", Dir: dir}, func(j *member) error {
			spec := rma.Spec{Name: "swapped", Words: 4}
			if j.Rank() == 0 {
				_, err := j.NewWindow(t.Context(), spec)
				return err
			}
			f := inSteps(t, j, spec, func() {
				once.Do(func() {
					if err := errors.Join(os.Remove(j.windowPath(0)),
						c.make(j.windowPath(0))); err != nil {
						t.Error(err)
					}
				})
			})
			if f != nil {
				return errors.Join(errors.New("it was taken for a window"), f.Close())
			}
			return nil
		})
		var peer *rma.PeerError
		if !errors.As(errs[0], &peer) || peer.Rank != 1 || errs[1] != nil {
			t.Errorf("%s: %v", c.name, errs)
		}
	}
}

// A name that leads to another file by now stays.
func TestUnnameOnlyOwnName(t *testing.T) {
	dir := lab.TempFolder(t)
	leaveBehind(t, dir, "name", 2)
	path := filePath(dir, "name", "ctl")
	old, _, err := examine(path) // one process has opened it to remove it
	if err != nil {
		t.Fatal(err)
	}
	removeDead(path) // another one has removed it
	expectNames(t, dir)
	living, err := createFile(path, header{kindControl, 2, 16, 1}) // a job starts
	if err != nil {
		t.Fatal(err)
	}
	old.Unname()
	removeDead(path)
	expectNames(t, dir, filepath.Base(path))
	living.Unname()
	living.Unname()
	expectNames(t, dir)
	if err := errors.Join(old.Close(), living.Close()); err != nil {
		t.Error(err)
	}
}

// Two processes do not remove one file at once.
func TestRemovalIsLocked(t *testing.T) {
	dir := lab.TempFolder(t)
	leaveBehind(t, dir, "locked", 2)
	path := filePath(dir, "locked", "ctl")
	other, _, err := examine(path)
	if err != nil {
		t.Fatal(err)
	}
	if free, err := other.Lock(removeLock); err != nil || !free {
		t.Fatal(free, err)
	}
	removeDead(path)
	expectNames(t, dir, filepath.Base(path))
	if err := other.Close(); err != nil { // it died before it removed the file
		t.Error(err)
	}
	removeDead(path)
	expectNames(t, dir)
}
