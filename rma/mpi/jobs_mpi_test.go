//go:build mpi && cgo

package mpi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/system/launch"
)

// expect checks that ranks end well or not, and what they say.
func expect(t *testing.T, out string, err error, ok bool, times int, parts ...string) {
	t.Helper()
	if (err == nil) != ok {
		t.Fatalf("the job ended with %v; it said:\n%s", err, out)
	}
	for _, part := range parts {
		if n := strings.Count(out, part); n < 1 || times > 0 && n != times {
			t.Errorf("the job said %q %d times, want %d (0: at least once); it said:\n%s",
				part, n, times, out)
		}
	}
}

// A job that leaves MPI to the engine, as most do: it ends with exit code 0.
func TestJob(t *testing.T) {
	l := find(t, ask().kind)
	for _, c := range []struct{ how, says string }{
		{"", ": 40, flat true"}, {"hidden", ": 40, flat false"}, {"hosts", ": 40, flat false"},
	} {
		out, err := l.play(t, 4, "sum:"+c.how)
		expect(t, out, err, true, 4, " of 4"+c.says)
	}
	out, err := l.play(t, 1, "sum:hidden")
	expect(t, out, err, true, 1, "rank 0 of 1: 1, flat false")
}

// A program that has initialised MPI itself, at each thread level.
func TestProgramInitialises(t *testing.T) {
	l := find(t, ask().kind)
	for level, name := range levels {
		out, err := l.play(t, 2, fmt.Sprint("program:", level), oscVariable+"="+oscChoice())
		if level < 2 {
			expect(t, out, err, false, 0, "runs at MPI_THREAD_"+name,
				"initialise it with MPI_Init_thread and MPI_THREAD_SERIALIZED or more")
			continue
		}
		expect(t, out, err, true, 2, "rank 0 of 2: 6, flat false", "rank 0 of 2: 6, flat true",
			"rank 1 of 2: 6, flat false", "rank 1 of 2: 6, flat true")
	}
}

// A program that has initialised MPI for one thread, and leaves it at that.
func TestPassive(t *testing.T) {
	for _, level := range []string{"0", "1"} {
		out, err := find(t, ask().kind).play(t, 3, "passive:"+level, oscVariable+"="+oscChoice())
		expect(t, out, err, true, 2, "rank 0 of 3: 18, flat false", "rank 2 of 3: 18, flat false")
	}
}

func TestTargetComputes(t *testing.T) {
	for _, language := range []string{"Go", "C"} {
		out, err := find(t, ask().kind).play(t, 3, "compute:"+language)
		expect(t, out, err, true, 0)
	}
}

func TestJoined(t *testing.T) {
	for _, how := range []string{"hidden", "hosts"} {
		out, err := find(t, ask().kind).play(t, 2, "joined:"+how)
		expect(t, out, err, true, 2, "60 puts in 1 calls, 4096 gets in 64\n")
	}
}

// The launcher of another MPI starts processes that do not find each other.
func TestWrongLibrary(t *testing.T) {
	other, says := mpich, "mpich has started 2 ranks"
	if ask().kind == mpich {
		other, says = openMPI, "openmpi has started 2 ranks"
	}
	out, err := find(t, other).play(t, 2, "sum")
	expect(t, out, err, false, 0, says, "sees 1", "start the program with the mpi")
}

// A rank that fails ends the job, and its message is seen.
func TestAbandon(t *testing.T) {
	for _, how := range []string{"", "hidden"} {
		out, err := find(t, ask().kind).play(t, 3, "fail:"+how)
		expect(t, out, err, false, 0, "gave up")
	}
}

// A rank that is killed ends the job: nobody waits for it for ever.
func TestKilled(t *testing.T) {
	for _, how := range []string{"", "hidden", "pairs"} {
		begin := time.Now()
		out, err := find(t, ask().kind).play(t, 3, "die:"+how)
		expect(t, out, err, false, 0)
		if time.Since(begin) > jobLimit || strings.Contains(out, "does not end") {
			t.Errorf("%s: the job had to be ended; it said:\n%s", how, out)
		}
	}
}

// Ranks that are more than the cores come to an end.
func TestCrowd(t *testing.T) {
	out, err := find(t, ask().kind).play(t, 8, "sum:pairs")
	expect(t, out, err, true, 8, " of 8: 288, flat false")
	out, err = find(t, ask().kind).play(t, 32, "sum:")
	expect(t, out, err, true, 32, " of 32: 16896, flat true")
}

// Where a rank does not come, the others say which.
func TestLate(t *testing.T) {
	out, err := find(t, ask().kind).play(t, 2, "late:")
	expect(t, out, err, false, 1, "these have not come: [1]")
	if t.Failed() {
		return
	}
	out, err = find(t, ask().kind).play(t, 3, "roll:")
	expect(t, out, err, true, 0)
}

// A default of the library that does not work is found at the start.
func TestLitmus(t *testing.T) {
	if l := ask(); l.kind != openMPI || l.major != 4 {
		t.Skipf("%s has no default that is known not to work", l.text)
	}
	out, err := find(t, openMPI).play(t, 2, "sum:hidden", oscVariable+"=rdma")
	if err == nil {
		t.Skip("osc/rdma works with this version")
	}
	expect(t, out, err, false, 0, "set OMPI_MCA_osc="+oscChoice())
}

// What srun has to offer to Open MPI.
func TestWouldAbort(t *testing.T) {
	for _, c := range []struct {
		kind, launcher, offers string
		want                   bool
	}{
		{openMPI, launch.Slurm, "", true}, {openMPI, launch.Slurm, "PMIX_RANK", false},
		{openMPI, launch.Slurm, "PMI_FD", false}, {openMPI, launch.OpenMPI, "", false},
		{mpich, launch.Slurm, "", false},
	} {
		offers := func(variable string) string {
			if variable == c.offers {
				return "0"
			}
			return ""
		}
		if got := (library{kind: c.kind}).wouldAbort(c.launcher, offers); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestParseLibrary(t *testing.T) {
	for _, c := range []struct {
		said string
		want library
	}{
		{"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", library{"Open MPI v4.1.4",
			openMPI, 4}},
		{"MPICH Version:\t4.0.2\nMPICH Release date:\tThu", library{"MPICH Version: 4.0.2",
			mpich, 4}},
		{"Fast MPI 12", library{"Fast MPI 12", "MPI", 12}},
		{"", library{"", "MPI", 0}},
	} {
		if got := parseLibrary(c.said); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.said, got, c.want)
		}
	}
}
