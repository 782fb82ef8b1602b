//go:build !linux

package main

import (
	"os/exec"
	"time"
)

// Elsewhere a test that ends leaves no processes behind, and has a limit of time alone.

func inGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func limitCPU(*exec.Cmd, time.Duration) {}
