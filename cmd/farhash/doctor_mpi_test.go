package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/doctor"
	"github.com/farhash/farhash/rma/mpi"
	"github.com/farhash/farhash/rma/ucx"
)

// aloneUnderNoLauncher hides that a launcher may have started the test itself.
func aloneUnderNoLauncher(t *testing.T) {
	t.Helper()
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "OMPI_") || strings.HasPrefix(name, "PMI") {
			t.Setenv(name, "")
		}
	}
}

// Explore and bench are the same under MPI, on every path that ranks on one host have.
func TestExploreAndBenchUnderMPI(t *testing.T) {
	if !mpi.Built {
		t.Skip("built without MPI")
	}
	aloneUnderNoLauncher(t)
	net := filepath.Join(t.TempDir(), "net.pnml")
	if code := runArgs("petri", "philosophers", "-n", "7", "-o", net); code != 0 {
		t.Fatal("exit code ", code)
	}
	for _, m := range mpiInstallations {
		launcher, seen := m.find()
		if launcher == "" || !strings.HasPrefix(mpi.Library(), m.library) {
			t.Logf("not with %s: %s", m.library, seen)
			continue
		}
		for _, c := range []struct{ message, args string }{
			{"states                   2187\n", "explore -q " + net},
			{"states                   2187\n", "explore -q --direct=false " + net},
			{"states                   2187\n", "explore -q --engine symbolic " + net},
			{"set    find-or-put, new      4  ", "bench -q --size 1MiB --ops 100 --runs 1"},
		} {
			cmd := exec.Command(launcher, append(append(append([]string{"-n", "4"}, m.args...),
				os.Args[0]), strings.Fields(c.args)...)...)
			cmd.Env = append(append(os.Environ(), m.env...), "FARHASH_ENGINE=mpi",
				"TMPDIR="+t.TempDir(), commandVariable+"="+filepath.Join(t.TempDir(), "ranks"))
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), c.message) != 1 {
				t.Errorf("%s: %v, want %q once in:\n%s", c.args, err, c.message, out)
			}
		}
	}
}

func TestDoctorOnMPI(t *testing.T) {
	aloneUnderNoLauncher(t)
	// Doctor starts itself; jobs of Open MPI disturb each other in a common directory.
	t.Setenv(commandVariable, filepath.Join(t.TempDir(), "ranks"))
	t.Setenv("TMPDIR", t.TempDir())
	f := probeMPI(t.Context())
	if !mpi.Built {
		if !ucx.Built && !strings.Contains(f.Remedy, "go build -tags 'mpi openmpi'") {
			t.Errorf("doctor reports %+v", f)
		}
		return
	}
	if strings.Contains(f.Message, "launcher is missing") {
		t.Skip(f.Message)
	}
	if !strings.Contains(f.Message, ": works under /") || f.Level != doctor.OK {
		t.Errorf("doctor reports %+v", f)
	}
	if strings.HasPrefix(f.Message, "Open MPI v4") {
		t.Setenv("OMPI_MCA_osc", "rdma")
		if f := probeMPI(t.Context()); !strings.Contains(f.Message, "set OMPI_MCA_osc=sm,") ||
			f.Level != doctor.Warning || f.Remedy == "" {
			t.Errorf("of osc/rdma doctor reports %+v", f)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if f := probeMPI(t.Context()); !strings.Contains(f.Remedy, "apt-get install") {
		t.Errorf("without a launcher doctor reports %+v", f)
	}
}
