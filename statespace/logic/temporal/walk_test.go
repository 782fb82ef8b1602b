package temporal_test

import (
	"testing"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/logic/temporal"
)

// marked is a graph whose arcs take actions: the first arc of a state action 0, and so on.
type marked struct {
	walker
	weak, strong int
}

func (m *marked) Conditions() (weak, strong int) { return m.weak, m.strong }

func (m *marked) ExpandMarked(state, out, marks []uint64) (_, _ []uint64, err error) {
	for i := range m.next[state[0]] {
		marks = append(marks, 1<<i)
	}
	out, err = m.Expand(state, out)
	return out, marks, err
}

// walk takes some walks of a hundred steps.
func walk(t *testing.T, g *graph, weak, strong int, f *logic.Formula) *temporal.Lasso {
	t.Helper()
	w := temporal.NewWalker(f, &marked{walker{g, 0}, weak, strong})
	for seed := range uint64(20) {
		w.Begin(g.first[:1], seed)
		for range 100 {
			lasso, over, err := w.Step(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if lasso != nil {
				return lasso
			}
			if over {
				break
			}
		}
	}
	return nil
}

func TestWalker(t *testing.T) {
	// 0 and 1 are a circle that arcs lead from to 2: from 0 by action 1, from both by action 0.
	circle := &graph{first: []uint64{0}, next: [][]uint64{{1, 2}, {0}, {2}},
		labels: []uint64{0, 0, 1}}
	// A loop that has to be left for the last: 0 has one, and leads to 1.
	late := &graph{first: []uint64{0}, next: [][]uint64{{1}, {2, 1}, {3}, {3}},
		labels: []uint64{0, 0, 1, 0}}
	ring := &graph{first: []uint64{0}, next: [][]uint64{{1}, {0}}, labels: []uint64{0, 0}}
	eventually := forall(logic.Finally, atom(0))
	always := of(logic.Forall, of(logic.Globally, of(logic.Finally, atom(0))))
	for i, c := range []struct {
		g            *graph
		weak, strong int
		f            *logic.Formula
		found        bool
	}{
		{circle, 0, 0, eventually, true},
		{circle, 2, 0, eventually, true}, // at 1 action 1 cannot be taken
		{circle, 0, 2, eventually, false},
		{circle, 1, 0, always, true},
		{late, 0, 0, eventually, true},
		{late, 1, 0, eventually, false},
		{late, 1, 0, always, true},     // 3 repeats
		{ring, 1, 1, eventually, true}, // action 1 cannot be taken
	} {
		if lasso := walk(t, c.g, c.weak, c.strong, c.f); (lasso != nil) != c.found {
			t.Errorf("case %d: %+v", i, lasso)
		}
	}
	for _, f := range []*logic.Formula{exists(logic.Next, atom(0)),
		forall(logic.Finally, exists(logic.Next, atom(0)))} {
		if temporal.NewWalker(f, &marked{}) != nil {
			t.Errorf("a walk is to show that something exists: %+v", f)
		}
	}
}
