package tree

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// prepareKernel has nothing to do: the watcher asks by frames that mean nothing. The kernel's own
// questions (SO_KEEPALIVE) are a second apart at least and never repeated sooner, so that on a
// network that loses packets a limit of some seconds would often end a connection to a host that
// lives. TCP_USER_TIMEOUT would end one to a process that is stopped and whose buffers are full,
// whether its kernel answers or not.
func prepareKernel(net.Conn, time.Duration) {}

// askKernel finds out how the kernel at the other end of a connection has answered.
func askKernel(c net.Conn) (a answers, known bool) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return a, false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return a, false
	}
	_ = raw.Control(func(fd uintptr) {
		unsent, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		if err != nil {
			return
		}
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return
		}
		age := min(info.Last_ack_recv, info.Last_data_recv)
		a = answers{due: unsent > 0, acked: info.Bytes_acked,
			age: time.Duration(age) * time.Millisecond}
		known = true
	})
	return a, known
}
