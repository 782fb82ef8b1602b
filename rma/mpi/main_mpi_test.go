//go:build mpi && cgo

package mpi

// The tests start themselves under the launcher of the MPI that they are linked with.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
)

// Limits by the time of patience. No test that passes comes near them.
const (
	hangGuard     = time.Minute               // ends what a rank does that would never end
	jobLimit      = 2 * time.Minute           // ends a rank that would never end
	launcherLimit = jobLimit + 10*time.Second // ends a job of MPI, with all of its processes
)

// never is the timeout of ranks whose wait a context ends.
const never = time.Hour

// roleVariable makes the test binary a rank that plays a role instead of testing.
const roleVariable = "MPI_TEST_ROLE"

func TestMain(m *testing.M) {
	role, argument, _ := strings.Cut(os.Getenv(roleVariable), ":")
	if role == "" {
		if os.Getenv("GORACE") == "" {
			// The race detector lets each process sleep for a second at its end.
			os.Setenv("GORACE", "atexit_sleep_ms=0")
		}
		os.Exit(m.Run())
	}
	patience.AfterFunc(jobLimit, func() { panic("this rank does not end") })
	if err := roles[role](argument); err != nil {
		fmt.Fprintln(os.Stderr, "role", role, "failed:", err)
		os.Exit(1)
	}
	if mpiState.hangs {
		fmt.Fprintln(os.Stderr, "MPI_Finalize did not return")
		os.Exit(1)
	}
}

// launcher is how ranks of MPI are started.
type launcher struct {
	before []string // how its host is entered
	path   string
	args   []string
	env    []string
}

// launchers are the launchers of the MPIs, by the kind of library.
var launchers = map[string]struct {
	programs []string
	version  string
	args     []string
	env      []string
}{
	openMPI: {[]string{"mpirun.openmpi", "mpirun"}, "OpenRTE",
		[]string{"--oversubscribe", "--bind-to", "none"},
		[]string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}},
	mpich: {[]string{"mpiexec.hydra", "mpiexec"}, "HYDRA", nil, nil},
}

// find finds the launcher of a kind of library or skips the test.
func find(t testing.TB, kind string) launcher {
	t.Helper()
	l := launchers[kind]
	for _, name := range l.programs {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.Command(path, "--version")
		cmd.Env = append(os.Environ(), l.env...)
		if said, err := cmd.CombinedOutput(); err == nil &&
			strings.Contains(string(said), l.version) {
			return launcher{nil, path, l.args, l.env}
		}
	}
	t.Skipf("%s has no launcher here: none of %v", kind, l.programs)
	return launcher{}
}

// command is ranks of this program that play a role.
func (l launcher) command(t testing.TB, ranks int, role string, env ...string) *exec.Cmd {
	t.Helper()
	line := append(append([]string{}, l.before...), l.path, "-n", strconv.Itoa(ranks))
	line = append(append(line, l.args...), os.Args[0])
	ctx, cancel := patience.WithTimeout(context.Background(), launcherLimit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The launcher ends its ranks when it is asked to; what is left then is killed.
	cmd.Cancel = func() error { return killGroup(cmd, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "FARHASH_") && !strings.HasPrefix(name, "OMPI_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(append(cmd.Env, l.env...), env...), roleVariable+"="+role,
		patience.Environ(),
		"TMPDIR="+t.TempDir()) // jobs of Open MPI that share it trip over each other
	return cmd
}

// killGroup sends a signal to a launcher and what it has started here.
func killGroup(cmd *exec.Cmd, signal syscall.Signal) error {
	if cmd.Process == nil || cmd.Process.Pid <= 1 { // it never began; 1 would be everybody
		return nil
	}
	return syscall.Kill(-cmd.Process.Pid, signal)
}

// play has ranks play a role to the end and returns what they print.
func (l launcher) play(t testing.TB, ranks int, role string, env ...string) (string, error) {
	t.Helper()
	cmd := l.command(t, ranks, role, env...)
	out, err := cmd.CombinedOutput()
	_ = killGroup(cmd, syscall.SIGKILL)
	return string(out), err
}

// theatre is ranks of MPI that the test moves.
type theatre struct {
	t       *testing.T
	drivers []*driver
}

// openTheatre starts puppets, which end with the test.
func openTheatre(t *testing.T, ranks int, env ...string) *theatre {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := find(t, ask().kind).command(t, ranks, "puppet:"+socket, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		_ = killGroup(cmd, syscall.SIGKILL)
		listener.Close() // no rank that is waited for can come any more
	}()
	th := &theatre{t, make([]*driver, ranks)}
	t.Cleanup(func() {
		for _, d := range th.drivers {
			if d != nil {
				_ = d.client.Close()
			}
		}
		if err := <-ended; err != nil || t.Failed() {
			t.Errorf("the ranks ended: %v; they said:\n%s", err, &out)
		}
	})
	for range ranks {
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal("a rank did not come: ", err)
		}
		var rank [8]byte
		if _, err := io.ReadFull(conn, rank[:]); err != nil {
			t.Fatal(err)
		}
		n, _ := strconv.Atoi(strings.TrimSpace(string(rank[:])))
		th.drivers[n] = &driver{rpc.NewClient(conn), new(atomic.Int64)}
	}
	return th
}

// run is a rmatest.Starter. A rank alone hides its windows, or MPI had no part in it.
func (th *theatre) run(ranks int, hidden, carried bool, hosts int,
	fn func(job rma.Job) error) error {
	return rmatest.Together(ranks, func(rank int) error {
		d := th.drivers[rank]
		reply, err := d.tell(Request{What: "join", Numbers: []int{ranks, int(flag(carried))},
			Flag: hidden || ranks == 1, Text: fmt.Sprint("host ", rank%hosts)})
		if err != nil {
			return err
		}
		job := &remoteJob{d, reply.Object, rank, ranks}
		err = errors.Join(fn(job), job.Close())
		_, err2 := d.tell(Request{What: "free closed"})
		return errors.Join(err, err2)
	})
}

func TestConformance(t *testing.T) {
	th := openTheatre(t, 4)
	for _, mode := range []struct {
		name   string
		hidden bool
		hosts  int

		carried bool
	}{
		{"two hosts", false, 2, false}, {"MPI only", true, 1, false},
		{"two hosts by messages", false, 2, true},
	} {
		t.Run(mode.name, func(t *testing.T) {
			rmatest.Test(t, func(ranks int, fn func(job rma.Job) error) error {
				return th.run(ranks, mode.hidden, mode.carried, mode.hosts, fn)
			})
		})
	}
}
