//go:build clib

package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wheel has pip install the package into a new virtual environment. It returns the interpreter
// there, and what pip has said.
func wheel(t *testing.T, env ...string) (python, said string, err error) {
	t.Helper()
	venv := filepath.Join(t.TempDir(), "venv")
	// With numpy and setuptools of the interpreter: there may be no network.
	out, err := exec.Command(interpreter(), "-m", "venv", "--system-site-packages",
		venv).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	python = filepath.Join(venv, "bin", "python3")
	cmd := exec.Command(python, "-m", "pip", "install", "--no-build-isolation", "--no-deps",
		"--no-index", ".")
	cmd.Env = append(os.Environ(), env...)
	out, err = cmd.CombinedOutput()
	return python, string(out), err
}

// A wheel has the library, and needs no settings.
func TestWheel(t *testing.T) {
	need := "import numpy, venv, ensurepip, setuptools, wheel"
	if interpreter() == "" || exec.Command(interpreter(), "-c", need).Run() != nil {
		t.Skip("there is no Python with numpy, venv, setuptools and wheel (python3-venv, " +
			"python3-setuptools, python3-wheel)")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc")
	}
	t.Cleanup(func() { // what setuptools leaves
		_ = os.RemoveAll("build")
		_ = os.RemoveAll("farhash.egg-info")
	})
	_, said, err := wheel(t, "GO=no-go", "CC=no-cc")
	for _, part := range []string{"https://go.dev/dl", "there is no no-cc, which",
		"there is no no-go, which builds the library"} {
		if err == nil || !strings.Contains(said, part) {
			t.Errorf("without Go and gcc pip does not say %q: %v\n%s", part, err, said)
		}
	}
	python, said, err := wheel(t)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	cmd := exec.Command(python, "-c", "import farhash, farhash.library as l, pathlib\n"+
		"folder = pathlib.Path(farhash.__file__).parent\n"+
		"assert 'Apache' in (folder / 'LICENSE').read_text()\n"+
		"assert 'xxh3' in (folder / 'NOTICES').read_text()\n"+
		"print(farhash.Job.join(), l.load()._name)")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "FARHASH_LIBRARY=", "PYTHONPATH=", "LD_LIBRARY_PATH=")
	out, err := cmd.CombinedOutput()
	folder := filepath.Dir(filepath.Dir(python))
	if err != nil || !strings.HasPrefix(string(out), "<farhash.Job, rank 0 of 1> "+folder) {
		t.Errorf("%v\n%s", err, out)
	}
}
