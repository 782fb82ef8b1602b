package explore_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/statespace/explore"
)

// pulse gives each state a word that depends on the turn, and finds successors whose words are of
// no turn that may be seen.
type pulse struct {
	next func(s uint64) []uint64
	turn uint64 // 0: states are seen
	odd  int
}

func (*pulse) Open([]uint64) bool { return true }

func (p *pulse) Visit(at *explore.Visit) uint64 {
	if p.turn == 0 {
		at.Words[1] = at.State[0] + 1
	}
	s := at.Words[1] - 1
	if p.turn > 1 {
		for i, to := range p.next(s) {
			seen := at.NextWords[2*i] - to<<8
			if seen != p.turn && seen != p.turn-1 {
				p.odd++
			}
		}
	}
	at.Words[0] = s<<8 + p.turn
	return 1
}

// Ranks hear of all changes, also if a list of them has more pieces than are in flight together.
func TestLongListsOfChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("its list is long")
	}
	const n = 50_000
	m := &labelled{graph: *star(n), labels: func(uint64) uint64 { return 0 }}
	for _, s := range []setting{{ranks: 2, hidden: true}, {ranks: 2}} {
		hand, odd := new(explore.Hand), new(atomic.Int64)
		s.opts.After = func(ctx context.Context, states *explore.States) error {
			if err := errors.Join(states.Deal(ctx, hand), states.Open(ctx, 2)); err != nil {
				return err
			}
			p := &pulse{next: func(s uint64) []uint64 { return m.next(s, nil) }}
			_, _, err := states.Sweep(ctx, p)
			for p.turn = 1; err == nil && p.turn < 5; p.turn++ {
				_, _, err = states.SweepWords(ctx, p, false)
			}
			odd.Add(int64(p.odd))
			return err
		}
		mustSearchModel(t, s, m)
		if odd.Load() > 0 {
			t.Errorf("%v: the words of %d successors are old", s, odd.Load())
		}
	}
}
