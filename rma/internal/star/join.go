package star

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/farhash/farhash/rma"
)

// Join connects this rank to the others of the job.
func Join(ctx context.Context, cfg Config) (*Star, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	s := &Star{cfg: cfg, peers: make([]peer, cfg.Size), change: make(chan struct{})}
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
	go s.conn.pulse()
	start, began := time.Now(), make(chan error, 1)
	go func() { began <- s.awaitBeginning() }()
	if s.hub != nil {
		err = s.hub.assemble(within)
	}
	if err == nil {
		select {
		case err = <-began:
		case <-within.Done(): // the hub sends a better error a moment later, unless it is gone
			err = fmt.Errorf("rank %d waited %v for all ranks to come to %s: %w", cfg.Rank,
				cfg.waited(start), cfg.Address, within.Err())
			if errors.Is(err, context.DeadlineExceeded) {
				select {
				case err = <-began:
				case <-time.After(maxMissedBeats * cfg.Beat):
				}
			}
		}
	}
	if err != nil {
		s.Leave() // so that for rank 0 this one has not died
		s.conn.close()
		return nil, err
	}
	s.ended.Go(s.listen)
	return s, nil
}

// awaitBeginning returns when all ranks have connected, or with the error of the hub where they
// have not.
func (s *Star) awaitBeginning() error {
	var gone *rma.RankError
	for {
		kind, payload, err := s.conn.receive(s.cfg.Size * (MaxPayloadBytes + 4))
		switch {
		case err != nil:
			return early(s.cfg.Address, nil, &rma.RankError{Rank: 0})
		case kind == 'S':
			return nil
		case kind == 'F':
			rank, p, err := decodeState(payload, s.cfg.Size)
			if err != nil {
				return err
			}
			s.update(func() { s.end(rank, p) })
			if gone == nil || gone.Left {
				gone = s.Reason(rank)
			}
		case gone != nil:
			return &earlyError{string(payload), gone}
		default:
			return errors.New(string(payload))
		}
	}
}

// earlyError is the error of the hub for a rank that is gone before all have connected.
type earlyError struct {
	text string
	gone *rma.RankError
}

func (e *earlyError) Error() string { return e.text }
func (e *earlyError) Unwrap() error { return e.gone }
