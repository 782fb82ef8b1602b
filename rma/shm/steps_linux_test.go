package shm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/mapped"
)

// says reports an error that is not what is wanted; "" is none.
func says(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want %q", what, err, want)
	}
}

// TestComplete: which configurations are refused before anything is made, and what is left out.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Size: 1, Job: "x"}, ""}, {Config{Size: MaxRanks, Rank: MaxRanks - 1, Job: "x"}, ""},
		{Config{Size: MaxRanks + 1, Job: "x"}, "1 to 4096 ranks, not 4097"},
		{Config{Size: 0, Job: "x"}, "1 to 4096 ranks, not 0"},
		{Config{Size: 2, Rank: 2, Job: "x"}, "rank 2 is not a rank of a job of 2"},
		{Config{Size: 2, Rank: -1, Job: "x"}, "rank -1 is not a rank of a job of 2"},
		{Config{Size: 1, Job: ""}, "job name"}, {Config{Size: 1, Job: "a/b"}, "job name"},
		{Config{Size: 1, Job: "*"}, "job name"}, {Config{Size: 1, Job: "a\n"}, "job name"},
		{Config{Size: 1, Job: strings.Repeat("x", 65)}, "job name"},
		{Config{Size: 1, Job: strings.Repeat("x", 64), Dir: "d", Timeout: 1}, ""},
	} {
		says(t, fmt.Sprintf("%+v", c.cfg), c.cfg.complete(), c.want)
		if c.want == "" && (c.cfg.Dir == "" || c.cfg.Timeout <= 0 ||
			len(c.cfg.Job) == 64 && (c.cfg.Dir != "d" || c.cfg.Timeout != 1)) {
			t.Errorf("%+v", c.cfg)
		}
	}
}

