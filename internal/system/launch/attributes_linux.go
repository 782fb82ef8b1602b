package launch

import "syscall"

// Attributes put a process in a group of its own, which keeps signals of the terminal from it, and
// have the kernel kill it when the thread that started it ends.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
