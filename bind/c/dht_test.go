//go:build clib

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/twohosts"
)

// Programs for MPI-DHT compile and run under both names of the header.
func TestDropIn(t *testing.T) {
	mpis(t, func(t *testing.T, k kind) {
		program := k.compile(t, "testdata/dht.c", "-lfarhash_dht-"+k.name)
		for _, n := range []int{1, 2, 4} {
			well(t, k.ranks(t, n, nil, program, t.TempDir()))
		}
		program = k.compile(t, "testdata/dht.c", "-DLUCX_MPI_IMPL", "-lfarhash_dht-"+k.name)
		well(t, k.ranks(t, 2, nil, program, t.TempDir()))
		well(t, k.ranks(t, 2, byMPI, program, t.TempDir()))
	})
}

// The environment chooses the mode. Processes that choose different ones do not get a table.
func TestDropInModes(t *testing.T) {
	mpis(t, func(t *testing.T, k kind) {
		program := k.compile(t, "testdata/dht.c", "-lfarhash_dht-"+k.name)
		for _, mode := range []string{"lock-free", "fine", "coarse"} {
			well(t, k.ranks(t, 2, []string{"FARHASH_DHT_MODE=" + mode}, program, t.TempDir()))
			well(t, k.ranks(t, 2, append([]string{"FARHASH_DHT_MODE=" + mode}, byMPI...), program,
				t.TempDir()))
		}
		// Into a file: the launcher of MPICH may lose what a program says that ends at once.
		const chosen = `[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 ] || unset FARHASH_DHT_MODE; ` +
			`exec "$@" >>"$SAID" 2>&1`
		for mode, want := range map[string]string{"fine": "modes differ",
			"FINE": "FARHASH_DHT_MODE is lock-free, fine or coarse"} {
			launch := append(strings.Fields(k.mpirun), "-n", "2", "sh", "-c", chosen, "sh", program,
				t.TempDir())
			cmd := exec.CommandContext(t.Context(), launch[0], launch[1:]...)
			said := filepath.Join(t.TempDir(), "said")
			cmd.Env = append(append(os.Environ(), k.env...), "FARHASH_DHT_MODE="+mode, "SAID="+said)
			err := cmd.Run()
			out, _ := os.ReadFile(said)
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("rank 0 asks for %s alone: %v, %q", mode, err, out)
			}
		}
	})
}

// interfaces are programs for the interfaces of MPI-DHT, by the folder of the header.
var interfaces = []struct{ program, folder string }{
	{"ucx", ""}, {"poet", "/include/farhash/poet"}, {"pht", "/include/farhash/pht"},
}

// all compiles these programs.
func (k kind) all(t *testing.T, test func(t *testing.T, program string)) {
	for _, i := range interfaces {
		t.Run(i.program, func(t *testing.T) {
			flags := []string{"-lfarhash_dht-" + k.name}
			if i.folder != "" {
				flags = append([]string{"-I" + prefix + i.folder}, flags...)
			}
			test(t, k.compile(t, "testdata/"+i.program+".c", flags...))
		})
	}
}

// good claims that a program has said that all is well. Others of its processes print what is
// refused, in any order and between the words and their end of line.
func good(t *testing.T, out string) {
	t.Helper()
	if strings.Count(out, "all is well") != 1 {
		t.Errorf("the program says %q", out)
	}
}

// Programs for each interface, whose master has no part in the table.
func TestInterfaces(t *testing.T) {
	mpis(t, func(t *testing.T, k kind) {
		k.all(t, func(t *testing.T, program string) {
			for _, n := range []int{2, 4} {
				good(t, k.ranks(t, n, nil, program, t.TempDir()))
			}
			good(t, k.ranks(t, 3, byMPI, program, t.TempDir()))
		})
	})
}

