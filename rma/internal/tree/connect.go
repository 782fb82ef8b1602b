package tree

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/farhash/farhash/internal/system/backoff"
)

// connect connects to rank 0, which may begin to listen later than this rank calls. Where ranks are
// below this one, they may connect to the door that it opens.
func connect(ctx context.Context, cfg Config) (net.Conn, *door, error) {
	start, pace := time.Now(), backoff.Backoff{}
	for {
		c, d, err := tryConnect(ctx, cfg)
		if err == nil || errors.Is(err, errRefused) {
			return c, d, err
		}
		for !pace.Pause() {
		}
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("rank %d waited %v for rank 0 at %s: %w; was it started, "+
				"and does this host reach that address?", cfg.Rank, cfg.waited(start), cfg.Address,
				err)
		}
	}
}

func tryConnect(ctx context.Context, cfg Config) (net.Conn, *door, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, nil, err
	}
	var d *door
	port := 0
	if _, below := place(cfg.Rank, cfg.Size, cfg.fan); below.end > below.first+1 {
		host, _, _ := net.SplitHostPort(c.LocalAddr().String())
		d, err = openDoor(ctx, cfg, net.JoinHostPort(host, "0"))
		if err != nil {
			_ = c.Close()
			return nil, nil, err
		}
		port = d.Addr().(*net.TCPAddr).Port
	}
	if err := shakeHands(c, cfg, port); err != nil {
		_ = c.Close()
		d.shut()
		return nil, nil, err
	}
	return c, d, nil
}

// tryParent connects to the parent. It returns nil where that is not possible.
func tryParent(cfg Config, address string) net.Conn {
	c, err := net.DialTimeout("tcp", address, handshakeTimeout)
	if err != nil {
		return nil
	}
	cfg.Address = address
	if shakeHands(c, cfg, 0) != nil {
		_ = c.Close()
		return nil
	}
	return c
}

// waited is how long this rank has waited, rounded for messages: at most the timeout.
func (c *Config) waited(since time.Time) time.Duration {
	return min(c.Timeout, time.Since(since).Round(time.Millisecond))
}
