//go:build clib

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash"
)

// The examples run as their comments say.
func TestExamples(t *testing.T) {
	without.install(t)
	threads := without.compile(t, "../../examples/c/threads.c")
	if out := run(t, nil, threads); strings.Count(out, "of 500002 numbers") != 4 {
		t.Errorf("threads says %q", out)
	}
	mpis(t, func(t *testing.T, k kind) {
		if out := k.ranks(t, 2, k.env, threads); strings.Count(out, "of 500002 numbers") != 2 {
			t.Errorf("threads says %q", out)
		}
		const want = "100000 results, computed 2"
		if out := k.ranks(t, 2, nil, k.compile(t, "../../examples/c/cache.c")); !strings.HasPrefix(
			out, want) {
			t.Errorf("the example in C says %q", out)
		}
		fortran := "mpifort." + k.name
		need(t, fortran)
		dir := t.TempDir()
		program := filepath.Join(dir, "cache")
		run(t, nil, fortran, "-Wall", "-J"+dir, "-o", program, prefix+"/include/farhash.f90",
			"../../examples/fortran/cache.f90", "-L"+prefix+"/lib", "-l"+k.library,
			"-Wl,-rpath,"+prefix+"/lib")
		if out := k.ranks(t, 2, nil, program); !strings.HasPrefix(out, want) {
			t.Errorf("the example in Fortran says %q", out)
		}
	})
}

const project = `cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(farhash 0.1 REQUIRED)
add_executable(small SOURCE)
target_link_libraries(small farhash::farhash m pthread)
`

// byCMake builds a project with the library in a folder, and runs it.
func byCMake(t *testing.T, prefix string) {
	t.Helper()
	source, err := filepath.Abs("testdata/small.c")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := strings.ReplaceAll(project, "SOURCE", source)
	err = os.WriteFile(filepath.Join(dir, "CMakeLists.txt"), []byte(text), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	run(t, nil, "cmake", "-S", dir, "-B", dir+"/b", "-DCMAKE_PREFIX_PATH="+prefix)
	run(t, nil, "cmake", "--build", dir+"/b")
	well(t, run(t, nil, dir+"/b/small", dir))
}

// byPkgConfig builds a program with the library in a folder, in a shell as users do, and runs it.
func byPkgConfig(t *testing.T, prefix string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "small")
	env := []string{"PKG_CONFIG_PATH=" + prefix + "/lib/pkgconfig",
		"LD_LIBRARY_PATH=" + prefix + "/lib"}
	run(t, env, "sh", "-c", "eval gcc testdata/small.c -o "+program+
		" $(pkg-config --cflags --libs farhash)")
	well(t, run(t, env, program, t.TempDir()))
}

// Projects find the library by CMake and by pkg-config.
func TestFound(t *testing.T) {
	without.install(t)
	t.Run("cmake", func(t *testing.T) {
		need(t, "cmake")
		byCMake(t, prefix)
	})
	t.Run("pkg-config", func(t *testing.T) {
		need(t, "pkg-config")
		byPkgConfig(t, prefix)
	})
}

// tree is what is below a folder.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// commandFiles are the files of the command in PREFIX.
var commandFiles = []string{"bin/farhash", "share/man/man1/farhash.1",
	"share/bash-completion/completions/farhash", "share/zsh/site-functions/_farhash",
	"share/fish/vendor_completions.d/farhash.fish", "share/doc/farhash/LICENSE",
	"share/doc/farhash/NOTICES"}

// checkCommand tests the command that is installed in a folder.
func checkCommand(t *testing.T, prefix string) {
	t.Helper()
	for _, name := range commandFiles {
		if info, err := os.Stat(filepath.Join(prefix, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is not installed: %v", name, err)
		}
	}
	out := run(t, nil, filepath.Join(prefix, commandFiles[0]), "--version")
	if !strings.HasPrefix(out, "farhash version "+farhash.Version()+" (") {
		t.Errorf("the installed command prints %q", out)
	}
	if _, err := exec.LookPath("bash"); err == nil {
		run(t, nil, "bash", "-n", filepath.Join(prefix, commandFiles[2]))
	}
}

// Without a C compiler the command is installed, and a message names what is left out.
func TestCommandAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	out := run(t, []string{"CC=no-such-compiler"}, "../../scripts/install", dir)
	if !strings.Contains(out, "libraries are left out") || !strings.Contains(out, "C compiler") ||
		!strings.Contains(out, " (command)\n") {
		t.Errorf("install prints %q", out)
	}
	checkCommand(t, dir)
	if _, err := os.Stat(dir + "/lib"); err == nil {
		t.Error("there are libraries")
	}
	run(t, nil, "../../scripts/install", "-u", dir)
	if left := tree(t, dir); len(left) != 1 {
		t.Errorf("uninstall has left %q", left)
	}
}

