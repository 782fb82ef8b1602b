package farhash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/mpi"
)

// rankVariable makes the test binary a rank instead of testing: "join" or "run".
const rankVariable = "FARHASH_TEST_PROGRAM"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(rankVariable) {
	case "":
		if os.Getenv("GORACE") == "" {
			// The race detector lets each process sleep for a second at its end.
			os.Setenv("GORACE", "atexit_sleep_ms=0")
		}
		os.Exit(m.Run())
	case "join":
		err = joinAndSum()
	case "run":
		err = farhash.Run(context.Background(), 1, sum, farhash.OneSided())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// joinAndSum is a program that a launcher starts.
func joinAndSum() error {
	job, err := farhash.Join(context.Background())
	if err != nil {
		return err
	}
	return errors.Join(sum(job), job.Close())
}

// sum has every rank add its number, counted from 1, at every rank. Each prints one
// line, in one piece.
func sum(job rma.Job) error {
	ctx := context.Background()
	w, err := job.NewWindow(ctx, rma.Spec{Name: "sums", Words: 1})
	if err != nil {
		return err
	}
	cells, err := rma.NewCells(job, w)
	if err != nil {
		return err
	}
	for rank := range job.Size() {
		if _, err := cells.Add(ctx, rank, 0, uint64(job.Rank()+1)); err != nil {
			return err
		}
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	total, err := cells.Sum(ctx, 0)
	launcher, _, _ := farhash.Launched()
	_, _ = os.Stdout.WriteString(fmt.Sprintf("rank %d of %d by %s: %d\n",
		job.Rank(), job.Size(), launcher, total))
	return errors.Join(err, job.Barrier(ctx))
}

// withoutLauncher hides that a launcher may have started the test itself.
func withoutLauncher(t *testing.T) {
	t.Helper()
	for _, name := range []string{"FARHASH_RANK", "FARHASH_SIZE", "FARHASH_LOCAL_SIZE",
		"FARHASH_JOB", farhash.LostVariable, farhash.TimeoutVariable, farhash.EngineVariable,
		"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
		"SLURM_PROCID", "WORLD_SIZE"} {
		t.Setenv(name, "")
	}
}

func TestAlone(t *testing.T) {
	withoutLauncher(t)
	for _, oneSided := range []bool{false, true} {
		var opts []farhash.Option
		if oneSided {
			opts = append(opts, farhash.OneSided())
		}
		job, err := farhash.Join(t.Context(), opts...)
		if err != nil {
			t.Fatal(err)
		}
		if job.Rank() != 0 || job.Size() != 1 {
			t.Errorf("rank %d of %d", job.Rank(), job.Size())
		}
		w, err := job.NewWindow(t.Context(), rma.Spec{Name: "test", Words: 1})
		if err != nil {
			t.Fatal(err)
		}
		if hidden := w.Words(0) == nil; hidden != oneSided {
			t.Errorf("one-sided %v: the window is hidden: %v", oneSided, hidden)
		}
		if err := job.Close(); err != nil {
			t.Error(err)
		}
		ranks := make([]bool, 3)
		err = farhash.Run(t.Context(), 3, func(job rma.Job) error {
			ranks[job.Rank()] = job.Size() == 3
			return job.Barrier(t.Context())
		}, opts...)
		if err != nil || fmt.Sprint(ranks) != "[true true true]" {
			t.Errorf("Run: %v, %v", ranks, err)
		}
	}
	if _, launched, err := farhash.Launched(); launched || err != nil {
		t.Errorf("Launched: %v, %v", launched, err)
	}
	own := errors.New("its own")
	err := farhash.Run(t.Context(), 2, func(rma.Job) error { return own })
	if !errors.Is(err, own) {
		t.Errorf("Run: %v, want %v", err, own)
	}
}

func TestBadEnvironment(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{farhash.TimeoutVariable, "soon", `FARHASH_TIMEOUT="soon"`},
		{farhash.TimeoutVariable, "-1s", `FARHASH_TIMEOUT="-1s"`},
		{farhash.LostVariable, "0s", `FARHASH_TIMEOUT_LOST="0s"`},
		{"FARHASH_RANK", "0", "FARHASH_SIZE is not set"},
	} {
		withoutLauncher(t)
		t.Setenv(c.name, c.value)
		_, joined := farhash.Join(t.Context())
		ran := farhash.Run(t.Context(), 1, func(rma.Job) error { return nil })
		for _, err := range []error{joined, ran} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s=%s: %v, want %q", c.name, c.value, err, c.want)
			}
		}
	}
}

// setRank makes this process a rank as farhash run does.
func setRank(t *testing.T, rank, size, localSize int) {
	t.Helper()
	withoutLauncher(t)
	t.Setenv("FARHASH_RANK", fmt.Sprint(rank))
	t.Setenv("FARHASH_SIZE", fmt.Sprint(size))
	t.Setenv("FARHASH_LOCAL_SIZE", fmt.Sprint(localSize))
	t.Setenv("FARHASH_JOB", fmt.Sprint("test-", os.Getpid()))
}

