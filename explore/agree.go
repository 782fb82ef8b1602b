package explore

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/farhash/farhash/rma"
)

// trait is what ranks must have in common, or they would search for different things.
type trait struct{ name, value string }

// traits are those of this rank's search.
func (s *search) traits() []trait {
	initial := make([]uint64, s.model.StateWords())
	s.model.Initial(initial)
	return []trait{
		{"model", fmt.Sprint(s.opts.ModelID, s.model.StateBits(), initial)},
		{"order", string(s.opts.Order)},
		{"encoding", string(s.encoding)},
		{"mem", fmt.Sprint(s.opts.Mem)},
		{"trace", fmt.Sprint(s.opts.Trace)},
		{"check", fmt.Sprint(s.opts.Check)},
		{"checkpoint", s.opts.Checkpoint},
		{"resume", s.opts.Resume},
	}
}

// agree makes sure that all ranks search for the same, and tells all of them what differs.
// Collective.
func (s *search) agree(ctx context.Context) error {
	mine := s.traits()
	w, err := s.job.NewWindow(ctx, rma.Spec{Name: "explore: options", Words: 1 + len(mine)})
	if err != nil {
		return err
	}
	cells, err := rma.NewCells(s.job, w)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	err = s.compare(ctx, cells, mine)
	return errors.Join(err, cells.Close(), w.Close())
}

// compare compares each rank's traits with those of rank 0: the words of a segment are a mask of
// those that differ, and a hash of each.
func (s *search) compare(ctx context.Context, cells *rma.Cells, mine []trait) error {
	rank, differs := s.job.Rank(), uint64(0)
	for i, t := range mine {
		if err := cells.Store(ctx, rank, 1+i, hashText(t.value)); err != nil {
			return err
		}
	}
	if err := s.job.Barrier(ctx); err != nil {
		return err
	}
	for i, t := range mine {
		first, err := cells.Load(ctx, 0, 1+i)
		if err != nil {
			return err
		}
		if first != hashText(t.value) {
			differs |= 1 << i
		}
	}
	if err := cells.Store(ctx, rank, 0, differs); err != nil {
		return err
	}
	if err := s.job.Barrier(ctx); err != nil {
		return err
	}
	var failure error
	for other := 0; other < s.job.Size() && failure == nil; other++ {
		mask, err := cells.Load(ctx, other, 0)
		if err != nil {
			return err
		}
		failure = differing(other, mask, mine)
	}
	return errors.Join(failure, s.job.Barrier(ctx)) // nobody closes what others still read
}

// differing is the error for a rank that differs from rank 0 in some traits.
func differing(rank int, mask uint64, mine []trait) error {
	var names []string
	for i, t := range mine {
		switch {
		case mask&(1<<i) == 0:
		case i == 0:
			names = append(names, t.name)
		default:
			names = append(names, fmt.Sprintf("%s (here %q)", t.name, t.value))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("explore: rank %d has another %s than rank 0; give every rank the same",
		rank, strings.Join(names, " and "))
}

func hashText(text string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	return hash.Sum64()
}