// TestTakePlace: a rank takes its own place in a job of as many ranks, once.
func TestTakePlace(t *testing.T) {
	dir := lab.TempFolder(t)
	control, err := createFile(filePath(dir, "j", "ctl"),
		header{kindControl, 2, direct.LineWords, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	window, err := createFile(filePath(dir, "j", "w"), header{kindWindow, 2, direct.LineWords, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer window.Close()
	for _, c := range []struct {
		path       string
		rank, size int
		want       string
	}{
		{window.Path, 1, 2, "it is no control file"},
		{control.Path, 1, 3, "has 2 ranks for rank 0 and 3 for rank 1"},
		{control.Path, 1, 2, ""},
		{control.Path, 1, 2, `job "j" has a rank 1 already`},
		{control.Path, 0, 2, `job "j" has a rank 0 already`},
	} {
		f, h, err := openFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() // gives the place back
		says(t, fmt.Sprintf("%+v", c), takePlace(f, h, Config{Job: "j", Rank: c.rank,
			Size: c.size}), c.want)
	}
}

// TestLeftovers: a control file is left over once its rank 0 is dead. Nobody joins it, the next job
// removes it, and nobody removes one that is in use.
func TestLeftovers(t *testing.T) {
	dir := lab.TempFolder(t)
	path := filePath(dir, "job", "ctl")
	says(t, "no file", removable(path, "job"), "")
	leaveBehind(t, dir, "job", 2)
	says(t, "a leftover", removable(path, "job"), "")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	cfg := Config{Job: "job", Dir: dir, Rank: 1, Size: 2, Timeout: time.Hour}
	_, _, err := awaitControl(over, cfg, path)
	says(t, "a rank that finds a leftover", err, `rank 0 of job "job", which never came`)

	leaveBehind(t, dir, "unrelated", 3)
	cfg.Rank = 0
	living, _, err := makeControl(t.Context(), cfg, path)
	if err != nil {
		t.Fatal(err)
	}
	expectNames(t, dir, filepath.Base(path))
	says(t, "a job that starts", removable(path, "job"), `a job named "job" is already starting`)
	removeDead(path)
	says(t, "its removal", RemoveJob(dir, "job"), "")
	expectNames(t, dir, filepath.Base(path))
	_, _, err = makeControl(over, cfg, path)
	says(t, "a second rank 0", err, "only one process the number 0")
	if err := living.Close(); err != nil {
		t.Error(err)
	}
	says(t, "all jobs at once", RemoveJob(dir, "*"), "job name")
	expectNames(t, dir, filepath.Base(path))
	says(t, "its removal", RemoveJob(dir, "job"), "")
	expectNames(t, dir)
}

// TestExamine: what is no file of ours is refused before it is mapped.
func TestExamine(t *testing.T) {
	for _, c := range foreigners {
		path := filePath(lab.TempFolder(t), "foreign", "ctl")
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		_, _, err := examine(path)
		says(t, c.name, err, c.want)
	}
}

// TestOpenWindow: a window of another job, of other ranks or of another length is refused, and
// jobs have windows of different names.
func TestOpenWindow(t *testing.T) {
	dir := lab.TempFolder(t)
	j := &member{cfg: Config{Job: "j", Dir: dir, Rank: 1, Size: 2}, nonce: 7}
	path, spec := j.windowPath(3), rma.Spec{Words: 4}
	for _, c := range []struct {
		made header
		want string
	}{
		{header{kindWindow, 2, 4, 7}, ""}, {header{kindWindow, 2, 4, 8}, "another job"},
		{header{kindWindow, 3, 4, 7}, "another job"}, {header{kindWindow, 2, 5, 7}, "another job"},
		{header{kindControl, 2, 4, 7}, "another job"},
	} {
		made, err := createFile(path, c.made)
		if err != nil {
			t.Fatal(err)
		}
		f, err := j.openWindow(path, spec)
		if says(t, fmt.Sprintf("%+v", c.made), err, c.want); err == nil {
			err = f.Close()
		} else {
			err = nil
		}
		made.Unname()
		if err := errors.Join(err, made.Close()); err != nil {
			t.Error(err)
		}
	}
	later := &member{cfg: j.cfg, nonce: 8}
	if later.windowPath(3) == path || j.windowPath(4) == path {
		t.Error("two windows have one name")
	}
}

// TestCheckRoom: the segments of all ranks need room.
func TestCheckRoom(t *testing.T) {
	dir := lab.TempFolder(t)
	spec := rma.Spec{Words: int(mapped.Room(dir) / 8 / 4 * 3)}
	if err := checkRoom(dir, spec, 2); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("two ranks: %v", err)
	}
	if err := checkRoom(dir, spec, 1); errors.Is(err, unix.ENOSPC) {
		t.Errorf("one rank: %v", err)
	}
	if err := checkRoom(dir, rma.Spec{Words: 1}, 1); err != nil {
		t.Error(err)
	}
}

// TestAllOK: a failure of one rank is one of all, and each rank has its own error.
func TestAllOK(t *testing.T) {
	own := errors.New("its own")
	errs := together(Config{Size: 3, Job: "ok", Dir: lab.TempFolder(t)}, func(j *member) error {
		if err := j.allOK(t.Context(), nil); err != nil {
			return fmt.Errorf("none has failed: %w", err)
		}
		var mine error
		if j.Rank() == 1 {
			mine = own
		}
		return j.allOK(t.Context(), mine)
	})
	for rank, err := range errs {
		var peer *rma.PeerError
		told := errors.As(err, &peer) && peer.Rank == 1
		if rank == 1 && !errors.Is(err, own) || rank != 1 && !told {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestAlone: a job leaves no name while it runs, and may be closed twice.
func TestAlone(t *testing.T) {
	dir := lab.TempFolder(t)
	job, err := Join(t.Context(), Config{Size: 1, Job: "alone", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	expectNames(t, dir)
	w, err := job.NewWindow(t.Context(), rma.Spec{Name: "w", Words: 8})
	if err != nil {
		t.Fatal(err)
	}
	if expectNames(t, dir); len(w.Words(0)) != 8 {
		t.Errorf("%d words", len(w.Words(0)))
	}
	for range 2 {
		if err := job.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := job.NewWindow(t.Context(), rma.Spec{Name: "w", Words: 8}); err == nil {
		t.Error("a closed job made a window")
	}
}
