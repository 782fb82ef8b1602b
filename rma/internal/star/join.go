package star

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Join meets the other ranks of the job.
func Join(ctx context.Context, cfg Config) (*Star, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	s := &Star{cfg: cfg, peers: make([]peer, cfg.Size), lives: make([]life, cfg.Size),
		heard: make([]mark, cfg.Size), change: make(chan struct{})}
	var c net.Conn
	var err error
	if cfg.Rank == 0 {
		s.hub, c, err = openHub(within, cfg)
	} else {
		c, err = connect(within, cfg)
	}
	if err != nil {
		return nil, err
	}
	s.conn = newConn(c, cfg.Beat)
	began := make(chan error, 1)
	go func() { began <- s.awaitBeginning() }()
	if s.hub != nil {
		err = s.hub.assemble(within)
	}
	if err == nil {
		select {
		case err = <-began:
		case <-within.Done(): // the hub says more, a moment later, unless it is gone
			select {
			case err = <-began:
			case <-time.After(beatsMissed * cfg.Beat):
				err = fmt.Errorf("rank %d waiting for the others: %w", cfg.Rank, within.Err())
			}
		}
	}
	if err != nil {
		s.conn.close()
		return nil, err
	}
	go s.conn.pulse()
	s.ended.Go(s.listen)
	return s, nil
}

// awaitBeginning returns when the hub says that all have come, or why they have not. A rank that
// joins again is told of the job instead.
func (s *Star) awaitBeginning() error {
	kind, payload, err := s.conn.receive(maxState)
	switch {
	case err != nil:
		return fmt.Errorf("rank %d lost rank 0 at %s before all had come: %w", s.cfg.Rank,
			s.cfg.Address, err)
	case kind == 'A' && s.cfg.Again:
		return s.enterAgain(payload)
	case kind != 'S':
		return fmt.Errorf("%s", payload)
	}
	return nil
}
