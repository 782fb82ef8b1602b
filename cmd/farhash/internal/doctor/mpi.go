package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/mpi"
	"github.com/farhash/farhash/rma/ucx"
)

// mpiTimeout bounds each of the jobs that doctor starts under MPI.
const mpiTimeout = 20 * time.Second

// mpiInstallation is what belongs to one MPI.
type mpiInstallation struct {
	library  string   // prefix of the version that the library reports
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

// probeMPI starts two ranks under MPI, which test what the engine needs, and reports the result.
func probeMPI(ctx context.Context) Finding {
	f := Finding{Group: groupRanks, Name: "ranks under MPI", Level: OK}
	library := mpi.Library()
	f.Values = map[string]any{"built": mpi.Built, "library": library}
	if !mpi.Built {
		f.Message = "not built in, and not needed, as UCX is"
		if !ucx.Built {
			f.Message = "not built in; only ranks on several hosts need it"
			f.Level, f.Remedy = Note, "go build -tags 'mpi openmpi' ./cmd/farhash, or "+
				"'mpi mpich', with libopenmpi-dev or libmpich-dev"
		}
		return f
	}
	switch launcher, launched, err := farhash.Launched(); {
	case err != nil:
		f.Message = library + ": not tested, see launcher above"
		return f
	case launched:
		f.Message = fmt.Sprintf("%s: not tested, as this process is a rank of %s; run doctor "+
			"without a launcher", library, launcher)
		return f
	}
	for _, m := range mpiInstallations {
		if strings.HasPrefix(library, m.library) {
			var message string
			message, f.Remedy = m.probe(ctx)
			f.Message = library + ": " + message
			if f.Remedy != "" {
				f.Level = Warning
			}
			return f
		}
	}
	f.Level, f.Message = Note, library+": doctor does not know its launcher"
	f.Remedy = "start 'farhash doctor --mpi-rank' with it on two ranks"
	return f
}

// mpiRemedy is for failures that MPI itself explains.
const mpiRemedy = "do what this message asks for, or start two ranks of 'farhash doctor " +
	"--mpi-rank' by hand"

// probe reports whether two ranks work together, and a remedy if not.
func (m mpiInstallation) probe(ctx context.Context) (message, remedy string) {
	launcher, others := m.find()
	if launcher == "" {
		return fmt.Sprintf("its launcher is missing (%s)", others), m.install
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
		return fmt.Sprintf("two ranks under %s do not end within %v; their output: %s", launcher,
			mpiTimeout, lastLines(out)), mpiRemedy
	case err != nil:
		return fmt.Sprintf("two ranks under %s fail: %s", launcher, lastLines(out)), mpiRemedy
	}
	return "works under " + launcher, ""
}

// find finds the launcher, or reports which programs it has found instead.
func (m mpiInstallation) find() (path, others string) {
	var found []string
	for _, name := range m.programs {
		path, err := exec.LookPath(name)
		if err != nil {
			found = append(found, "no "+name)
			continue
		}
		cmd := exec.Command(path, "--version")
		cmd.Env = append(os.Environ(), m.env...)
		out, err := cmd.CombinedOutput()
		if err == nil && strings.Contains(string(out), m.version) {
			return path, ""
		}
		found = append(found, path+" is of another MPI")
	}
	return "", strings.Join(found, ", ")
}

// lastLines is the line with the error of the engine, or else the last lines with text, as one.
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

// beMPIRank is a rank of the job that probe starts. It tests windows of MPI alone: on one host
// there would be none otherwise.
func beMPIRank(ctx context.Context) error {
	job, err := mpi.Join(ctx, mpi.Config{Hidden: true, Timeout: mpiTimeout / 2})
	if err != nil {
		return err
	}
	_, err = job.NewWindow(ctx, rma.Spec{Name: "doctor", Words: 1 << 16})
	return errors.Join(err, job.Close())
}
