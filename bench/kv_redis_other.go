//go:build !linux

package bench

import "syscall"

// serverAttributes keep signals of the terminal from a server.
func serverAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