func TestRanksOnManyHosts(t *testing.T) {
	setRank(t, 0, 4, 2)
	_, err := farhash.Join(t.Context())
	if err == nil || !strings.Contains(err.Error(), "4 ranks, 2 of them on this host") {
		t.Errorf("error %v", err)
	}
}

// The time to wait comes from an option before the environment.
func TestTimeout(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ranks as processes need Linux")
	}
	setRank(t, 1, 2, 2)
	t.Setenv(farhash.TimeoutVariable, "1h")
	_, err := farhash.Join(t.Context(), farhash.Timeout(time.Millisecond))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("by option: %v", err)
	}
	t.Setenv(farhash.TimeoutVariable, "2ms")
	_, err = farhash.Join(t.Context())
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "waited 1m") {
		t.Errorf("by environment: %v", err) // a minute is the default
	}
}

// launcher is a way to start ranks.
type launcher struct {
	name     string
	programs []string
	version  string // in what --version prints, for names that are shared
	library  string // how the version of its library begins
	args     []string
	env      []string
}

var launchers = []launcher{
	{launch.OpenMPI, []string{"mpirun.openmpi", "mpirun"}, "Open MPI", "Open MPI",
		[]string{"--oversubscribe", "--bind-to", "none"},
		[]string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}},
	{launch.MPICH, []string{"mpiexec.hydra", "mpiexec"}, "HYDRA", "MPICH", nil, nil},
}

// path finds the program of a launcher or skips the test.
func (l launcher) path(t *testing.T) string {
	t.Helper()
	for _, name := range l.programs {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.Command(path, "--version")
		cmd.Env = append(os.Environ(), l.env...)
		text, err := cmd.CombinedOutput()
		if err == nil && strings.Contains(string(text), l.version) {
			return path
		}
	}
	t.Skipf("%s is not installed: no %s", l.name, strings.Join(l.programs, " or "))
	return ""
}

// Ranks started by an MPI join one job and use one window: in shared memory, and by MPI where
// this program is built with it.
func TestUnderMPI(t *testing.T) {
	withoutLauncher(t)
	for _, l := range launchers {
		for _, c := range []struct{ engine, program string }{
			{"", "join"}, {"", "run"}, {"mpi", "join"}, {"mpi", "run"},
		} {
			t.Run(l.name+"/"+c.engine+c.program, func(t *testing.T) {
				if c.engine == "mpi" && !strings.HasPrefix(mpi.Library(), l.library) {
					t.Skipf("the program is linked with %q", mpi.Library())
				}
				cmd := exec.Command(l.path(t), append(append([]string{"-n", "2"}, l.args...),
					os.Args[0])...)
				cmd.Env = append(append(os.Environ(), l.env...), rankVariable+"="+c.program,
					farhash.EngineVariable+"="+c.engine,
					"TMPDIR="+t.TempDir()) // two at once trip over a common one
				text, err := cmd.CombinedOutput()
				checkSums(t, string(text), err, l.name)
			})
		}
	}
}

// Ranks started by farhash run do so too.
func TestUnderFarhash(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ranks as processes need Linux")
	}
	withoutLauncher(t)
	var text bytes.Buffer
	code, err := launch.Run(t.Context(), launch.Options{Ranks: 2, Program: os.Args[0],
		Env: []string{rankVariable + "=join"}, Stdout: &text, Stderr: &text})
	if code != 0 {
		err = errors.Join(err, fmt.Errorf("exit code %d", code))
	}
	checkSums(t, text.String(), err, launch.Farhash)
}

// checkSums checks what two ranks have printed.
func checkSums(t *testing.T, text string, err error, launcher string) {
	t.Helper()
	if err != nil {
		t.Errorf("%v: %s", err, text)
	}
	for rank := range 2 {
		// Each word holds 1+2, and there are two.
		if want := fmt.Sprintf("rank %d of 2 by %s: 6\n", rank, launcher); !strings.Contains(
			text, want) {
			t.Errorf("the ranks print %q, want %q", text, want)
		}
	}
}

// The file VERSION decides: other files that must contain the version agree with it.
func TestVersion(t *testing.T) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(farhash.Version()) {
		t.Errorf("VERSION is %q, want MAJOR.MINOR.PATCH", farhash.Version())
	}
	for _, c := range []struct{ file, pattern string }{
		{"CITATION.cff", `(?m)^version: (.*)$`},
		{"bind/c/farhash.h", `#define FARHASH_VERSION "(.*)"`},
		{"bind/c/man/farhash.3", `"farhash (\d.*?)"`},
		{"bind/c/man/farhash_dht.3", `"farhash (\d.*?)"`},
		{"cmd/farhash/man/farhash.1", `(?m)^\.Os farhash (.*)$`},
		{"bind/python/farhash/version.py", `__version__ = "(.*)"`},
	} {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.pattern).FindSubmatch(text)
		if found == nil || string(found[1]) != farhash.Version() {
			t.Errorf("%s has version %q, VERSION %q: edit the file", c.file, found,
				farhash.Version())
		}
	}
}

// NOTICES has the licence of each module that the programs and libraries link.
func TestNotices(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	cmd := exec.Command("scripts/notices")
	cmd.Stderr = os.Stderr
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("NOTICES"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("NOTICES is out of date (%v): run scripts/notices >NOTICES", err)
	}
}
