package explore

import (
	"context"
	"errors"
)

// sharing has the ranks compare words, one round after the other. Banks take turns, so that
// nobody overwrites what another still reads.
type sharing struct {
	*search
	rounds int
}

// all are the words of all ranks. failure is why this rank cannot go on: then every rank gets an
// error. Collective.
func (s *sharing) all(ctx context.Context, mine uint64, failure error) ([]uint64, error) {
	bank := cellShared + s.rounds%2*2
	s.rounds++
	why := uint64(0)
	if failure != nil {
		why = uint64(reasonOf(failure))
	}
	err := s.control.set(ctx, bank, mine)
	if err == nil {
		err = s.control.set(ctx, bank+1, why)
	}
	if err == nil {
		err = s.job.Barrier(ctx)
	}
	if err != nil {
		return nil, errors.Join(failure, err)
	}
	words, peer, err := s.read(ctx, bank)
	if err == nil && peer != nil {
		err = s.job.Barrier(ctx) // nobody closes what others still read
	}
	if failure != nil {
		return nil, failure
	}
	return words, errors.Join(peer, err)
}

// read reads a bank of all ranks. peer says which has failed.
func (s *sharing) read(ctx context.Context, bank int) (words []uint64, peer, err error) {
	words = make([]uint64, s.job.Size())
	for rank := range words {
		why, err := s.control.Load(ctx, rank, bank+1)
		if err != nil {
			return nil, nil, err
		}
		if why != 0 {
			return nil, stopReason(why).failed(rank), nil
		}
		if words[rank], err = s.control.Load(ctx, rank, bank); err != nil {
			return nil, nil, err
		}
	}
	return words, nil, nil
}
