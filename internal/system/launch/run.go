package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// DefaultGrace is the Grace of Options that give none.
const DefaultGrace = 10 * time.Second

// Exit codes for programs that could not be started, as of shells.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // plus the number of the signal
)

// ExitRankLost is the exit code by which a rank says that it ended because another one was lost.
const ExitRankLost = 4

// Options say what Run starts.
type Options struct {
	Ranks int // on this host, at least 1
	// First, Size and Job are for a job of several hosts: the number of this host's first rank,
	// the ranks of all hosts, and the key of the job, the same on all of them. Size 0 is a job
	// of this host alone.
	First, Size int
	Job         string
	Program     string // a path, or a name to look up in PATH
	Args        []string
	// Prefix puts "[rank] " before each line of output.
	Prefix bool
	// Env are variables of the form name=value added to the variables of this process.
	Env []string
	// Stdout and Stderr receive the output of the ranks, whole lines at a time;
	// nil discards it. Without Prefix rank 0 writes to a Stdout that is an
	// *os.File itself, so that it can recognize a terminal.
	Stdout, Stderr io.Writer
	// Stdin is what rank 0 reads. A file that is no terminal is handed to rank 0;
	// anything else is read ahead of it, and a read may be left pending when Run
	// returns.
	Stdin io.Reader
	// Grace is the time that the ranks have to finish by themselves when one has
	// failed, and to finish after SIGTERM. 0 is DefaultGrace; less is no time.
	Grace time.Duration
	// Survive leaves the other ranks alone when a signal has killed one: the job continues without
	// it, and the exit code is the others'. Where all were killed it is the last one's.
	Survive bool
	// Cleanup is called with the key of the job when all ranks are gone.
	Cleanup func(job string)
}

// Run starts the ranks of a job on this host, passes on their output and the
// signals of this process, and waits for them. The exit code is 0 when all
// ranks exited with 0, otherwise the code of the rank that failed first: 128 plus
// the signal for one that a signal killed, but ExitRankLost where another one
// says by it that it could not continue without.
//
// An error says that the ranks could not be started (the exit code is then 126
// or 127, or 1) or that ctx was done before they were, which stops them with
// SIGTERM and after Grace with SIGKILL. With a ctx that ends upon SIGINT the ranks
// have no time to act upon the SIGINT that they get themselves.
//
// A process must have only one Run at a time, as a signal goes to the ranks of all.
func Run(ctx context.Context, opts Options) (exitCode int, err error) {
	if opts.Ranks < 1 {
		return 1, fmt.Errorf("run: %d ranks asked for; at least 1 is needed", opts.Ranks)
	}
	if !groups {
		return 1, fmt.Errorf("run: ranks cannot be processes on %s; "+
			"use ranks within one process (-n of the command)", runtime.GOOS)
	}
	if opts.Size == 0 {
		opts.First, opts.Size, opts.Job = 0, opts.Ranks, newJob()
	}
	if opts.First < 0 || opts.First > opts.Size-opts.Ranks {
		return 1, fmt.Errorf("run: ranks %d to %d are not ranks of a job of %d", opts.First,
			opts.First+opts.Ranks-1, opts.Size)
	}
	path, code, err := lookup(opts.Program)
	if err != nil {
		return code, err
	}
	if err := context.Cause(ctx); err != nil {
		return 1, fmt.Errorf("run: %w", err)
	}
	switch {
	case opts.Grace == 0:
		opts.Grace = DefaultGrace
	case opts.Grace < 0:
		opts.Grace = 0
	}

	// The kernel kills the ranks when the thread that started them ends, which
	// must not be before Run does.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	j := newJobRun(opts)
	signals, stopSignals := notifySignals()
	defer stopSignals()
	if opts.Cleanup != nil {
		defer opts.Cleanup(j.key) // while signals are still caught
	}
	for rank := range opts.Ranks {
		if err := j.start(rank, path); err != nil {
			j.abort()
			return startCode(err), fmt.Errorf("run: start rank %d of %d: %w%s",
				opts.First+rank, opts.Size, err, startRemedy(err))
		}
	}
	return j.wait(ctx, signals)
}

// lookup finds the program before any rank is started.
func lookup(program string) (path string, code int, err error) {
	if program == "" {
		return "", exitNotFound, errors.New("run: no program given")
	}
	path, err = exec.LookPath(program)
	switch {
	case err == nil:
		return path, 0, nil
	case errors.Is(err, exec.ErrDot):
		return "", exitNotFound, fmt.Errorf(
			"run: %s is in the current directory, which is not searched; write ./%s",
			program, program)
	case errors.Is(err, fs.ErrPermission):
		return "", exitNotExecutable, fmt.Errorf(
			"run: %s is not executable; chmod +x it or name the program to run", program)
	case strings.Contains(program, "/"):
		if info, statErr := os.Stat(program); statErr == nil && info.IsDir() {
			return "", exitNotExecutable, fmt.Errorf(
				"run: %s is a directory; name the program to run", program)
		}
		return "", exitNotFound, fmt.Errorf("run: %s not found; check the path", program)
	default:
		return "", exitNotFound, fmt.Errorf(
			"run: %s not found in PATH; write ./%s for one in the current directory",
			program, program)
	}
}

func startCode(err error) int {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exitNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return exitNotExecutable
	}
	return 1
}

func startRemedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return "; a script needs a first line such as #!/bin/sh, a binary one of this machine"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return "; start fewer ranks or raise the limits of processes (ulimit -u) and memory"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "; start fewer ranks or raise the limit of open files (ulimit -n)"
	}
	return ""
}

// rankEnv is the environment of a rank. What makes this process a rank of some
// job must not reach the ranks of the new one.
func rankEnv(own, extra []string, rank, size, localSize int, job string) []string {
	env := make([]string, 0, len(own)+len(extra)+4)
	for _, list := range [][]string{own, extra} {
		for _, variable := range list {
			name, _, _ := strings.Cut(variable, "=")
			switch name {
			case envRank, envSize, envLocalSize, envJob:
			default:
				env = append(env, variable)
			}
		}
	}
	return append(env,
		envRank+"="+strconv.Itoa(rank), envSize+"="+strconv.Itoa(size),
		envLocalSize+"="+strconv.Itoa(localSize), envJob+"="+job)
}
