package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/doctor"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/mpi"
	"github.com/farhash/farhash/rma/ucx"
)

// mpiTimeout bounds each of the jobs that doctor starts under MPI.
const mpiTimeout = 20 * time.Second

// mpiInstallation is what belongs to one MPI.
type mpiInstallation struct {
	library  string   // how the library begins to tell its version
	programs []string // names of its launcher
	version  string   // in what the launcher's --version prints
	args     []string
	env      []string
	install  string // what brings the launcher
}

var mpiInstallations = []mpiInstallation{
	{"Open MPI", []string{"mpirun.openmpi", "mpirun"}, "OpenRTE",
		[]string{"--oversubscribe", "--bind-to", "none"},
		[]string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
		"apt-get install openmpi-bin"},
	{"MPICH", []string{"mpiexec.hydra", "mpiexec"}, "HYDRA", nil, nil,
		"apt-get install mpich"},
}

// probeMPI starts two ranks under MPI, which try out what the engine needs, and tells
// what came of it.
func probeMPI(ctx context.Context) doctor.Finding {
	f := doctor.Finding{Group: groupRanks, Name: "ranks under MPI", Level: doctor.OK}
	library := mpi.Library()
	f.Values = map[string]any{"built": mpi.Built, "library": library}
	if !mpi.Built {
		f.Says = "not built in, and not needed beside UCX"
		if !ucx.Built {
			f.Says = "not built in, which only ranks on several hosts need"
			f.Level, f.Remedy = doctor.Note, "go build -tags 'mpi openmpi' ./cmd/farhash, or "+
				"'mpi mpich', with libopenmpi-dev or libmpich-dev"
		}
		return f
	}
	switch launcher, launched, err := farhash.Launched(); {
	case err != nil:
		f.Says = library + ": not tried out, see launcher above"
		return f
	case launched:
		f.Says = fmt.Sprintf("%s: not tried out as a rank of %s; run doctor by itself", library,
			launcher)
		return f
	}
	for _, m := range mpiInstallations {
		if strings.HasPrefix(library, m.library) {
			var trouble string
			trouble, f.Remedy = m.probe(ctx)
			f.Says = library + ": " + trouble
			if f.Remedy != "" {
				f.Level = doctor.Warning
			}
			return f
		}
	}
	f.Level, f.Says = doctor.Note, library+": doctor does not know its launcher"
	f.Remedy = "start 'farhash doctor --mpi-rank' with it on two ranks"
	return f
}

// mpiRemedy is for failures that MPI has to explain.
const mpiRemedy = "do what that says, or start two ranks by hand with 'farhash doctor " +
	"--mpi-rank'"

// probe tells whether two ranks work together, and a remedy if not.
func (m mpiInstallation) probe(ctx context.Context) (says, remedy string) {
	launcher, seen := m.find()
	if launcher == "" {
		return fmt.Sprintf("its launcher is missing (%s)", seen), m.install
	}
	self, err := os.Executable()
	if err != nil {
		return err.Error(), mpiRemedy
	}
	ctx, cancel := context.WithTimeout(ctx, mpiTimeout)
	defer cancel()
	line := append(append([]string{"-n", "2"}, m.args...), self, "doctor", "--mpi-rank")
	cmd := exec.CommandContext(ctx, launcher, line...)
	cmd.Env = append(os.Environ(), m.env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("two ranks under %s do not end within %v; they said: %s", launcher,
			mpiTimeout, lastLines(out)), mpiRemedy
	case err != nil:
		return fmt.Sprintf("two ranks under %s fail: %s", launcher, lastLines(out)), mpiRemedy
	}
	return "works under " + launcher, ""
}

// find finds the launcher, and tells what there is instead.
func (m mpiInstallation) find() (path, seen string) {
	var others []string
	for _, name := range m.programs {
		path, err := exec.LookPath(name)
		if err != nil {
			others = append(others, "no "+name)
			continue
		}
		cmd := exec.Command(path, "--version")
		cmd.Env = append(os.Environ(), m.env...)
		said, err := cmd.CombinedOutput()
		if err == nil && strings.Contains(string(said), m.version) {
			return path, ""
		}
		others = append(others, path+" is of another MPI")
	}
	return "", strings.Join(others, ", ")
}

// lastLines is the line in which the engine says what is wrong, or else the last lines
// that tell something, as one.
func lastLines(out []byte) string {
	var lines []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "rma/mpi: ") {
			return line
		}
		if strings.Trim(line, "-=") != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-8):], " | ")
}

// beMPIRank is a rank of the job that probe starts. Windows of MPI alone are the ones to
// try: on one host there would be none otherwise.
func beMPIRank(ctx context.Context) error {
	job, err := mpi.Join(ctx, mpi.Config{Hidden: true, Timeout: mpiTimeout / 2})
	if err != nil {
		return err
	}
	_, err = job.NewWindow(ctx, rma.Spec{Name: "doctor", Words: 1 << 16})
	return errors.Join(err, job.Close())
}
