package md

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// baselineLine is what the baseline in C prints for a run of a workload on 2 ranks.
var baselineLine = regexp.MustCompile(`(?m)^BenchmarkCache/mode=([\w-]+)/keys=(\w+)/` +
	`workload=(\w+)/batch=1/ranks=2-1\t200\t\S+ ns/op\t\S+ kop/s\t(\d+) mismatches\t0 wrong\t` +
	`(\d+) hits$`)

// The baseline finds what it has written by each protocol, with any number of buckets: windows of
// its hash have 1 to 3 bytes here, and the first of these keeps few of the keys. Without a lock
// two writes that meet in a bucket may spoil it: a read of it is a mismatch, and the reads after
// it find nothing. Fine locks of few buckets are left out: ranks that outnumber processors and
// try again at once wait for whole slices of a processor.
func TestCacheBaseline(t *testing.T) {
	for _, mpi := range []string{"openmpi", "mpich"} {
		t.Run(mpi, func(t *testing.T) {
			compiler, err := exec.LookPath("mpicc." + mpi)
			if err != nil {
				t.Skip("no C programs with this MPI: ", err)
			}
			launcher, err := exec.LookPath("mpirun." + mpi)
			if err != nil {
				t.Skip("no launcher of this MPI: ", err)
			}
			program := filepath.Join(t.TempDir(), "mpidht")
			out, err := exec.Command(compiler, "-O1", "-Wall", "-Werror", "-o", program,
				"baseline/workloads.c", "baseline/mpidht.c", "-lm").CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, c := range []struct {
				protocol, mode, buckets string
				all                     bool // keys have room
			}{{"lock-free", "baseline", "7", false}, {"lock-free", "baseline", "50000", true},
				{"lock-free", "baseline", "70001", true}, {"fine", "baseline-fine", "50000", true},
				{"coarse", "baseline-coarse", "7", false},
				{"coarse", "baseline-coarse", "50000", true}} {
				line := []string{"-n", "2"}
				if mpi == "openmpi" {
					line = append(line, "--oversubscribe", "--bind-to", "none")
				}
				line = append(line, program, "-o", "100", "-k", "150", "-b", c.buckets, "-m",
					c.protocol)
				lines := runBaseline(t, exec.Command(launcher, line...))
				for _, l := range lines {
					spoiled := c.all && l[4] != "0"
					if l[1] != c.mode || l[3] == "read" && !spoiled && (l[5] == "200") != c.all ||
						c.protocol != "lock-free" && l[4] != "0" {
						t.Errorf("%s, %s buckets: %s", c.protocol, c.buckets, l[0])
					}
				}
			}
		})
	}
}

// runBaseline is the lines that the baseline prints, with their parts.
func runBaseline(t *testing.T, run *exec.Cmd) [][]string {
	t.Helper()
	run.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1",
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_osc=sm,ucx,pt2pt", "TMPDIR="+t.TempDir())
	out, err := run.CombinedOutput()
	lines := baselineLine.FindAllStringSubmatch(string(out), -1)
	if err != nil || len(lines) != 6 {
		t.Fatalf("%v: %v: %s", run.Args, err, out)
	}
	return lines
}
