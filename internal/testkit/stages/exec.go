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
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
)

// toEnd is how long a test that is over its limit has for its stacks.
const toEnd = 10 * time.Second

// execTest runs a test binary for go test, whose -exec names this program. It returns the exit
// code.
func execTest(args []string) int {
	runtime.LockOSThread() // the test dies with this thread
	args, limit := withoutTimeout(args)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = os.Stdin
	cmd.WaitDelay = 5 * time.Second // a process that the test has left may hold the output
	endWithThread(cmd)
	reader, writer := io.Pipe()
	var output bytes.Buffer
	cmd.Stdout = io.MultiWriter(os.Stdout, writer, &output)
	cmd.Stderr = cmd.Stdout
	o := outcome{Args: args[1:]}
	read := make(chan struct{})
	go func() {
		defer close(read)
		o.read(reader)
	}()
	begin := time.Now()
	err := runTest(cmd, limit, &o)
	writer.Close()
	<-read
	o.WallS = time.Since(begin).Seconds()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "stages:", err)
		return 1
	}
	o.CPUS = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	o.ExitCode = cmd.ProcessState.ExitCode()
	if err != nil && o.ExitCode == 0 {
		o.ExitCode = 1 // its output was held open
	}
	if o.ExitCode < 0 { // by a signal
		o.ExitCode = 1
	}
	o.Output = output.String()
	if err := o.keep(args[0]); err != nil {
		fmt.Fprintln(os.Stderr, "stages:", err)
		return 1
	}
	if o.Again {
		return 0 // the stage decides after a second try
	}
	return o.ExitCode
}

// runTest runs the test binary until it ends or its limit is over. Signals reach it as well.
func runTest(cmd *exec.Cmd, limit time.Duration, o *outcome) error {
	passing, err := startPassing(cmd, func(s syscall.Signal) { _ = cmd.Process.Signal(s) })
	if err != nil {
		return err
	}
	defer passing()
	if limit > 0 {
		var hung atomic.Bool
		stop := patience.AfterFunc(limit, func() {
			hung.Store(true)
			fmt.Printf("stages: this test has not ended after %v; its stacks follow\n", limit)
			_ = cmd.Process.Signal(syscall.SIGQUIT)
			time.AfterFunc(toEnd, func() { _ = cmd.Process.Kill() })
		})
		defer stop()
		defer func() { o.Hung = hung.Load() }()
	}
	return cmd.Wait()
}

// startPassing starts a command, and has fn called with each signal that would end this process,
// until stopped. A signal that a terminal sends reaches the children by itself and a second time by
// fn, which does no harm. As these signals are caught when the command starts, it ignores none of
// them, even if this process was started to do so, as by nohup.
func startPassing(cmd *exec.Cmd, fn func(syscall.Signal)) (stop func(), err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		for s := range signals {
			fn(s.(syscall.Signal))
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}, nil
}

// withoutTimeout takes go test's limit out of the arguments. Stages keeps that limit itself, by a
// clock that follows the load.
func withoutTimeout(args []string) (without []string, limit time.Duration) {
	const name = "-test.timeout="
	for _, arg := range args {
		if text, is := strings.CutPrefix(arg, name); is {
			limit, _ = time.ParseDuration(text)
			arg = name + "0"
		}
		without = append(without, arg)
	}
	return without, limit
}

var (
	failLine  = regexp.MustCompile(`^--- FAIL: (\S+) \(`)
	stackLine = regexp.MustCompile(`^[\w./%-]+\.(Test\w+)\(`) // also TestMain, which is none
)

// read finds the tests that failed in the output of a test binary. Of one that crashes or hangs
// these are the tests in its stacks.
func (o *outcome) read(output io.Reader) {
	add := func(match [][]byte) {
		name := string(match[1])
		if name != "TestMain" && !slices.Contains(o.Failed, name) {
			o.Failed = append(o.Failed, name)
		}
	}
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadSlice('\n')
		if match := failLine.FindSubmatch(line); match != nil {
			add(match)
		} else if match := stackLine.FindSubmatch(line); match != nil {
			add(match)
		}
		o.Race = o.Race || bytes.Contains(line, []byte("WARNING: DATA RACE"))
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// keep leaves the outcome in the folder of the stage, and the binary if it failed.
func (o *outcome) keep(binary string) (err error) {
	folder := os.Getenv(variableName)
	if folder == "" {
		return nil
	}
	if o.Dir, err = os.Getwd(); err != nil {
		return err
	}
	if o.ExitCode == 0 {
		o.Output = ""
	} else {
		o.Env = os.Environ()
		o.Again = len(o.Failed) > 0 && !o.Race && startProcesses.MatchString(o.Dir)
		copied, err := os.MkdirTemp(folder, "failed")
		if err != nil {
			return err
		}
		o.Binary = filepath.Join(copied, filepath.Base(binary))
		if err := copyBinary(o.Binary, binary); err != nil {
			return err
		}
	}
	return o.write(folder)
}

func copyBinary(to, from string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o700)
}
