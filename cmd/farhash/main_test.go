package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/statespace/check"
	"github.com/farhash/farhash/statespace/petri"
)

// commandVariable makes the test binary be the command. It names a file in which each
// rank of a job notes its job, number and process id.
const commandVariable = "FARHASH_TEST_RANKS"

func TestMain(m *testing.M) {
	if path := os.Getenv(commandVariable); path != "" {
		if err := noteRank(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(99)
		}
		if path := os.Getenv(peakVariable); path != "" {
			os.Exit(runForPeak(path))
		}
		if len(os.Args) > 1 && strings.HasSuffix(os.Args[1], turns.Name) {
			unfair := turns
			unfair.Name, unfair.Fair = "unfair-"+turns.Name, nil
			check.Main(turns, unfair) // does not return
		}
		main() // does not return
	}
	if os.Getenv("GORACE") == "" {
		// The race detector lets each process sleep for a second at its end.
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	os.Exit(m.Run())
}

// turns has three counters that run in circles, each by an action that is to be fair.
var turns = check.Model[[3]uint8]{Name: "turns", Init: [][3]uint8{{}}, Deadlocks: true,
	Fair: []string{"0 steps", "1 steps", "2 steps"},
	Next: func(s [3]uint8, emit func(string, [3]uint8)) {
		for i, action := range []string{"0 steps", "1 steps", "2 steps"} {
			next := s
			next[i] = (s[i] + 1) % turnLength
			emit(action, next)
		}
	},
	Properties: []check.Property[[3]uint8]{check.AlwaysEventually("comes round",
		func(s [3]uint8) bool { return s[0] == turnLength/2 })}}

const turnLength = 20

func noteRank(path string) error {
	if os.Getenv("FARHASH_JOB") == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, os.Getenv("FARHASH_JOB"), os.Getenv("FARHASH_RANK"), os.Getpid())
	return err
}

// command is a run of the command.
type command struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr bytes.Buffer
	ranks          string // the file of commandVariable
	copied         chan struct{}
}

// newCommand is the command with arguments, not yet started.
func newCommand(t *testing.T, args ...string) *command {
	t.Helper()
	c := &command{Cmd: exec.Command(os.Args[0], args...), t: t,
		ranks: filepath.Join(t.TempDir(), "ranks")}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "FARHASH_") {
			c.Env = append(c.Env, variable)
		}
	}
	c.Env = append(c.Env, commandVariable+"="+c.ranks)
	c.Stdout, c.Stderr = &c.stdout, &c.stderr
	return c
}

// execute runs the command to its end.
func execute(t *testing.T, args ...string) *command {
	t.Helper()
	c := newCommand(t, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.finish()
	return c
}

// startSearch starts the command and waits until its search has a plan.
func startSearch(t *testing.T, args ...string) *command {
	t.Helper()
	return startUntil(t, "plan: ", args...)
}

// startUntil starts the command and waits for a line on stderr that begins so. A program that was
// started to ignore interrupts has its own ignore them too.
func startUntil(t *testing.T, begins string, args ...string) *command {
	t.Helper()
	if signal.Ignored(syscall.SIGINT) {
		t.Skip("the tests were started to ignore interrupts, as by & in a script")
	}
	c := newCommand(t, args...)
	c.Stderr = nil
	pipe, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	text := bufio.NewReader(pipe)
	for line := ""; !strings.HasPrefix(line, begins); {
		if line, err = text.ReadString('\n'); err != nil {
			_ = c.Wait()
			t.Fatalf("%q: no %q: %v: %s%s", args, begins, err, &c.stderr, line)
		}
		c.stderr.WriteString(line)
	}
	c.copied = make(chan struct{})
	go func() {
		defer close(c.copied)
		_, _ = io.Copy(&c.stderr, text)
	}()
	return c
}

// finish waits for the end. Nothing of a job may be left then.
func (c *command) finish() {
	c.t.Helper()
	if c.copied != nil {
		<-c.copied
	}
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	for _, r := range c.jobRanks() {
		if left, _ := filepath.Glob("/dev/shm/*" + r.job + "*"); len(left) > 0 {
			c.t.Errorf("%q left %q behind", c.Args, left)
		}
	}
}

// rank is a process that has been a rank of a job.
type rank struct {
	job         string
	number, pid int
}

// jobRanks are the ranks that the command has started so far.
func (c *command) jobRanks() []rank {
	c.t.Helper()
	text, err := os.ReadFile(c.ranks)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	var all []rank
	for line := range strings.Lines(string(text)) {
		var r rank
		if _, err := fmt.Sscan(line, &r.job, &r.number, &r.pid); err != nil {
			c.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// code is the exit code, as a shell sees it.
func (c *command) code() int { return c.ProcessState.ExitCode() }

// mustFail checks exit code and message of a command that fails.
func mustFail(t *testing.T, code int, message string, args ...string) {
	t.Helper()
	c := execute(t, args...)
	if c.code() != code || !strings.Contains(c.stderr.String(), message) ||
		c.stdout.Len() > 0 || strings.Contains(c.stderr.String(), "panic") {
		t.Errorf("%q: exit code %d, want %d with %q on stderr\nstdout: %s\nstderr: %s", args,
			c.code(), code, message, &c.stdout, &c.stderr)
	}
}

// writeFile makes a file in a folder of this test.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeTestNet writes a net to a file.
func writeTestNet(t *testing.T, n *petri.Net) string {
	t.Helper()
	var text strings.Builder
	if err := petri.Write(&text, n); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "net.pnml", text.String())
}

// family writes a net of a family by the command petri, and returns its file.
func family(t *testing.T, name, size string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".pnml")
	if c := execute(t, "petri", name, "-n", size, "-o", path); c.code() != 0 {
		t.Fatalf("petri %s: %s", name, &c.stderr)
	}
	return path
}

// launched puts arguments after farhash run with so many ranks.
func launched(t *testing.T, ranks string, args ...string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("ranks that are processes need Linux")
	}
	return append([]string{"run", "-n", ranks, "--", os.Args[0]}, args...)
}
