package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

// hangGuard ends what would never end, by the time of patience. No test that passes comes near it.
const hangGuard = 2 * time.Minute

// never is the timeout of ranks whose wait another event ends.
const never = time.Hour

// mountTmpfs mounts a file system in memory for one test, or skips the test.
func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("farhash-test", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("mounting a tmpfs with %s, which needs root: %v", options, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// expectNames checks what is in a directory.
func expectNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := strings.Join(names(t, dir), " "); got != strings.Join(want, " ") {
		t.Errorf("in %s is %q, want %q", dir, got, want)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// together joins all ranks of a job in goroutines and runs fn on each. It returns
// the errors by rank.
func together(cfg Config, fn func(job *member) error) []error {
	ctx, cancel := patience.WithTimeout(context.Background(), hangGuard)
	defer cancel()
	errs := make([]error, cfg.Size)
	var wg sync.WaitGroup
	for rank := range cfg.Size {
		wg.Go(func() {
			cfg := cfg
			cfg.Rank = rank
			job, err := Join(ctx, cfg)
			if err != nil {
				errs[rank] = err
				return
			}
			errs[rank] = errors.Join(fn(job.(*member)), job.Close())
		})
	}
	wg.Wait()
	return errs
}

// mustTogether is together where no rank may fail.
func mustTogether(t *testing.T, cfg Config, fn func(job *member) error) {
	t.Helper()
	for rank, err := range together(cfg, fn) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

func TestConformance(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		t.Run(fmt.Sprint("hidden=", hidden), func(t *testing.T) {
			t.Parallel()
			dir := lab.TempFolder(t)
			var jobs atomic.Int64
			rmatest.Test(t, func(ranks int, fn func(job rma.Job) error) error {
				cfg := Config{Size: ranks, Dir: dir, Hidden: hidden, Timeout: never,
					Job: fmt.Sprint("job", jobs.Add(1))}
				return rmatest.OwnError(together(cfg, func(job *member) error { return fn(job) }))
			})
			expectNames(t, dir)
		})
	}
}

// Names and modes while a job meets, while it makes a window, and afterwards.
func TestNames(t *testing.T) {
	dir := lab.TempFolder(t)
	late := make(chan bool)
	var windowNames, leftNames []string
	mode := os.FileMode(0)
	go func() {
		defer close(late)
		for len(names(t, dir)) == 0 {
			time.Sleep(time.Millisecond)
		}
		info, err := os.Stat(filePath(dir, "names", "ctl"))
		if err == nil {
			mode = info.Mode()
		}
		job, err := Join(context.Background(), Config{Rank: 1, Size: 2, Job: "names", Dir: dir})
		if err != nil {
			t.Error(err)
			return
		}
		defer job.Close()
		// Rank 1 takes the steps of NewWindow one by one.
		j := job.(*member)
		leftNames = names(t, dir)
		spec := rma.Spec{Name: "test", Words: 1 << 10}
		f := inSteps(t, j, spec, func() { windowNames = names(t, dir) })
		var st unix.Stat_t
		if err := unix.Fstat(int(f.FD.Fd()), &st); err != nil || st.Nlink > 1 ||
			st.Mode != unix.S_IFREG|0o600 {
			t.Errorf("the window's file has %d names and mode %o, %v", st.Nlink, st.Mode, err)
		}
		if err := errors.Join(j.Barrier(context.Background()), f.Close()); err != nil {
			t.Error(err)
		}
	}()
	job, err := Join(t.Context(), Config{Rank: 0, Size: 2, Job: "names", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	w, err := job.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	expectNames(t, dir)
	if err := errors.Join(job.Barrier(t.Context()), w.Close()); err != nil {
		t.Error(err)
	}
	<-late
	if mode != 0o600 {
		t.Errorf("the control file has mode %v, want 0600", mode)
	}
	if len(leftNames) > 1 { // rank 0 may already make the window
		t.Errorf("after Join there is %q", leftNames)
	}
	if len(windowNames) != 1 || !strings.HasSuffix(windowNames[0], ".w0") {
		t.Errorf("while a window is made there is %q, want one name", windowNames)
	}
}

// inSteps is NewWindow for a rank but 0, with a pause when rank 0 has made the file.
func inSteps(t *testing.T, j *member, spec rma.Spec, pause func()) *file {
	t.Helper()
	ctx := context.Background()
	if err := direct.AgreeOnSpec(ctx, j.group, spec); err != nil {
		t.Error(err)
	}
	path := j.windowPath(0)
	for {
		if _, err := os.Stat(path); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	pause()
	f, err := j.shareFile(ctx, path, spec)
	if err != nil {
		t.Log(err) // some tests want it
	}
	return f
}

// Where pages are small, large or huge, a large window works and is aligned.
func TestHugePagesOrNot(t *testing.T) {
	for _, huge := range []string{"never", "advise", "always"} {
		t.Run(huge, func(t *testing.T) {
			dir := mountTmpfs(t, "size=64m,huge="+huge)
			mustTogether(t, Config{Size: 2, Job: "huge", Dir: dir}, func(j *member) error {
				for _, words := range []int{1, 511, 1 << 18, 1<<20 + 3} {
					w, err := j.NewWindow(t.Context(), rma.Spec{Name: "test", Words: words})
					if err != nil {
						return err
					}
					for rank := range 2 {
						w.Words(rank)[words-1] = 1 // a SIGBUS ends the test
					}
					begin := uintptr(unsafe.Pointer(&w.Words(0)[0])) - headerBytes
					if words >= 1<<18 && begin%direct.UnitBytes != 0 {
						return fmt.Errorf("a file of %d words is mapped at %#x", 2*words, begin)
					}
					if err := w.Close(); err != nil {
						return err
					}
				}
				return nil
			})
			expectNames(t, dir)
		})
	}
}
