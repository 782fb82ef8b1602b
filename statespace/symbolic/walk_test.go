package symbolic

import (
	"context"
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/farhash/farhash/internal/testkit/ending"
)

// manyNodes is a set of two levels with more than n nodes. It is held.
func manyNodes(t *testing.T, s *Store, n uint32) Node {
	t.Helper()
	all := Empty
	for i := range n {
		below, err := s.List(n-i, Unit, Empty)
		must(t, err)
		all, err = s.List(n-i, below, all)
		must(t, err)
		s.Hold(all)
	}
	return all
}

// TestWalksEnd: each call that walks over all nodes ends with the context, wherever it is, after no
// more than lookEvery nodes.
func TestWalksEnd(t *testing.T) {
	ctx := &ending.Context{Context: t.Context(), End: math.MaxInt}
	s, err := New(ctx, Config{Levels: 2, MaxBytes: 16 << 20})
	must(t, err)
	defer s.Close()
	n := manyNodes(t, s, 3*lookEvery)
	move, err := s.NewTransition(adds(0, 1, -1), adds(1, 0, 1))
	must(t, err)
	for _, call := range []struct {
		name  string
		looks int // at the context
		walk  func() error
	}{
		{"Count", 12, func() error { _, err := s.Count(n); return err }},
		{"Size", 6, func() error { _, err := s.Size(n); return err }},
		{"Largest", 12, func() error { _, err := s.Largest(n, nil, 0); return err }},
		{"Extremes", 6, func() error { _, _, err := s.Extremes(n); return err }},
		{"Firings", 30, func() error {
			_, err := s.Firings(n, []Transition{move}, 1<<30)
			return err
		}},
		{"Nearest", 12, func() error {
			_, err := s.Nearest(n, []uint32{1, 2}, 1<<30)
			return err
		}},
		{"mark", 6, func() error { _, err := s.mark(s.newMarks()); return err }},
		{"Least", 12, func() error {
			s.front.set = n
			if s.Least(1<<30).Sign() == 0 {
				return context.Canceled
			}
			return nil
		}},
	} {
		ctx.Asked, ctx.End = 0, math.MaxInt
		must(t, call.walk())
		if ctx.Asked != call.looks {
			t.Errorf("%s looks %d times at the context, not %d", call.name, ctx.Asked, call.looks)
		}
		for end := range call.looks {
			ctx.Asked, ctx.End = 0, end
			if err := call.walk(); !errors.Is(err, context.Canceled) || ctx.Asked > end+2 {
				t.Errorf("%s: %v; the context had ended at look %d, and was asked %d times",
					call.name, err, end, ctx.Asked)
			}
		}
	}
}

// TestLeastOfRow: nodes that follow several entries are counted as one step, and their vectors
// once for each.
func TestLeastOfRow(t *testing.T) {
	s, err := New(t.Context(), Config{Levels: 2, MaxBytes: 16 << 20})
	must(t, err)
	defer s.Close()
	n := manyNodes(t, s, 100)
	s.front.row = &row{}
	for v := range uint32(1000) {
		s.front.row.entries = append(s.front.row.entries, rowEntry{v, false, n})
	}
	if least := s.Least(200); least.Cmp(big.NewInt(100_000)) != 0 {
		t.Errorf("%v, not 100,000", least)
	}
	if least := s.Least(199); least.Sign() != 0 {
		t.Errorf("a walk over 200 nodes takes 199 steps, and finds %v", least)
	}
}
