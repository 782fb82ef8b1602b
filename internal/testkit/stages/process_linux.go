package main

import (
	"os/exec"
	"syscall"
)

// inGroup has a command be a process group of its own, with all processes that it starts.
func inGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to the group of a command that has been started.
func signalGroup(cmd *exec.Cmd, signal syscall.Signal) {
	_ = syscall.Kill(-cmd.Process.Pid, signal)
}

// endWithThread has a command be killed when the thread that starts it ends.
func endWithThread(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
