//go:build clib

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The examples run as their comments say.
func TestExamples(t *testing.T) {
	without.install(t)
	threads := without.compile(t, "../examples/c/threads.c")
	if out := run(t, nil, threads); strings.Count(out, "of 500002 numbers") != 4 {
		t.Errorf("threads says %q", out)
	}
	mpis(t, func(t *testing.T, k kind) {
		if out := k.ranks(t, 2, k.env, threads); strings.Count(out, "of 500002 numbers") != 2 {
			t.Errorf("threads says %q", out)
		}
		const want = "100000 results, computed 2"
		if out := k.ranks(t, 2, nil, k.compile(t, "../examples/c/cache.c")); !strings.HasPrefix(
			out, want) {
			t.Errorf("the example in C says %q", out)
		}
		fortran := "mpifort." + k.name
		need(t, fortran)
		dir := t.TempDir()
		program := filepath.Join(dir, "cache")
		run(t, nil, fortran, "-Wall", "-J"+dir, "-o", program, prefix+"/include/farhash.f90",
			"../examples/fortran/cache.f90", "-L"+prefix+"/lib", "-l"+k.library,
			"-Wl,-rpath,"+prefix+"/lib")
		if out := k.ranks(t, 2, nil, program); !strings.HasPrefix(out, want) {
			t.Errorf("the example in Fortran says %q", out)
		}
	})
}

const project = `cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(farhash 0.1 REQUIRED)
add_executable(basic SOURCE)
target_link_libraries(basic farhash::farhash m pthread)
`

// Projects find the library by CMake and by pkg-config.
func TestFound(t *testing.T) {
	without.install(t)
	source, err := filepath.Abs("testdata/basic.c")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("cmake", func(t *testing.T) {
		need(t, "cmake")
		dir := t.TempDir()
		text := strings.ReplaceAll(project, "SOURCE", source)
		err := os.WriteFile(filepath.Join(dir, "CMakeLists.txt"), []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		run(t, nil, "cmake", "-S", dir, "-B", dir+"/b", "-DCMAKE_PREFIX_PATH="+prefix)
		run(t, nil, "cmake", "--build", dir+"/b")
		well(t, run(t, nil, dir+"/b/basic", dir))
	})
	t.Run("pkg-config", func(t *testing.T) {
		need(t, "pkg-config")
		flags := run(t, []string{"PKG_CONFIG_PATH=" + prefix + "/lib/pkgconfig"}, "pkg-config",
			"--cflags", "--libs", "farhash")
		program := filepath.Join(t.TempDir(), "small")
		args := append([]string{"testdata/small.c", "-o", program}, strings.Fields(flags)...)
		run(t, nil, "gcc", args...)
		well(t, run(t, []string{"LD_LIBRARY_PATH=" + prefix + "/lib"}, program, t.TempDir()))
	})
}

// The manual pages have no errors of format.
func TestManual(t *testing.T) {
	need(t, "mandoc")
	pages, err := filepath.Glob("man/*.3")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	run(t, nil, "mandoc", append([]string{"-T", "lint", "-W", "error"}, pages...)...)
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
