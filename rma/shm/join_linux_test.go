package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

func TestBadConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Rank: 0, Size: 0, Job: "x"}, "not 0"},
		{Config{Rank: 0, Size: MaxRanks + 1, Job: "x"}, "not 4097"},
		{Config{Rank: 2, Size: 2, Job: "x"}, "rank 2"},
		{Config{Rank: -1, Size: 2, Job: "x"}, "rank -1"},
		{Config{Rank: 0, Size: 1, Job: ""}, `""`},
		{Config{Rank: 0, Size: 1, Job: "../x"}, `"../x"`},
		{Config{Rank: 0, Size: 1, Job: strings.Repeat("x", 65)}, "64"},
		{Config{Rank: 0, Size: 1, Job: "x", Dir: "/nowhere/at/all"}, "/nowhere/at/all"},
		{Config{Rank: 1, Size: 2, Job: "x", Dir: "/nowhere/at/all"}, "/nowhere/at/all"},
	} {
		job, err := Join(t.Context(), c.cfg)
		if job != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Join(%+v) = %v, %v, want an error with %q", c.cfg, job, err, c.want)
		}
	}
	if err := RemoveJob(t.TempDir(), "*"); err == nil {
		t.Error("RemoveJob of job * succeeded")
	}
}

// A rank that never comes is named by all that did: by the one whose time is over, and by one that
// finds that this one has gone.
func TestMissingRanks(t *testing.T) {
	dir := lab.TempFolder(t)
	cfg := Config{Size: 4, Job: "missing", Dir: dir, Timeout: never}
	first, cfg0 := make(chan error), cfg
	go func() {
		_, err := Join(t.Context(), cfg0)
		first <- err
	}()
	watch, _ := awaitFile(t, filePath(dir, "missing", "ctl"))
	for atomic.LoadUint64(&watch.segments()[0]) != uint64(direct.Joined) {
		time.Sleep(time.Millisecond)
	}
	cfg.Rank, cfg.Timeout = 2, 1
	_, err := Join(t.Context(), cfg)
	if !strings.Contains(fmt.Sprint(err), "waited 1ns") ||
		!strings.Contains(err.Error(), "never arrived: [1 3]") {
		t.Errorf("rank 2: %v, want ranks [1 3] to be named", err)
	}
	err = <-first
	if !strings.Contains(fmt.Sprint(err), "for ranks [1 3] of the job: rma: rank 2 has left") {
		t.Errorf("rank 0: %v, want ranks [1 3] to be named", err)
	}
	if err := watch.Close(); err != nil {
		t.Error(err)
	}
	expectNames(t, dir)

	_, err = Join(t.Context(), Config{Rank: 1, Size: 2, Job: "missing", Dir: dir,
		Timeout: time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "rank 0") {
		t.Errorf("without rank 0: %v", err)
	}
}

// A wait for the other ranks ends with its context.
func TestJoinCancelled(t *testing.T) {
	dir := lab.TempFolder(t)
	for rank := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err := Join(ctx, Config{Rank: rank, Size: 3, Job: "cancelled", Dir: dir})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("rank %d: %v", rank, err)
		}
		expectNames(t, dir)
	}
}

// A rank that goes again while others are still to come ends the wait of all.
func TestRankGoesWhileJoining(t *testing.T) {
	dir := lab.TempFolder(t)
	ctx, cancel := context.WithCancel(t.Context())
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() {
		_, errs[0] = Join(t.Context(), Config{Rank: 0, Size: 3, Job: "goes", Dir: dir,
			Timeout: never})
	})
	wg.Go(func() {
		_, errs[1] = Join(ctx, Config{Rank: 1, Size: 3, Job: "goes", Dir: dir,
			Timeout: never})
	})
	watch, _ := awaitFile(t, filePath(dir, "goes", "ctl"))
	for watch.Words(headerBytes/8+direct.LineWords, 1)[0] == 0 { // rank 1 has joined
		time.Sleep(time.Millisecond)
	}
	cancel()
	wg.Wait()
	var gone *rma.RankError
	if !errors.As(errs[0], &gone) || gone.Rank != 1 || !strings.Contains(errs[0].Error(), "[2]") {
		t.Errorf("rank 0: %v, want that rank 1 has gone while it waited for 2", errs[0])
	}
	if err := watch.Close(); err != nil {
		t.Error(err)
	}
	expectNames(t, dir)
}

