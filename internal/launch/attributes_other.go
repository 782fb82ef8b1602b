//go:build !linux

package launch

import "syscall"

// rankAttributes put a rank in a process group of its own.
func rankAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
