//go:build linux

package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	maxMessageBytes = 4 << 10 // bytes of an error message
	maxOutputBytes  = 1 << 20 // bytes of output that are kept
)

// command is a run of a program.
type command struct {
	*exec.Cmd
	r        *round
	mark     string // among its variables: identifies its processes
	line     string // as it is shown
	out, err output
	begun    time.Time
	ended    chan struct{}
	sent     []syscall.Signal
	// any lets it end with any exit code: the code of a program which it starts.
	any bool
	// mute drops its messages.
	mute bool
}

// output keeps the beginning of what is written.
type output struct{ text []byte }

func (o *output) Write(p []byte) (int, error) {
	o.text = append(o.text, p[:min(len(p), maxOutputBytes-len(o.text))]...)
	return len(p), nil
}

func (o *output) String() string { return string(o.text) }

// command prepares a run with variables of its own.
func (r *round) command(env []string, line ...string) *command {
	r.started++
	c := &command{Cmd: exec.Command(line[0], line[1:]...), r: r, ended: make(chan struct{}),
		mark: fmt.Sprintf("TORTURE_MARK=%d-%s-%d", os.Getpid(), r.dir, r.started),
		line: printed(env, line)}
	c.any = slices.Contains(line, "run") || strings.HasPrefix(line[0], "mpi")
	c.Dir, c.Stdout, c.Stderr = r.dir, &c.out, &c.err
	c.WaitDelay = r.linger
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Env = append([]string{c.mark, "PATH=" + os.Getenv("PATH"), "HOME=" + r.dir,
		"TMPDIR=" + r.path("tmp"), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
		append(slices.Clone(r.env), env...)...)
	if r.verbose {
		fmt.Println(c.line)
	}
	return c
}

// run runs a command to its end.
func (r *round) run(line ...string) (*command, error) {
	c := r.command(nil, line...)
	return c, c.run(0)
}

// run starts the command, asks it to end after some time if that is not 0, and judges it.
func (c *command) run(patience time.Duration) error {
	if err := c.begin(); err != nil {
		return err
	}
	return c.finish(patience)
}

func (c *command) begin() error {
	c.r.count(1, "commands")
	c.begun = time.Now()
	if err := c.Start(); err != nil {
		return fmt.Errorf("it does not start: %w", err)
	}
	go func() {
		_ = c.Wait()
		close(c.ended)
	}()
	return nil
}

// send sends a signal to a process of the command, or to the first one for 0.
func (c *command) send(pid int, s syscall.Signal) {
	if pid == 0 {
		pid = c.Process.Pid
	}
	c.sent = append(c.sent, s)
	_ = syscall.Kill(pid, s)
}

// within reports whether the command ends in time.
func (c *command) within(d time.Duration) bool {
	select {
	case <-c.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// hangs waits for the command to end, and reports whether it takes longer than the limit.
func (c *command) hangs() bool {
	for begin := time.Now(); !c.within(min(c.r.limit, time.Second)); {
		if time.Since(begin) > stretch(c.r.limit) {
			return true
		}
	}
	return false
}

func (c *command) finish(patience time.Duration) error {
	defer c.clear()
	if patience > 0 && !c.within(patience) {
		c.send(0, syscall.SIGTERM)
	}
	if c.hangs() {
		c.send(0, syscall.SIGQUIT) // for the traceback
		c.within(c.r.linger)
		c.clear()
		return c.wrong("it hangs")
	}
	for begin := time.Now(); len(c.processes()) > 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > stretch(c.r.linger) {
			return c.wrong("it leaves processes behind: %v", c.processes())
		}
	}
	return c.judge()
}

// clear ends what has not ended.
func (c *command) clear() {
	for _, pid := range c.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-c.ended
	if t, took := c.r.tallies[c.r.attack], time.Since(c.begun); took > t.slowest {
		t.slowest, t.slowestRound = took, c.r.number
	}
}

// processes are the processes of the command that have not ended, with one of some variables if any
// are given.
func (c *command) processes(variables ...string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range all {
		text, _ := os.ReadFile(path + "/environ") // empty when it has ended
		env := "\x00" + string(text)
		has := func(name string) bool { return strings.Contains(env, "\x00"+name+"=") }
		pid, err := strconv.Atoi(filepath.Base(path))
		if err == nil && strings.Contains(env, "\x00"+c.mark+"\x00") &&
			(len(variables) == 0 || slices.ContainsFunc(variables, has)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ranks are the processes that a launcher has started as ranks.
func (c *command) ranks() []int {
	return c.processes("FARHASH_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
}

// code is the exit code as a shell has it.
func (c *command) code() int {
	status := c.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// judge says what no command may do.
func (c *command) judge() error {
	for _, sign := range []string{"panic:", "[running]:", "SIGSEGV", "fatal error", "DATA RACE",
		"runtime error", "unexpected fault"} {
		if strings.Contains(c.err.String(), sign) || strings.Contains(c.out.String(), sign) {
			return c.wrong("it says %q", sign)
		}
	}
	known := slices.Contains([]int{0, 1, 2, 3, 4, 5, 130, 143}, c.code()) ||
		slices.Contains(c.sent, syscall.Signal(c.code()-128))
	said := strings.TrimSpace(c.err.String())
	fails := c.code() == 1 || c.code() == 2
	switch {
	case !known && !c.any:
		return c.wrong("it ends with exit code %d", c.code())
	case fails && said == "" && !c.any && !c.mute:
		return c.wrong("it fails without a message")
	case fails && len(said) > maxMessageBytes:
		return c.wrong("its message has %d bytes", len(said))
	}
	return nil
}

// wrong is an error that shows the command.
func (c *command) wrong(format string, args ...any) error {
	return fmt.Errorf("%s: %s\nexit code %d, signals %v\nstdout: %s\nstderr: %s",
		fmt.Sprintf(format, args...), c.line, c.code(), c.sent, clip(&c.out), clip(&c.err))
}

// clip shows the beginning and the end of a text.
func clip(o *output) string {
	const most = 1000
	s := o.String()
	if len(s) > 2*most {
		return s[:most] + "\n...\n" + s[len(s)-most:]
	}
	return s
}

// printed shows a command line.
func printed(env, line []string) string {
	var words []string
	for _, word := range append(slices.Clone(env), line...) {
		if len(word) > 200 {
			word = fmt.Sprintf("%s...(%d bytes)", word[:50], len(word))
		}
		if quoted := strconv.Quote(word); strings.ContainsAny(quoted, " \\$()'") || word == "" {
			word = quoted
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
