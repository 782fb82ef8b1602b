package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
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
	net := try.Net(t, "philosophers", 7)
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
				"TMPDIR="+t.TempDir(), try.Variable+"="+filepath.Join(t.TempDir(), "ranks"))
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
	t.Setenv(try.Variable, filepath.Join(t.TempDir(), "ranks"))
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
	if !strings.Contains(f.Message, ": works under /") || f.Level != OK {
		t.Errorf("doctor reports %+v", f)
	}
	if strings.HasPrefix(f.Message, "Open MPI v4") {
		t.Setenv("OMPI_MCA_osc", "rdma")
		if f := probeMPI(t.Context()); !strings.Contains(f.Message, "set OMPI_MCA_osc=sm,") ||
			f.Level != Warning || f.Remedy == "" {
			t.Errorf("of osc/rdma doctor reports %+v", f)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if f := probeMPI(t.Context()); !strings.Contains(f.Remedy, "apt-get install") {
		t.Errorf("without a launcher doctor reports %+v", f)
	}
}

// TestDoctorFindsLaunchers: the launcher of an MPI is the one that says so, and the end of what a
// job prints is told, or the error of the engine.
func TestDoctorFindsLaunchers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the programs are scripts")
	}
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	m := mpiInstallation{programs: []string{"mpirun.first", "mpirun"}, version: "OpenRTE"}
	if path, others := m.find(); path != "" || others != "no mpirun.first, no mpirun" {
		t.Errorf("%q, %q", path, others)
	}
	program := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := program("mpirun.first", "echo HYDRA")
	if path, others := m.find(); path != "" || others != first+" is of another MPI, no mpirun" {
		t.Errorf("%q, %q", path, others)
	}
	right := program("mpirun", "echo mpirun of OpenRTE 4")
	if path, _ := m.find(); path != right {
		t.Errorf("%q, not %q", path, right)
	}
	program("mpirun", "echo mpirun of OpenRTE 4; exit 1")
	if path, _ := m.find(); path != "" {
		t.Errorf("%q, which fails", path)
	}
	var lines, want []string
	for i := range 12 {
		lines = append(lines, fmt.Sprint("line ", i), "----", "")
		want = append(want, fmt.Sprint("line ", i))
	}
	text := strings.Join(lines, "\n")
	if got := lastLines([]byte(text)); got != strings.Join(want[4:], " | ") {
		t.Errorf("%q", got)
	}
	if got := lastLines([]byte("x\n  rma/mpi: no\n" + text)); got != "rma/mpi: no" {
		t.Errorf("%q", got)
	}
}
