package shm

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// A rank closes every file that it opens, also the files of other ranks.
func TestDescriptors(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it closes what nobody refers to
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	cfg := Config{Size: 1, Job: "one", Dir: lab.TempFolder(t)}
	foreign := filePath(cfg.Dir, "one", "foreign")
	if err := os.WriteFile(foreign, make([]byte, headerBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	control := filePath(cfg.Dir, "two", "ctl")
	held, err := createFile(control, header{kindControl, 1, 8, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	before := count()
	for name, use := range map[string]func(t *testing.T){
		"a job with a window": func(t *testing.T) {
			job, err := Join(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := job.NewWindow(t.Context(), rma.Spec{Name: "w", Words: 8}); err != nil {
				t.Error(err)
			}
			if err := job.Close(); err != nil {
				t.Error(err)
			}
		},
		"a job that is there": func(t *testing.T) {
			if err := removable(control, "two"); err == nil ||
				!strings.Contains(err.Error(), `a job named "two" is already starting`) {
				t.Error(err)
			}
		},
		"a job that is gone": func(t *testing.T) {
			if err := removable(control+".gone", "two"); err != nil {
				t.Error(err)
			}
		},
		"removal": func(t *testing.T) {
			if err := RemoveJob(cfg.Dir, "one"); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, use)
		if got := count(); got != before {
			t.Errorf("%s: %d descriptors, %d before", name, got, before)
		}
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}
