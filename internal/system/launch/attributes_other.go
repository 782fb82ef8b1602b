//go:build unix && !linux

package launch

import "syscall"

// Attributes put a process in a group of its own, which keeps signals of the terminal from it.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