// awaitFile opens a file as soon as it is there.
func awaitFile(t *testing.T, path string) (*file, header) {
	t.Helper()
	for {
		f, h, err := openFile(path)
		if err == nil {
			return f, h
		}
		if !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("error %v", err)
		}
		time.Sleep(time.Millisecond)
	}
}

// Two ranks of one number, two of rank 0, and ranks that differ in their number.
func TestRefusedRanks(t *testing.T) {
	dir := lab.TempFolder(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := Config{Size: 3, Job: "refused", Dir: dir, Timeout: never}
	var wg sync.WaitGroup
	for rank := range 2 {
		wg.Go(func() {
			cfg := cfg
			cfg.Rank = rank
			_, _ = Join(ctx, cfg) // waits for rank 2 until the test ends
		})
	}
	watch, _ := awaitFile(t, filePath(dir, "refused", "ctl"))
	for !watch.Locked(1) {
		time.Sleep(time.Millisecond)
	}
	for _, c := range []struct {
		rank, size int
		want       string
	}{
		{0, 3, "already starting"},
		{1, 3, "has a rank 1 already"},
		{2, 4, "3 ranks for rank 0 and 4 for rank 2"},
	} {
		again := cfg
		again.Rank, again.Size = c.rank, c.size
		_, err := Join(t.Context(), again)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("rank %d of %d: %v, want %q", c.rank, c.size, err, c.want)
		}
	}
	cancel()
	wg.Wait()
	if err := watch.Close(); err != nil {
		t.Error(err)
	}
	expectNames(t, dir)
}

// foreigner puts something at the path of a control file.
type foreigner struct {
	name string
	make func(path string) error
	want string // what the error says
}

// badFile makes a file with a header and size of its own.
func badFile(head []uint64, size int64, mode os.FileMode) func(path string) error {
	return func(path string) error {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		for i, word := range head {
			var data [8]byte
			for b := range data {
				data[b] = byte(word >> (8 * b))
			}
			if _, err := f.WriteAt(data[:], int64(i*8)); err != nil {
				return err
			}
		}
		return errors.Join(f.Truncate(size), f.Chmod(mode))
	}
}

var foreigners = []foreigner{
	{"empty", badFile(nil, 0, 0o600), "has 0 bytes"},
	{"short", badFile([]uint64{magic, version}, 100, 0o600), "has 100 bytes"},
	{"garbage", badFile([]uint64{12345}, headerBytes, 0o600), "begins with 0x3039"},
	{"hole", badFile(nil, 1<<40, 0o600), "begins with 0x0"},
	{"version", badFile([]uint64{magic, 9, kindControl, 2, 16, 1}, 4352, 0o600), "version 9"},
	{"size", badFile([]uint64{magic, version, kindControl, 2, 16, 1}, 5000, 0o600),
		"5000 bytes instead of 4352"},
	{"mode", badFile([]uint64{magic, version, kindControl, 2, 16, 1}, 4352, 0o644), "mode 644"},
	{"directory", func(path string) error { return os.Mkdir(path, 0o700) }, "is a directory"},
	{"link", func(path string) error { return os.Symlink("/etc/passwd", path) }, "symbolic link"},
	{"pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is not a file of"},
}

// What is not a file of farhash is refused by every rank, and stays.
func TestForeignControlFile(t *testing.T) {
	for _, c := range foreigners {
		t.Run(c.name, func(t *testing.T) {
			dir := lab.TempFolder(t)
			path := filePath(dir, "foreign", "ctl")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			for rank := range 2 {
				_, err := Join(t.Context(), Config{Rank: rank, Size: 2, Job: "foreign", Dir: dir,
					Timeout: never})
				if err == nil || !strings.Contains(err.Error(), c.want) ||
					!strings.Contains(err.Error(), path) {
					t.Errorf("rank %d: %v, want an error with %q and the path", rank, err, c.want)
				}
			}
			if err := RemoveJob(dir, "foreign"); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("what was not ours has gone: %v", err)
			}
			// It is in nobody else's way.
			other := Config{Size: 2, Job: "other", Dir: dir}
			mustTogether(t, other, func(*member) error { return nil })
		})
	}
}

