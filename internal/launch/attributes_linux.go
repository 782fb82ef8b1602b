package launch

import "syscall"

// rankAttributes put a rank in a process group of its own and have the kernel
// kill it when the thread that started it ends.
func rankAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
