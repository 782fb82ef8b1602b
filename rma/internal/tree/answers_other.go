//go:build !linux

package tree

import (
	"net"
	"time"
)

// prepareKernel has the kernel ask an idle host, and end the connection when no answer comes. It
// counts in seconds.
func prepareKernel(c net.Conn, silence time.Duration) {
	if tcp, ok := c.(*net.TCPConn); ok {
		every := max(silence/4, time.Second)
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: every, Interval: every,
			Count: 3})
	}
}

// askKernel finds nothing out: the kernel ends a connection by itself.
func askKernel(net.Conn) (answers, bool) { return answers{}, false }