// A file of ours that is no control file is refused too.
func TestWrongKindOfControlFile(t *testing.T) {
	dir := lab.TempFolder(t)
	f, err := createFile(filePath(dir, "kind", "ctl"), header{kindWindow, 2, 16, 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Join(t.Context(), Config{Rank: 1, Size: 2, Job: "kind", Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "no control file") {
		t.Errorf("error %v", err)
	}
	if err := f.Close(); err != nil { // its lock goes, so it is a leftover
		t.Error(err)
	}
	mustTogether(t, Config{Size: 2, Job: "kind", Dir: dir}, func(*member) error { return nil })
	expectNames(t, dir)
}

// leaveBehind makes the control file that a job leaves whose ranks were killed.
func leaveBehind(t *testing.T, dir, job string, ranks int) {
	t.Helper()
	f, err := createFile(filePath(dir, job, "ctl"),
		header{kindControl, uint64(ranks), direct.LineWords, 1})
	if err != nil {
		t.Fatal(err)
	}
	for rank := range ranks { // they said that they had joined and met
		copy(f.segments()[rank*direct.LineWords:], []uint64{uint64(direct.Joined), 1})
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A control file of a dead job is replaced, whichever rank comes first and whatever
// its size was.
func TestStaleControlFile(t *testing.T) {
	for _, stale := range []int{1, 2, 3} {
		dir := lab.TempFolder(t)
		leaveBehind(t, dir, "stale", stale)
		leaveBehind(t, dir, "unrelated", stale)
		if stale == 1 { // rank 1 comes first, and again later
			early := Config{Rank: 1, Size: 2, Job: "stale", Dir: dir, Timeout: 1}
			_, err := Join(t.Context(), early)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("rank 1 without rank 0: %v", err)
			}
		}
		first := make(chan error, 1)
		go func() {
			job, err := Join(t.Context(), Config{Rank: 1, Size: 2, Job: "stale", Dir: dir})
			if err == nil {
				err = errors.Join(job.Barrier(t.Context()), job.Close())
			}
			first <- err
		}()
		job, err := Join(t.Context(), Config{Rank: 0, Size: 2, Job: "stale", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(job.Barrier(t.Context()), job.Close(), <-first)
		if err != nil {
			t.Error(err)
		}
		expectNames(t, dir)
	}
}

// Jobs start at the same time in a directory that is full of leftovers of their
// names while somebody else removes leftovers: nobody loses a file that is in use.
func TestStartsAndSweepsAtOnce(t *testing.T) {
	dir := lab.TempFolder(t)
	const jobs, rounds = 4, 25
	done := make(chan bool)
	var sweepers, starters sync.WaitGroup
	for range 2 {
		sweepers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for n := range jobs {
					if err := RemoveJob(dir, fmt.Sprint("job", n)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for n := range jobs {
		starters.Go(func() {
			cfg := Config{Size: 3, Job: fmt.Sprint("job", n), Dir: dir, Timeout: never}
			for range rounds {
				leaveBehind(t, dir, cfg.Job, 3)
				mustTogether(t, cfg, func(j *member) error {
					w, err := j.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 8})
					if err != nil {
						return err
					}
					return w.Close()
				})
			}
		})
	}
	starters.Wait()
	close(done)
	sweepers.Wait()
	expectNames(t, dir)
}

// A job may have the name of one that has met already: their windows do not mix,
// even while they have names.
func TestSameNameLater(t *testing.T) {
	dir := lab.TempFolder(t)
	cfg := Config{Size: 2, Job: "same", Dir: dir}
	err := errors.Join(together(cfg, func(first *member) error {
		if first.Rank() != 1 {
			_, err := first.NewWindow(t.Context(), rma.Spec{Name: "first", Words: 5})
			return err
		}
		f := inSteps(t, first, rma.Spec{Name: "first", Words: 5}, func() {
			mustTogether(t, cfg, func(second *member) error {
				_, err := second.NewWindow(t.Context(), rma.Spec{Name: "second", Words: 5})
				return err
			})
			expectNames(t, dir, filepath.Base(first.windowPath(0)))
		})
		if f == nil {
			return errors.New("no window")
		}
		return f.Close()
	})...)
	if err != nil {
		t.Error(err)
	}
	expectNames(t, dir)
}