// interfaceProject finds the interfaces by CMake.
const interfaceProject = `cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(MPI REQUIRED)
find_package(farhash REQUIRED)
foreach(folder poet pht)
  add_executable(${folder} SOURCES/${folder}.c)
  target_link_libraries(${folder} MPI::MPI_C farhash::dht_${folder})
endforeach()
`

// Projects find the interfaces by CMake and by pkg-config.
func TestInterfacesFound(t *testing.T) {
	need(t, "cmake")
	sources, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	mpis(t, func(t *testing.T, k kind) {
		without.install(t)
		k.install(t)
		compiler, err := exec.LookPath("mpicc." + k.name)
		if err != nil {
			t.Skip(err)
		}
		dir := t.TempDir()
		text := strings.ReplaceAll(interfaceProject, "SOURCES", sources)
		err = os.WriteFile(filepath.Join(dir, "CMakeLists.txt"), []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		run(t, nil, "cmake", "-S", dir, "-B", dir+"/b", "-DCMAKE_PREFIX_PATH="+prefix,
			"-DMPI_C_COMPILER="+compiler)
		run(t, nil, "cmake", "--build", dir+"/b")
		for _, name := range []string{"poet", "pht"} {
			good(t, k.ranks(t, 2, nil, filepath.Join(dir, "b", name), dir))
			run(t, []string{"PKG_CONFIG_PATH=" + prefix + "/lib/pkgconfig"}, "sh", "-c",
				compiler+" testdata/"+name+".c -o "+dir+"/"+name+
					" $(pkg-config --cflags --libs farhash_dht_"+name+"-"+k.name+")")
		}
	})
}

// A table that cannot be made is reported once, in one line, with the cause.
func TestCreationFails(t *testing.T) {
	mpis(t, func(t *testing.T, k kind) {
		program := k.compile(t, "testdata/poet.c", "-I"+prefix+"/include/farhash/poet",
			"-lfarhash_dht-"+k.name)
		out := k.ranks(t, 4, nil, program, t.TempDir())
		for _, said := range []string{"farhash_dht: DHT_create with key_size 8, data_size 8 and " +
			"bucket_count 0: all must be at least 1", "key_size 0, data_size 8 and bucket_count"} {
			if strings.Count(out, said) != 1 {
				t.Errorf("%q is not said once: %s", said, out)
			}
		}
	})
}

// C++ can use the headers, with memory of its own for a table.
func TestInterfacesOfCPlusPlus(t *testing.T) {
	need(t, "g++")
	mpis(t, func(t *testing.T, k kind) {
		k.install(t)
		for _, folder := range []string{"", "/farhash/poet", "/farhash/pht"} {
			header := map[string]string{"": "LUCX/DHT.h", "/farhash/poet": "DHT.h",
				"/farhash/pht": "LUCX/PHT.h"}[folder]
			source := filepath.Join(t.TempDir(), "plus.cc")
			text := fmt.Sprintf("#include <%s>\nint main() { DHT *none = nullptr; return "+
				"DHT_read(new DHT(), none, none) == DHT_SUCCESS; }\n", header)
			if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"-Wall", "-Wextra", "-Werror", "-DOMPI_SKIP_MPICXX",
				"-DMPICH_SKIP_MPICXX", "-I" + prefix + "/include" + folder,
				"-I" + prefix + "/include", source, "-o", source + ".out", "-L" + prefix + "/lib",
				"-lfarhash_dht-" + k.name, "-l" + k.library, "-Wl,-rpath," + prefix + "/lib"}
			flags := run(t, nil, "pkg-config", "--cflags", "--libs", k.module)
			run(t, nil, "g++", append(args, strings.Fields(flags)...)...)
			run(t, k.env, source+".out")
		}
	})
}

// Jobs of some of the processes: in shared memory, and where MPI carries them.
func TestWorkers(t *testing.T) {
	mpis(t, func(t *testing.T, k kind) {
		program := k.compile(t, "testdata/workers.c")
		for _, level := range []string{"0", "3"} {
			well(t, k.ranks(t, 4, nil, program, level))
			well(t, k.ranks(t, 4, byMPI, program, level))
		}
	})
}

