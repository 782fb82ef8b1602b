package explore

import (
	"context"
	"errors"
	"slices"
)

// errNoPredecessor would mean that a state was found that nothing leads to.
var errNoPredecessor = errors.New("explore: no predecessor of a state of the trace was found; " +
	"this is a bug of the model's Predecessors")

const (
	// traceHead is the words before the state in a trace bank: step, transition.
	traceHead = 2
	// traceFailed is set in the step of a rank that has failed. The word after it says why.
	traceFailed = 1 << 63
)

// trace finds a shortest way to a deadlock, backwards: the ranks agree on a
// deadlock in the lowest level. Then level by level each fires the transitions of
// the present state backwards, and searches for these predecessors among the states that
// it inserted in the level before. Collective.
func (s *search) trace(ctx context.Context) ([]int, bool, error) {
	rank, level, err := s.firstDeadlock(ctx)
	if err != nil || rank < 0 {
		return nil, false, err
	}
	task, err := s.control.Load(ctx, rank, cellDeadlockTask)
	if err != nil {
		return nil, false, err
	}
	state := make([]uint64, s.words)
	if err := s.visited.load(ctx, []uint64{task}, state); err != nil {
		return nil, false, err
	}
	var way []int
	for ; level > 0; level-- {
		transition, err := s.stepBack(ctx, level, state)
		if err != nil {
			return nil, false, err
		}
		way = append(way, transition)
	}
	slices.Reverse(way)
	return way, true, nil
}

// firstDeadlock finds the lowest level with a deadlock, and a rank that found one there;
// rank -1 when there is none.
func (s *search) firstDeadlock(ctx context.Context) (rank int, level uint64, err error) {
	rank = -1
	for r := range s.job.Size() {
		word, err := s.control.Load(ctx, r, cellDeadlockLevel)
		if err != nil {
			return 0, 0, err
		}
		if word != 0 && (rank < 0 || word-1 < level) {
			rank, level = r, word-1
		}
	}
	return rank, level, nil
}

// stepBack replaces state, of the given level, by a predecessor in the level before,
// and returns the transition that leads from there. Collective: the ranks publish
// what they find, or why they stop, in a bank of their own, and the lowest rank's counts.
// Banks take turns, so that nobody overwrites what another still reads.
func (s *search) stepBack(ctx context.Context, level uint64, state []uint64) (int, error) {
	bank := cellTrace + int(level%2)*(traceHead+len(state))
	before, transition, failure := s.findPredecessor(ctx, level-1, state)
	var words []uint64
	switch {
	case failure != nil:
		words = []uint64{level | traceFailed, uint64(reasonOf(failure))}
	case before != nil:
		words = append([]uint64{level, uint64(transition)}, before...)
	}
	for i, word := range slices.Backward(words) { // the step last: the rest is there then
		if err := s.control.set(ctx, bank+i, word); err != nil {
			return 0, errors.Join(failure, err)
		}
	}
	if err := s.job.Barrier(ctx); err != nil {
		return 0, errors.Join(failure, err)
	}
	finder, peer, err := s.readSteps(ctx, bank, level)
	switch {
	case err != nil:
		return 0, errors.Join(failure, err)
	case peer != nil:
		err = s.job.Barrier(ctx) // nobody closes what others still read
		if failure != nil {
			return 0, failure
		}
		return 0, errors.Join(peer, err)
	case finder < 0:
		return 0, errNoPredecessor
	}
	return s.readBank(ctx, finder, bank, state)
}

// readSteps finds the lowest rank that has found a predecessor, -1 if none has, and whether one has
// failed.
func (s *search) readSteps(ctx context.Context, bank int, level uint64) (finder int, peer,
	err error) {
	finder = -1
	for rank := range s.job.Size() {
		step, err := s.control.Load(ctx, rank, bank)
		if err != nil {
			return 0, nil, err
		}
		switch {
		case step == level && finder < 0:
			finder = rank
		case step == level|traceFailed:
			why, err := s.control.Load(ctx, rank, bank+1)
			return 0, stopReason(why).failed(rank), err
		}
	}
	return finder, nil, nil
}

func (s *search) readBank(ctx context.Context, rank, bank int, state []uint64) (int, error) {
	transition, err := s.control.Load(ctx, rank, bank+1)
	for i := range state {
		if err == nil {
			state[i], err = s.control.Load(ctx, rank, bank+traceHead+i)
		}
	}
	return int(transition), err
}

// findPredecessor searches the states that this rank inserted in a level for one
// that leads to target.
func (s *search) findPredecessor(ctx context.Context, level uint64, target []uint64) (
	[]uint64, int, error) {
	preds, transitions, err := s.predecessors(target)
	if err != nil {
		return nil, 0, err
	}
	words := len(target)
	wanted := make(map[string]int, len(transitions)) // packed state to its number
	for i := range transitions {
		wanted[string(bytesOf(preds[i*words:(i+1)*words]))] = i
	}
	state, at := make([]uint64, words), -1
	if level == 0 {
		copy(state, s.initial)
		if i, ok := wanted[string(bytesOf(state))]; ok && s.job.Rank() == 0 {
			at = i
		}
	} else {
		// The states of a level were inserted while the level before was expanded.
		s.worker.log.tasks(level-1, func(task uint64) bool {
			if err = s.visited.load(ctx, []uint64{task}, state); err != nil {
				return false
			}
			if i, ok := wanted[string(bytesOf(state))]; ok {
				at = i
			}
			return at < 0
		})
		if err != nil {
			return nil, 0, err
		}
	}
	if at < 0 {
		return nil, 0, nil
	}
	if err := s.leads(state, target, transitions[at]); err != nil {
		return nil, 0, err
	}
	return state, transitions[at], nil
}
