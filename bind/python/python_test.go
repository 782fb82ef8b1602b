//go:build clib

// Package python has the tests of the package for Python: it is installed with the libraries as
// users do, and its own tests are run with what there is of numpy and mpi4py.
package python

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// prefix is where package and libraries are installed.
var prefix string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "python")
	if err != nil {
		panic(err)
	}
	prefix = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// asRoot lets Open MPI run as root.
var asRoot = []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}

// interpreter is a Python with numpy: the one of PYTHON, else python3 or Debian's own.
var interpreter = sync.OnceValue(func() string {
	for _, program := range []string{os.Getenv("PYTHON"), "python3", "/usr/bin/python3"} {
		if program != "" && exec.Command(program, "-c", "import numpy").Run() == nil {
			return program
		}
	}
	return ""
})

// variants are the libraries that the tests need: without MPI, and for mpi4py's MPI.
func variants() []string {
	cmd := exec.Command(interpreter(), "-c",
		"from mpi4py import MPI; print(MPI.Get_library_version())")
	cmd.Env = append(os.Environ(), asRoot...)
	out, _ := cmd.Output() // without mpi4py, none
	for text, mpi := range map[string][2]string{"Open MPI": {"openmpi", "ompi-c"},
		"MPICH": {"mpich", "mpich"}} {
		if strings.HasPrefix(string(out), text) &&
			exec.Command("pkg-config", "--exists", mpi[1]).Run() == nil {
			return []string{"none", mpi[0]}
		}
	}
	return []string{"none"}
}

var installed = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("../../scripts/install", append([]string{prefix}, variants()...)...)
	cmd.Env = append(os.Environ(), "PYTHON="+interpreter())
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("install: %w: %s", err, out)
	}
	found, err := filepath.Glob(prefix + "/lib/python3*/*-packages")
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("the package is not where it should be: %v, error %v", found, err)
	}
	return found[0], nil
})

// command is one that runs the installed package, or the test is skipped.
func command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	if interpreter() == "" {
		t.Skip("there is no Python with numpy (python3-numpy)")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc")
	}
	folder, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(interpreter(), args...)
	cmd.Dir = prefix // not here, where the package is that has not been installed
	cmd.Env = append(os.Environ(), "PYTHONPATH="+folder, "PYTHONDONTWRITEBYTECODE=1",
		"FARHASH_LIBRARY="+prefix+"/lib")
	return cmd
}

var (
	ran     = regexp.MustCompile(`(?m)^Ran [1-9]\d* tests? in`)
	skipped = regexp.MustCompile(`(?m)^.* \.\.\. skipped .*$`)
)

// Each file of tests/ passes.
func TestPython(t *testing.T) {
	files, err := filepath.Glob("tests/test_*.py")
	if err != nil || len(files) < 5 {
		t.Fatal("the tests have gone", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			cmd := command(t, "-W", "error", "-m", "unittest", "-v", filepath.Base(file))
			cmd.Dir = "tests"
			out, err := cmd.CombinedOutput()
			if err != nil || !ran.Match(out) {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, line := range skipped.FindAll(out, -1) {
				t.Logf("%s", line)
			}
		})
	}
}

// The package finds the library that was installed with it.
func TestInstalled(t *testing.T) {
	cmd := command(t, "-c", "import farhash; print(farhash.Job.join())")
	cmd.Env = append(cmd.Env, "FARHASH_LIBRARY=")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "<farhash.Job, rank 0 of 1>\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
