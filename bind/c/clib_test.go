//go:build clib

// The tests of libfarhash: it is built and installed as users do, and programs of C and Fortran
// are built with it and run. They take long for tests of Go, hence the tag: make test-clib.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
)

// prefix is where the libraries are installed.
var prefix string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "clib")
	if err != nil {
		panic(err)
	}
	prefix = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// kind is a library with the compiler and the launcher that belong to it.
type kind struct {
	name    string // none, openmpi or mpich
	module  string // of pkg-config
	library string
	mpirun  string
	env     []string
}

var (
	without = kind{name: "none", library: "farhash"}
	openmpi = kind{"openmpi", "ompi-c", "farhash-openmpi", "mpirun.openmpi --oversubscribe " +
		"--bind-to none", []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}}
	mpich = kind{"mpich", "mpich", "farhash-mpich", "mpirun.mpich", nil}

	builds = map[string]func() error{
		"none":    sync.OnceValue(func() error { return build("none") }),
		"openmpi": sync.OnceValue(func() error { return build("openmpi") }),
		"mpich":   sync.OnceValue(func() error { return build("mpich") }),
	}
)

func build(name string) error {
	out, err := exec.Command("../../scripts/install", prefix, name).CombinedOutput()
	if err != nil {
		return fmt.Errorf("install %s: %w: %s", name, err, out)
	}
	return nil
}

// need skips a test without a program.
func need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip("there is no ", p)
		}
	}
}

// install builds and installs the library, or skips the test.
func (k kind) install(t testing.TB) {
	t.Helper()
	need(t, "gcc")
	if k.module != "" {
		need(t, "pkg-config", strings.Fields(k.mpirun)[0])
		if err := exec.Command("pkg-config", "--exists", k.module).Run(); err != nil {
			t.Skip("pkg-config knows no ", k.module)
		}
	}
	if err := builds[k.name](); err != nil {
		t.Fatal(err)
	}
}

// limit is more than any program takes, and less than all tests may, by the time of patience.
const limit = 4 * time.Minute

