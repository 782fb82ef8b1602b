package md

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// baselineLine is what the baseline in C prints for a run of a workload on 2 ranks.
var baselineLine = regexp.MustCompile(`(?m)^BenchmarkCache/mode=baseline/keys=(\w+)/` +
	`workload=(\w+)/batch=1/ranks=2-1\t200\t\S+ ns/op\t\S+ kop/s\t(\d+) mismatches\t0 wrong\t` +
	`(\d+) hits$`)

// The baseline finds what it has written, with any number of buckets: windows of its hash
// have 1 to 3 bytes here, and the first of these keeps few of the keys. Two writes that meet in
// a bucket may spoil it: a read of it is a mismatch, and the reads after it find nothing.
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
				buckets string
				all     bool // keys have room
			}{{"7", false}, {"50000", true}, {"70001", true}} {
				line := []string{"-n", "2"}
				if mpi == "openmpi" {
					line = append(line, "--oversubscribe", "--bind-to", "none")
				}
				line = append(line, program, "-o", "100", "-k", "150", "-b", c.buckets)
				run := exec.Command(launcher, line...)
				run.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1",
					"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_osc=sm,ucx,pt2pt",
					"TMPDIR="+t.TempDir())
				out, err := run.CombinedOutput()
				lines := baselineLine.FindAllStringSubmatch(string(out), -1)
				if err != nil || len(lines) != 6 {
					t.Fatalf("%s buckets: %v: %s", c.buckets, err, out)
				}
				for _, l := range lines {
					if spoiled := c.all && l[3] != "0"; l[2] == "read" && !spoiled &&
						(l[4] == "200") != c.all {
						t.Errorf("%s buckets: %s reads of 200 found their keys: %s", c.buckets,
							l[4], strings.Join(l, " "))
					}
				}
			}
		})
	}
}
