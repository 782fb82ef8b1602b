//go:build unix

package regular

import "syscall"

const (
	noFollow = syscall.O_NOFOLLOW
	noWait   = syscall.O_NONBLOCK // a pipe is then opened at once, and refused
)