// run runs a program. One that does not end is killed, and what it was doing is logged.
func run(t testing.TB, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := patience.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = patience.Stretch(limit / 8) // its children may have the pipe
	cmd.Cancel = func() error {
		t.Logf("%v:\n%s", context.Cause(ctx), activity(cmd.Process.Pid))
		return cmd.Process.Kill()
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// activity is what all threads of the machine are doing, and where the threads of a process are
// that runs under valgrind.
func activity(pid int) string {
	threads, _ := exec.Command("ps", "-eLo", "pid,ppid,tid,stat,time,wchan:24,comm").Output()
	ctx, cancel := patience.WithTimeout(context.Background(), limit/12)
	defer cancel()
	stacks, _ := exec.CommandContext(ctx, "vgdb", fmt.Sprint("--pid=", pid),
		"v.info", "scheduler").CombinedOutput()
	return string(threads) + string(stacks)
}

// compile makes a program of a source. Further folders of headers are searched first.
func (k kind) compile(t testing.TB, source string, more ...string) string {
	t.Helper()
	k.install(t)
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	args := []string{"-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"}
	for len(more) > 0 && strings.HasPrefix(more[0], "-I") {
		args, more = append(args, more[0]), more[1:]
	}
	args = append(args, "-I"+prefix+"/include", source, "-o", program, "-L"+prefix+"/lib")
	args = append(args, more...)
	args = append(args, "-l"+k.library) // before MPI, as docs/c.md has it
	if k.module != "" {
		flags := run(t, nil, "pkg-config", "--cflags", "--libs", k.module)
		args = append(args, strings.Fields(flags)...)
	}
	args = append(args, "-lm", "-lpthread", "-Wl,-rpath,"+prefix+"/lib")
	run(t, nil, "gcc", args...)
	return program
}

// ranks runs a program by the launcher.
func (k kind) ranks(t testing.TB, n int, env []string, program string, args ...string) string {
	t.Helper()
	launch := append(strings.Fields(k.mpirun), "-n", fmt.Sprint(n))
	return run(t, append(env, k.env...), launch[0],
		append(append(launch[1:], program), args...)...)
}

// well claims that a program has come to its end.
func well(t testing.TB, out string) {
	t.Helper()
	if !strings.HasSuffix(out, "all is well\n") {
		t.Errorf("the program says %q", out)
	}
}

func TestBasic(t *testing.T) {
	program := without.compile(t, "testdata/basic.c")
	well(t, run(t, nil, program, t.TempDir()))
}

func TestHost(t *testing.T) {
	program := without.compile(t, "testdata/host.c")
	well(t, run(t, nil, program, t.TempDir()))
}

// Tables by name, and what forks keep of them.
func TestNamed(t *testing.T) {
	well(t, run(t, nil, without.compile(t, "testdata/named.c"), t.TempDir()))
}

// Closes beside calls of other threads.
func TestClose(t *testing.T) {
	well(t, run(t, nil, without.compile(t, "testdata/close.c")))
}

// No function takes arguments that make no sense.
func TestArguments(t *testing.T) {
	header, err := os.ReadFile("farhash.h")
	if err != nil {
		t.Fatal(err)
	}
	calls, err := os.ReadFile("testdata/arguments.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range regexp.MustCompile(`(?m)^int (farhash_\w+)\(`).FindAllSubmatch(header, -1) {
		if !bytes.Contains(calls, append(f[1], '(')) {
			t.Errorf("testdata/arguments.c does not call %s", f[1])
		}
	}
	well(t, run(t, nil, without.compile(t, "testdata/arguments.c")))
}

// The fast path of caches does the same as package cache.
func TestFastPath(t *testing.T) {
	well(t, run(t, nil, without.compile(t, "testdata/fast.c")))
	mpis(t, func(t *testing.T, k kind) {
		program := k.compile(t, "testdata/fast.c", "-DBY_MPI")
		for _, level := range []string{"0", "2"} {
			well(t, k.ranks(t, 3, byMPI, program, level))
		}
	})
}

// What makes no sense on one rank is an error of all.
func TestTogether(t *testing.T) {
	well(t, run(t, nil, without.compile(t, "testdata/together.c"), t.TempDir()))
}

// Where memory is short calls fail.
func TestNoMemory(t *testing.T) {
	well(t, run(t, nil, without.compile(t, "testdata/memory.c")))
}

// Fortran can use the functions.
func TestFortran(t *testing.T) {
	need(t, "gfortran")
	without.install(t)
	dir := t.TempDir()
	run(t, nil, "gfortran", "-Wall", "-Wextra", "-Werror", "-J"+dir, "-o", dir+"/tables",
		prefix+"/include/farhash.f90", "testdata/tables.f90", "-L"+prefix+"/lib", "-lfarhash",
		"-Wl,-rpath,"+prefix+"/lib")
	well(t, run(t, nil, dir+"/tables", dir))
}

// C++ can use the headers.
func TestCPlusPlus(t *testing.T) {
	need(t, "g++")
	without.install(t)
	source := filepath.Join(t.TempDir(), "plus.cc")
	text := "#include <farhash.h>\nint main() { return farhash_join(nullptr, nullptr) != " +
		"FARHASH_ERROR_ARGUMENT; }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "g++", "-Wall", "-Wextra", "-Werror", "-I"+prefix+"/include", source, "-o",
		source+".out", "-L"+prefix+"/lib", "-lfarhash", "-Wl,-rpath,"+prefix+"/lib")
	run(t, nil, source+".out")
}

// The C half under the address and undefined behaviour sanitizers.
func TestSanitizers(t *testing.T) {
	program := without.compile(t, "testdata/basic.c", "-fsanitize=address,undefined",
		"-fno-sanitize-recover=all")
	well(t, run(t, []string{"ASAN_OPTIONS=detect_leaks=0"}, program, t.TempDir()))
}

// goParameters are what valgrind calls memory that Go hands to the system: it may be on a
// stack of Go, of which valgrind knows nothing. It takes no pattern for them.
const goParameters = "read(buf) pread64(buf) write(buf) pwrite64(buf) openat(filename) " +
	"fstat(buf) fstatat(buf) fstatat(file_name) newfstatat(buf) newfstatat(file_name) " +
	"statx(buf) statx(file_name) statfs(buf) statfs(path) uname(buf) epoll_ctl(event) " +
	"epoll_pwait(events) pipe2(pipefd) futex(futex) futex(timeout) nanosleep(req) " +
	"clock_gettime(tp) getrandom(buf) sched_getaffinity(mask) sigaltstack(ss) " +
	"sigaltstack(oss) rt_sigprocmask(set) rt_sigprocmask(oset) rt_sigaction(act) " +
	"rt_sigaction(oact) getdents64(dirp) readlinkat(path) readlinkat(buf) " +
	"unlinkat(pathname) mkdirat(pathname) renameat(oldpath) renameat(newpath) " +
	"linkat(oldpath) linkat(newpath) prlimit64(new_limit) prlimit64(old_limit) " +
	"getrlimit(rlim) setrlimit(rlim) timer_create(evp) timer_settime(value)"

// suppressions writes a file that says what of valgrind's complaints is about Go alone.
func suppressions(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/go.supp")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(goParameters) {
		text = fmt.Appendf(text, "{\n %s\n Memcheck:Param\n %s\n obj:*/libfarhash*\n}\n", p, p)
	}
	path := filepath.Join(t.TempDir(), "supp")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Valgrind finds no wrong access and no memory that is lost.
func TestValgrind(t *testing.T) {
	need(t, "valgrind")
	program := without.compile(t, "testdata/small.c")
	// Threads take turns, and none is interrupted: it is about memory here.
	well(t, run(t, []string{"GODEBUG=asyncpreemptoff=1"}, "valgrind", "-q", "--fair-sched=yes",
		"--error-exitcode=9", "--leak-check=full",
		"--show-leak-kinds=definite", "--errors-for-leak-kinds=definite",
		"--undef-value-errors=no", "--suppressions="+suppressions(t), program,
		t.TempDir()))
}

func mpis(t *testing.T, test func(t *testing.T, k kind)) {
	for _, k := range []kind{openmpi, mpich} {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

// Jobs of communicators, at all thread levels, with MPI_Finalize before and after the end.
func TestCommunicators(t *testing.T) {
	mpis(t, func(t *testing.T, k kind) {
		program := k.compile(t, "testdata/comm.c")
		for _, try := range []struct {
			ranks       int
			level, when string
		}{{1, "0", "late"}, {2, "0", "early"}, {4, "3", "late"}} {
			well(t, k.ranks(t, try.ranks, nil, program, t.TempDir(), try.level, try.when))
		}
	})
}

// byMPI has MPI carry jobs of one host as well, as if there were several. The default of Open
// MPI 4 does not work on one host.
var byMPI = []string{"FARHASH_ENGINE=mpi", "OMPI_MCA_osc=sm,pt2pt"}

// The same where MPI carries the job.
func TestCommunicatorsByMPI(t *testing.T) {
	mpis(t, func(t *testing.T, k kind) {
		program := k.compile(t, "testdata/comm.c")
		for _, try := range []struct{ level, when string }{{"3", "early"}, {"3", "late"},
			{"0", "early"}, {"1", "late"}} {
			well(t, k.ranks(t, 2, byMPI, program, t.TempDir(), try.level, try.when))
		}
	})
}
