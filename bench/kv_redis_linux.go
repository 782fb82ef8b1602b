package bench

import "syscall"

// serverAttributes keep signals of the terminal from a server, and have the kernel kill it
// when the thread that started it ends.
func serverAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
