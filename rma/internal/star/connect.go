package star

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/farhash/farhash/internal/backoff"
)

// connect connects to rank 0, which may begin to listen later than this rank calls.
func connect(ctx context.Context, cfg Config) (net.Conn, error) {
	start, pace := time.Now(), backoff.Backoff{}
	for {
		c, err := tryConnect(ctx, cfg)
		if err == nil || errors.Is(err, errRefused) {
			return c, err
		}
		for !pace.Pause() {
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("rank %d waited %v for rank 0 at %s: %w; was it started, and "+
				"does this host reach that address?", cfg.Rank, cfg.waited(start), cfg.Address, err)
		}
	}
}

func tryConnect(ctx context.Context, cfg Config) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, err
	}
	if err := shakeHands(c, cfg); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}
