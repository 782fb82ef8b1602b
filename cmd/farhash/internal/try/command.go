package try

import (
	"bufio"
	"bytes"
	"encoding/json"
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

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
)

// Variable makes a program of tests be the command. It names a file in which each
// rank of a job notes its job, number and process id.
const Variable = "FARHASH_TEST_RANKS"

// root makes the command that the tests of a package run.
var root func() *cobra.Command

// Main runs the tests of a package. In a process that one of them has started it runs the command
// instead, and before that first, which may end the process.
func Main(m *testing.M, command func() *cobra.Command, first ...func()) {
	root = command
	if path := os.Getenv(Variable); path != "" {
		if err := noteRank(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(99)
		}
		for _, f := range first {
			f()
		}
		os.Exit(cli.Run(command()))
	}
	if os.Getenv("GORACE") == "" {
		// The race detector lets each process sleep for a second at its end.
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	os.Exit(m.Run())
}

// noteRank notes a rank of a job in the file that Variable names.
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

// Command is a run of the command.
type Command struct {
	*exec.Cmd
	t           *testing.T
	Out, Errors bytes.Buffer
	ranks       string // the file of Variable
	copied      chan struct{}
}

// New is the command with arguments, not yet started.
func New(t *testing.T, args ...string) *Command {
	t.Helper()
	c := &Command{Cmd: exec.Command(os.Args[0], args...), t: t,
		ranks: filepath.Join(t.TempDir(), "ranks")}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "FARHASH_") {
			c.Env = append(c.Env, variable)
		}
	}
	c.Env = append(c.Env, Variable+"="+c.ranks)
	c.Stdout, c.Stderr = &c.Out, &c.Errors
	return c
}

// Run runs the command to its end.
func Run(t *testing.T, args ...string) *Command {
	t.Helper()
	c := New(t, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.Finish()
	return c
}

// StartUntil starts the command and waits for a line on stderr that begins so. A program that was
// started to ignore interrupts has its own ignore them too.
func StartUntil(t *testing.T, begins string, args ...string) *Command {
	t.Helper()
	if signal.Ignored(syscall.SIGINT) {
		t.Skip("the tests were started to ignore interrupts, as by & in a script")
	}
	c := New(t, args...)
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
			t.Fatalf("%q: no %q: %v: %s%s", args, begins, err, &c.Errors, line)
		}
		c.Errors.WriteString(line)
	}
	c.copied = make(chan struct{})
	go func() {
		defer close(c.copied)
		_, _ = io.Copy(&c.Errors, text)
	}()
	return c
}

// Finish waits for the end. Nothing of a job may be left then.
func (c *Command) Finish() {
	c.t.Helper()
	if c.copied != nil {
		<-c.copied
	}
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	for _, r := range c.Ranks() {
		if left, _ := filepath.Glob("/dev/shm/*" + r.Job + "*"); len(left) > 0 {
			c.t.Errorf("%q left %q behind", c.Args, left)
		}
	}
}

// Rank is a process that has been a rank of a job.
type Rank struct {
	Job         string
	Number, PID int
}

// Ranks are the ranks that the command has started so far.
func (c *Command) Ranks() []Rank {
	c.t.Helper()
	text, err := os.ReadFile(c.ranks)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	var all []Rank
	for line := range strings.Lines(string(text)) {
		var r Rank
		if _, err := fmt.Sscan(line, &r.Job, &r.Number, &r.PID); err != nil {
			c.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// Code is the exit code, as a shell sees it.
func (c *Command) Code() int { return c.ProcessState.ExitCode() }

// Fails checks exit code and message of a command that fails.
func Fails(t *testing.T, code int, message string, args ...string) {
	t.Helper()
	c := Run(t, args...)
	if c.Code() != code || !strings.Contains(c.Errors.String(), message) ||
		c.Out.Len() > 0 || strings.Contains(c.Errors.String(), "panic") {
		t.Errorf("%q: exit code %d, want %d with %q on stderr\nstdout: %s\nstderr: %s", args,
			c.Code(), code, message, &c.Out, &c.Errors)
	}
}

// Object is the JSON object that a command printed, the only thing on stdout.
func Object(t *testing.T, c *Command) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(c.Out.Bytes(), &o); err != nil {
		t.Fatalf("%q: %v\nstdout: %s\nstderr: %s", c.Args, err, &c.Out, &c.Errors)
	}
	return o
}

// Launched puts arguments after farhash run with so many ranks.
func Launched(t *testing.T, ranks string, args ...string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("ranks that are processes need Linux")
	}
	return append([]string{"run", "-n", ranks, "--", os.Args[0]}, args...)
}
