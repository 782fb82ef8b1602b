package tree

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// maxHandshakes is the number of handshakes at the same time.
const maxHandshakes = 64

// door is where processes connect to a rank, and the ranks among them are admitted.
type door struct {
	net.Listener
	cfg Config

	mu     sync.Mutex
	failed error // the last one of Accept
}

// host is what a rank does with those who come.
type host interface {
	place(rank int) verdict                  // reserves the place of a rank, or says why it cannot
	vacate(rank int)                         // undoes that
	enter(rank int, c net.Conn, port uint32) // a rank has been admitted
	refuse(c net.Conn, err error)            // a process has not been
}

// openDoor listens. Who comes is admitted once admit is called.
func openDoor(ctx context.Context, cfg Config, address string) (*door, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &door{Listener: l, cfg: cfg}, nil
}

// shut ends that.
func (d *door) shut() {
	if d != nil {
		_ = d.Close()
	}
}

// acceptPause is how long a door waits after the system has refused a connection.
const acceptPause = 10 * time.Millisecond

// admit admits ranks until the door is shut. The system may refuse a connection because too many
// files are open, or because it ended while it waited. The next one may be accepted all the same.
func (d *door) admit(h host) {
	slots := make(chan struct{}, maxHandshakes)
	for {
		c, err := d.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		d.mu.Lock()
		d.failed = err
		d.mu.Unlock()
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		select {
		case slots <- struct{}{}:
			go func() {
				defer func() { <-slots }()
				d.handshake(c, h)
			}()
		default:
			_ = c.Close()
		}
	}
}

// trouble says why the system accepts no connection at present, if it does not.
func (d *door) trouble() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.failed == nil:
		return ""
	case errors.Is(d.failed, syscall.EMFILE), errors.Is(d.failed, syscall.ENFILE):
		return fmt.Sprintf(" This process cannot accept connections: %v; raise the limit of open "+
			"files (ulimit -n)", d.failed)
	}
	return fmt.Sprintf(" This process cannot accept connections: %v", d.failed)
}

// handshake admits a rank that has a place and knows the token.
func (d *door) handshake(c net.Conn, h host) {
	held := false
	g, err := admit(c, d.cfg, func(rank int) verdict {
		v := h.place(rank)
		held = v == welcome
		return v
	})
	if err == nil {
		h.enter(int(g.rank), c, g.port)
		return
	}
	h.refuse(c, err)
	_ = c.Close()
	if held {
		h.vacate(int(g.rank))
	}
}
