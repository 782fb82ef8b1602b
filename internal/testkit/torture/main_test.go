//go:build linux

package torture

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
)

const (
	// programsVariable names the folder of the programs, which TestMain has built.
	programsVariable = "TORTURE_PROGRAMS"
	// aloneVariable is set where the network and /dev/shm are the test's own.
	aloneVariable = "TORTURE_ALONE"
)

// targets are the programs, and the tests that an attack takes as they are.
var targets = []struct{ name, tags, folder, needs string }{
	{"plain", "", "cmd/farhash", ""},
	{"ucx", "ucx", "cmd/farhash", "ucx"},
	{"openmpi", "mpi openmpi", "cmd/farhash", "ompi-c"},
	{"mpich", "mpi mpich", "cmd/farhash", "mpich"},
	{"command.test", "ucx", "cmd/farhash/internal/explore", "ucx"},
	{"ucx.test", "ucx", "rma/ucx", "ucx"},
	{"openmpi.test", "mpi openmpi", "rma/mpi", "ompi-c"},
	{"mpich.test", "mpi mpich", "rma/mpi", "mpich"},
}

func TestMain(m *testing.M) {
	if kind := os.Getenv(fakeVariable); kind != "" {
		os.Exit(fake(kind, os.Args[1:]))
	}
	flag.Parse()
	if os.Getenv(programsVariable) == "" {
		if err := enter(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	// Should memory run out, it is not for others to end.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0)
	code := m.Run()
	_ = os.RemoveAll(programDir())
	os.Exit(code)
}

// enter builds the programs, and begins anew in a place of the test's own if that is allowed.
func enter() error {
	dir, err := os.MkdirTemp("", "farhash-torture-programs-")
	if err != nil {
		return err
	}
	os.Setenv(programsVariable, dir)
	if err := build(dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	const shut = "ip link set lo up && mount -t tmpfs -o mode=1777 tmpfs /dev/shm"
	line := []string{"unshare", "--mount", "--net", "sh", "-c", shut}
	path, err := exec.LookPath(line[0])
	if err != nil || exec.Command(path, line[1:]...).Run() != nil {
		return nil
	}
	line[len(line)-1] += ` && exec "$0" "$@"`
	os.Setenv(aloneVariable, "1")
	return syscall.Exec(path, append(line, os.Args...), os.Environ())
}

// alone reports whether the network and /dev/shm are the test's own.
func alone() bool { return os.Getenv(aloneVariable) != "" }

// build makes the programs; for a few rounds of a test the plain one alone.
func build(dir string) error {
	quick := lab.SoakFor() == 0 && *roundFlag < 0
	for _, t := range targets {
		args := []string{"build", "-buildvcs=false"}
		if strings.HasSuffix(t.name, ".test") {
			args = []string{"test", "-c"}
		}
		switch {
		case t.needs == "":
		case quick, args[0] == "test" && *attackFlag != "" && *attackFlag != "hosts",
			exec.Command("pkg-config", "--exists", t.needs).Run() != nil:
			continue
		}
		args = append(args, "-tags", t.tags, "-o", filepath.Join(dir, t.name), "./"+t.folder)
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join("..", "..", "..")
		if t.needs != "" {
			cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		}
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, said)
		}
	}
	return nil
}

func programDir() string { return os.Getenv(programsVariable) }

// programs are those that were built.
func programs() map[string]string {
	all, _ := filepath.Glob(filepath.Join(programDir(), "*"))
	found := map[string]string{}
	for _, path := range all {
		found[filepath.Base(path)] = path
	}
	return found
}
