package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/internal/testkit/replay"
)

// Search runs that many schedules or as many as the flag -seeds says, the ones of the seeds from 1
// on, and fails the test with the first that fails. With -seed it runs that one and shows it.
func (t *Table) Search(tb testing.TB, schedules int) {
	tb.Helper()
	if seed := ReplaySeed(); seed != 0 {
		t.replay(tb, seed)
		return
	}
	if more := flagValue("seeds"); more != 0 {
		schedules = int(more)
	}
	summary, err := t.Try(1, func(n uint64) bool { return n < uint64(schedules) })
	if err != nil {
		tb.Fatal(err, replayCommand(tb, err))
	}
	tb.Log(summary)
}

// Schedules is how many schedules of a table a test runs: raced under the race detector, where
// each takes long, few in a plain run, and most in make test-lab and make nightly.
func Schedules(raced int) int {
	const plain, marked, nightly = 60, 2000, 12_000
	switch {
	case memory.RaceEnabled || testing.Short():
		return raced
	case mark.InPlace:
		return replay.Often(marked, nightly)
	}
	return plain
}

// replay runs the schedule of a seed and shows what the engine does.
func (t *Table) replay(tb testing.TB, seed uint64) {
	tb.Helper()
	summary, err := t.Run(seed, os.Stdout)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Log(summary)
}

// SeedError is the failure of a schedule.
type SeedError struct {
	Seed uint64
	Err  error
}

func (e *SeedError) Error() string { return e.Err.Error() }
func (e *SeedError) Unwrap() error { return e.Err }

// Try runs schedules on all processors, the ones of the seeds first, first+1 and so on, while
// more(n) says that number n is to be run. It stops at the first that fails, with a
// [SeedError].
func (t *Table) Try(first uint64, more func(n uint64) bool) (Summary, error) {
	var next atomic.Uint64
	var mu sync.Mutex // guards what follows
	var total Summary
	var failed *SeedError
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				n := next.Add(1) - 1
				mu.Lock()
				over := failed != nil || !more(n)
				mu.Unlock()
				if over {
					return
				}
				summary, err := t.Run(first+n, nil)
				mu.Lock()
				total.Add(summary)
				if err != nil && (failed == nil || first+n < failed.Seed) {
					failed = &SeedError{Seed: first + n, Err: err}
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if failed != nil {
		return total, failed
	}
	return total, nil
}

// replayCommand is how to see a failure again.
func replayCommand(tb testing.TB, err error) string {
	var failed *SeedError
	if !errors.As(err, &failed) {
		return ""
	}
	build := ""
	switch {
	case memory.RaceEnabled:
		build = "-race "
	case invariant.Enabled:
		build = "-tags invariants "
	}
	return fmt.Sprintf("\nSee it again: go test -v %s./%s -run '^%s$' -seed %d",
		build, packagePath(), tb.Name(), failed.Seed)
}

// packagePath is the directory of the test below the module's.
func packagePath() string {
	dir, err := os.Getwd()
	for path := ""; err == nil && len(dir) > 1; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return filepath.ToSlash(path)
		}
		path = filepath.Join(filepath.Base(dir), path)
	}
	return "."
}
