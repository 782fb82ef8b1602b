//go:build unix

package launch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// groups reports whether processes have groups, which Run ends as a whole.
const groups = true

// signalGroup sends a signal to all processes of a group.
func signalGroup(leader int, s syscall.Signal) {
	_ = syscall.Kill(-leader, s) // an error says that the group has ended
}

// terminalState reports whether a file is a terminal and whether this process
// is in the foreground there.
func terminalState(file *os.File) (terminal, foreground bool) {
	group, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return false, false
	}
	return true, group == unix.Getpgrp()
}
