package explore

import (
	"context"
	"slices"

	"github.com/farhash/farhash/internal/plural"
)

// What may stand where the number of a finding is wanted.
const (
	Deadlock = -1 // a state without successors
	Stranded = -2 // a state from which a finding of Options.Live is not reached
)

// A witness is a state that has shown something: two words of a rank's segment, its level + 1
// (0: there is none) and its name. That of a deadlock comes first, then those of the findings.
const witnessWords = 2

// findings is what the expander of a rank has seen in the states that were gathered.
type findings struct {
	live   []uint64 // the expander's
	last   []uint64 // live as the last batch left it
	n      int      // that are not 0
	unseen []int    // the others
}

// witness is a state that has shown something first here.
type witness struct {
	finding int // or Deadlock
	name    uint64
}

func newFindings(live []uint64) findings {
	f := findings{live: live, last: slices.Clone(live)}
	for i := range live {
		f.unseen = append(f.unseen, i)
	}
	return f
}

// look appends to fresh the findings that a state with this name has shown first.
func (f *findings) look(fresh []witness, name uint64) []witness {
	f.unseen = slices.DeleteFunc(f.unseen, func(i int) bool {
		if f.live[i] == 0 {
			return false
		}
		fresh = append(fresh, witness{i, name})
		return true
	})
	f.n = len(f.live) - len(f.unseen)
	return fresh
}

// fell returns the first finding that is less than after the batch before, -1 if there is none.
func (f *findings) fell() int {
	for i, word := range f.live {
		if word < f.last[i] {
			return i
		}
	}
	copy(f.last, f.live)
	return -1
}

// announce has the other ranks know of new witnesses, and ends the search if what all
// have found decides everything. The rank that announces last sees the findings of all.
func (w *worker) announce(ctx context.Context, fresh []witness) error {
	for _, f := range fresh {
		cell := w.control.witness(f.finding)
		if err := w.control.set(ctx, cell+1, f.name); err != nil {
			return err
		}
		if err := w.control.set(ctx, cell, w.level+1); err != nil {
			return err
		}
	}
	if err := w.publishFindings(ctx); err != nil {
		return err
	}
	all, err := w.control.merged(ctx)
	if err != nil {
		return err
	}
	if yes, err := w.decided(all); err != nil || !yes {
		return err
	}
	return w.stopAll(ctx, stopDecided)
}

// decided asks the model whether findings answer everything.
func (s *search) decided(all []uint64) (yes bool, err error) {
	defer s.recoverPanic(&err)
	return len(all) > 0 && s.model.Decided(all), nil
}

// publishFindings writes the findings that have risen, of states whose successors are in the set.
// What others read never falls.
func (w *worker) publishFindings(ctx context.Context) error {
	for i, word := range w.shown {
		if word <= w.published[i] {
			continue
		}
		if err := w.control.set(ctx, w.control.finding(i), word); err != nil {
			return err
		}
		w.published[i] = word
	}
	return nil
}

// adopt takes over the findings of a checkpoint, on rank 0.
func (w *worker) adopt(ctx context.Context, before []uint64) error {
	for i, word := range before {
		if err := w.control.set(ctx, w.control.finding(i), word); err != nil {
			return err
		}
		w.published[i] = word
	}
	return nil
}

// expanderFindings are the live findings of this rank's expander.
func (s *search) expanderFindings() (live []uint64, err error) {
	defer s.recoverPanic(&err)
	live = s.expander.Findings()
	if len(live) != s.findings {
		return nil, s.broken(breachSizes, "the expander has %s, and Model.Findings is %d",
			plural.Of(len(live), "finding"), s.findings)
	}
	return live, nil
}
