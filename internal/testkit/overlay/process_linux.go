package main

import (
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inGroup has a command be a process group of its own, with all processes that it starts.
func inGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the group of a command that has been started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// limitCPU ends each process of a command when it has used so much time of processors; 0: never.
func limitCPU(cmd *exec.Cmd, most time.Duration) {
	if most == 0 {
		return
	}
	seconds := uint64(most/time.Second) + 1
	_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds},
		nil)
}
