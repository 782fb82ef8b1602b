package redis

import (
	"context"
	"errors"
	"time"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/measure"
)

// Session is one rank's connection to a server that all ranks share.
type Session struct {
	*Conn
	job     rma.Job
	address string
	server  *Server // on rank 0, if it was started here
}

// Join connects to a server that has no keys; if the address is Own, rank 0 starts it. Collective.
func Join(ctx context.Context, job rma.Job, address string) (_ *Session, err error) {
	s := &Session{job: job, address: address}
	if address == Own {
		if job.Rank() == 0 {
			if s.server, err = Start(ctx); err == nil {
				address = s.server.Address
			}
		}
		if err := rma.AllSucceeded(ctx, job, "starting Redis", err); err != nil {
			return nil, err
		}
		all, err := measure.GatherTexts(ctx, job, []byte(address))
		if err != nil {
			return nil, errors.Join(err, s.stop())
		}
		s.address = string(all[0])
	}
	s.Conn, err = Dial(ctx, s.address)
	if err == nil && job.Rank() == 0 {
		err = s.MustBeEmpty()
	}
	if err = rma.AllSucceeded(ctx, job, "connecting to Redis", err); err != nil {
		if s.Conn != nil {
			err = errors.Join(err, s.Close())
		}
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// Served is the CPU time of the server so far. Rank 0 asks; other ranks have 0.
func (s *Session) Served() (time.Duration, error) {
	if s.job.Rank() != 0 {
		return 0, nil
	}
	return s.CPUTime()
}

func (s *Session) stop() error {
	if s.server == nil {
		return nil
	}
	return s.server.Stop()
}

// Leave leaves the server without keys, as it was, also when ctx has ended. Collective.
func (s *Session) Leave(ctx context.Context) error {
	err := s.Close()
	if s.server != nil {
		err = errors.Join(err, s.server.Stop())
	} else if s.job.Rank() == 0 {
		err = errors.Join(err, Empty(context.WithoutCancel(ctx), s.address))
	}
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, s.job.Barrier(ctx))
}