// agent is what a launcher uses in place of ssh: it takes options, an address and a command. The
// hosts are entered by two commands.
const agent = `#!/bin/sh
while :; do case $1 in -*) shift ;; *) break ;; esac; done
to=$1
shift
case $to in %s) exec %s -c "$*" ;; *) exec %s -c "$*" ;; esac
`

// quoted is a command for the shell.
func quoted(cmd *exec.Cmd) string {
	var words []string
	for _, arg := range cmd.Args {
		words = append(words, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}

// hosts runs a program with two processes on each of two hosts.
func (k kind) hosts(t *testing.T, pair *twohosts.Pair, program string, args ...string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "agent")
	text := fmt.Sprintf(agent, pair.Address(0), quoted(pair.Command(0, "sh")),
		quoted(pair.Command(1, "sh")))
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	hosts := pair.Address(0) + ":2," + pair.Address(1) + ":2"
	line := []string{"mpirun.mpich", "-launcher", "ssh", "-launcher-exec", script, "-hosts", hosts,
		"-iface", "fh0"}
	if k.name == "openmpi" {
		line = []string{"mpirun.openmpi", "--host", hosts, "--bind-to", "none",
			"--mca", "plm_rsh_agent", script, "--mca", "oob_tcp_if_include", "10.77.0.0/24",
			"--mca", "btl_tcp_if_include", "10.77.0.0/24"}
	}
	line = append(append(line, "-n", "4", program), args...)
	env := append([]string{"UCX_TLS=tcp,self", "OMPI_MCA_osc=sm,pt2pt"}, k.env...)
	line = append([]string{script, pair.Address(0)}, line...)
	return run(t, env, line[0], line[1:]...)
}

// The same on two hosts. MPI_Finalize of MPICH 4.0 does not return there in a program of MPI only.
func TestTwoHosts(t *testing.T) {
	mpis(t, func(t *testing.T, k kind) {
		pair := twohosts.New(t)
		program := k.compile(t, "testdata/workers.c")
		for _, level := range []string{"0", "3"} {
			good(t, k.hosts(t, pair, program, level))
		}
		k.all(t, func(t *testing.T, program string) {
			good(t, k.hosts(t, pair, program, t.TempDir()))
		})
	})
}

// Processes that the launcher of another MPI has started do not find each other: each gets an
// error, not a job of its own.
func TestOtherLauncher(t *testing.T) {
	need(t, "mpirun.mpich")
	program := openmpi.compile(t, "testdata/comm.c")
	out, err := exec.Command("mpirun.mpich", "-n", "2", program, t.TempDir(), "0",
		"late").CombinedOutput()
	const says = "mpich has started 2 ranks, and Open MPI"
	if err == nil ||
		!strings.Contains(string(out), says) || !strings.Contains(string(out), "sees 1") {
		t.Errorf("%v: it says %q, not %q", err, out, says)
	}
}

// A program that was compiled for another MPI than the library's ends with a sentence, before it
// has called MPI.
func TestOtherMPI(t *testing.T) {
	need(t, "mpicc.openmpi")
	need(t, "mpicc.mpich")
	mpich.install(t)
	wrong := openmpi
	wrong.library = mpich.library
	for library, program := range map[string]string{"farhash": "comm.c", "farhash_dht": "dht.c"} {
		var more []string
		if library != "farhash" {
			more = append(more, "-l"+library+"-mpich")
		}
		made := wrong.compile(t, "testdata/"+program, more...)
		cmd := exec.Command(made, t.TempDir(), "0", "late")
		out, err := cmd.CombinedOutput()
		want := "farhash: this program was compiled for openmpi and is linked with lib" + library +
			"-mpich; link lib" + library + "-openmpi, or compile it with mpicc.mpich\n"
		if err == nil || string(out) != want {
			t.Errorf("%v: it says %q, want %q", err, out, want)
		}
	}
}
