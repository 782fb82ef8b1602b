package rma

import (
	"context"
	"errors"
	"fmt"
)

// Field is a named number of a configuration.
type Field struct {
	Name  string
	Value uint64
}

// Agree makes sure that every rank calls it with the same values, and that no rank refuses them.
// refusal is this rank's error with them, nil if it accepts them. Where values differ, every rank
// gets the same error, which names the lowest rank that differs from rank 0. Otherwise a rank that
// refuses gets its own refusal, and the others get a [PeerError]. Collective; the fields have the
// same names in the same order on every rank.
func Agree(ctx context.Context, job Job, what string, refusal error, fields ...Field) error {
	if job.Size() == 1 || len(fields) == 0 {
		return refusal
	}
	v, err := newVote(ctx, job, what+": configuration", len(fields))
	if err != nil {
		return joinErrors(refusal, err)
	}
	defer v.close()
	for i, f := range fields {
		if err := v.cells.Store(ctx, job.Rank(), i, f.Value); err != nil {
			return err
		}
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	mine, err := v.difference(ctx, job.Rank(), what, fields)
	if err != nil {
		return err
	}
	if mine == nil {
		mine = refusal
	}
	rank, _, err := v.lowest(ctx, mine)
	if err != nil {
		return err
	}
	var outcome error
	for r := 0; r < job.Size() && rank >= 0 && outcome == nil && err == nil; r++ {
		outcome, err = v.difference(ctx, r, what, fields) // a difference says more than a refusal
	}
	if outcome == nil && refusal != nil {
		outcome = refusal
	} else if outcome == nil && rank >= 0 {
		outcome = &PeerError{What: what, Rank: rank}
	}
	return v.leave(ctx, outcome, err)
}

// AllSucceeded returns mine on each rank where that is an error, and otherwise a
// [PeerError] if another rank has one. nil: all ranks came so far. Collective.
func AllSucceeded(ctx context.Context, job Job, what string, mine error) error {
	if job.Size() == 1 {
		return mine
	}
	v, err := newVote(ctx, job, what+": outcome", 0)
	if err != nil {
		return joinErrors(mine, err)
	}
	defer v.close()
	rank, missed, err := v.lowest(ctx, mine)
	if err != nil {
		return joinErrors(mine, err)
	}
	var other error
	if rank >= 0 {
		other = peerFailed(what, rank, missed, job.Rank())
	}
	err = v.leave(ctx, nil, nil)
	if mine != nil {
		return mine
	}
	return joinErrors(other, err)
}

// joinErrors joins errors. Where both are of a lost rank it returns the first alone.
func joinErrors(first, second error) error {
	var gone *RankError
	if errors.As(first, &gone) && errors.As(second, &gone) {
		return first
	}
	return errors.Join(first, second)
}

// vote is a window in which ranks find the lowest one that objects. The work of a
// rank does not grow with their number.
type vote struct {
	job    Job
	window Window
	cells  *Cells
	// at is the offset of the word of rank 0 with the lowest rank that objects, plus 1; 0: none.
	// From bit missedShift on it has missedBy of that rank's error.
	at int
}

const missedShift = 32

// newVote makes a vote with room for words on each rank. Collective.
func newVote(ctx context.Context, job Job, what string, words int) (*vote, error) {
	w, err := job.NewWindow(ctx, Spec{Name: what, Words: words + 1})
	if err != nil {
		return nil, err
	}
	cells, err := NewCells(job, w)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &vote{job: job, window: w, cells: cells, at: words}, nil
}

// lowest returns the lowest rank that objects, -1 if none does, and missedBy of its error.
// Collective.
func (v *vote) lowest(ctx context.Context, objection error) (rank int, missed uint32, err error) {
	if objection != nil {
		err = v.object(ctx, uint64(missedBy(objection)))
	}
	if err := joinErrors(err, v.job.Barrier(ctx)); err != nil {
		return -1, 0, err
	}
	word, err := v.cells.Load(ctx, 0, v.at)
	return int(uint32(word)) - 1, uint32(word >> missedShift), err
}

// object enters this rank in the word, unless a lower one is there.
func (v *vote) object(ctx context.Context, missed uint64) error {
	mine := uint32(v.job.Rank()) + 1
	for {
		seen, err := v.cells.Load(ctx, 0, v.at)
		if err != nil || seen != 0 && uint32(seen) < mine {
			return err
		}
		won, err := v.cells.CompareAndSwap(ctx, 0, v.at, seen, missed<<missedShift|uint64(mine))
		if won || err != nil {
			return err
		}
	}
}

// difference compares the fields of a rank with the fields of rank 0.
func (v *vote) difference(ctx context.Context, rank int, what string, fields []Field) (
	differ, err error) {
	for i, f := range fields {
		want, err := v.cells.Load(ctx, 0, i)
		if err != nil {
			return nil, err
		}
		got, err := v.cells.Load(ctx, rank, i)
		if err != nil {
			return nil, err
		}
		if got != want {
			return fmt.Errorf("%s: %s differ: rank 0 has %d, rank %d has %d; "+
				"give every rank the same configuration", what, f.Name, want, rank, got), nil
		}
	}
	return nil, nil
}

// leave waits until nobody reads the window any more. outcome comes first.
func (v *vote) leave(ctx context.Context, outcome, err error) error {
	barrier := v.job.Barrier(ctx)
	if outcome != nil {
		return outcome
	}
	return errors.Join(err, barrier)
}

func (v *vote) close() {
	_ = v.cells.Close()
	_ = v.window.Close()
}

// missedBy is 1 + the rank whose death err reports; 0: it reports none.
func missedBy(err error) uint32 {
	var gone *RankError
	if errors.As(err, &gone) && !gone.Left {
		return uint32(gone.Rank) + 1
	}
	return 0
}

// peerFailed is the error that rank self returns after the failure of a peer. missed is [missedBy]
// of the peer's error. Where the peer reports the death of self, self reports the peer's.
func peerFailed(what string, peer int, missed uint32, self int) *PeerError {
	e := &PeerError{What: what, Rank: peer}
	switch missed {
	case 0:
	case uint32(self) + 1:
		e.Lost = &RankError{Rank: peer}
	default:
		e.Lost = &RankError{Rank: int(missed) - 1}
	}
	return e
}