// What was installed can be moved and used in its new place. Uninstall removes all of it and
// nothing else, whatever the name of the folder.
func TestMovedAndRemoved(t *testing.T) {
	need(t, "gcc", "make", "pkg-config")
	dir := t.TempDir()
	to, moved := filepath.Join(dir, "dest/usr/a&b|c d"), filepath.Join(dir, "moved")
	foreign := to + "/lib/python3/keep/file"
	for _, folder := range []string{filepath.Dir(foreign), to + "/lib/pkgconfig",
		to + "/share/man"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := tree(t, to)
	python3 := filepath.Join(dir, "python3") // without numpy
	if err := os.WriteFile(python3, []byte("#!/bin/sh\n[ \"$1\" != -c ] && exec python3 \"$@\"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time is an upgrade
		out := run(t, []string{"DESTDIR=" + dir + "/dest", "PYTHON=" + python3},
			"../../scripts/install", "/usr/a&b|c d/", "command", "none")
		if _, err := exec.LookPath("python3"); !strings.Contains(out,
			"(command; libraries without MPI)") || err == nil && !strings.Contains(out, "numpy") {
			t.Errorf("install prints %q", out)
		}
	}
	byPkgConfig(t, to) // it is in DESTDIR, not where it was installed for
	if err := os.Rename(to, moved); err != nil {
		t.Fatal(err)
	}
	byPkgConfig(t, moved)
	checkCommand(t, moved)
	if _, err := exec.LookPath("cmake"); err == nil { // whose makefiles do not know any folder
		byCMake(t, moved)
	}
	python := exec.Command("python3", "-c", "import farhash")
	packages, _ := filepath.Glob(moved + "/lib/python3*/*-packages")
	if len(packages) == 1 {
		python.Env = append(os.Environ(), "PYTHONPATH="+packages[0])
		_ = python.Run() // if it has numpy, it leaves compiled files there
	}
	if made := tree(t, moved); len(made) < len(before)+30 {
		t.Errorf("there is only %q", made)
	}
	run(t, nil, "make", "-s", "-C", "../..", "uninstall", "PREFIX="+moved)
	if after := tree(t, moved); !slices.Equal(after, before) {
		t.Errorf("uninstall has left %q of %q", after, before)
	}
	again := exec.Command("make", "-s", "-C", "../..", "uninstall", "PREFIX="+moved)
	if out, err := again.CombinedOutput(); err == nil || !strings.Contains(string(out), "nothing") {
		t.Errorf("uninstall of nothing: %v %s", err, out)
	}
	said := run(t, nil, "make", "-n", "-C", "../..", "install", "PREFIX=/a'b&c|d")
	if !strings.Contains(said, `scripts/install '/a'\''b&c|d'`) {
		t.Errorf("make install runs %s", said)
	}
}

// The manual pages have no errors of format.
func TestManual(t *testing.T) {
	need(t, "mandoc")
	pages, err := filepath.Glob("man/*.3")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	run(t, nil, "mandoc", append([]string{"-T", "lint", "-W", "warning"}, pages...)...)
}

// Nothing but the interface is visible to programs.
func TestSymbols(t *testing.T) {
	need(t, "nm")
	without.install(t)
	out := run(t, nil, "nm", "-D", "--defined-only", "--format=posix", prefix+"/lib/libfarhash.so")
	for line := range strings.Lines(out) {
		name := strings.Fields(line)[0]
		if !strings.HasPrefix(name, "farhash_") && name != "sigaction" && name != "signal" {
			t.Errorf("%s is visible", name)
		}
	}
}
