package temporal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/logic/temporal"
)

// fairGraph is a graph with conditions of fairness: arc i of a state takes action i.
type fairGraph struct {
	*graph
	weak, strong int
}

func (g *fairGraph) NewExpander() explore.Expander { return g.marked() }

func (g *fairGraph) marked() *marked { return &marked{walker{g.graph, 0}, g.weak, g.strong} }

// randomGraph is a graph of a few states, some of which have no successor.
func randomGraph(rng *rand.Rand) *fairGraph {
	g := &graph{first: []uint64{0}}
	n := 2 + rng.IntN(4)
	if rng.IntN(2) == 0 {
		g.first = append(g.first, 1)
	}
	for range n {
		var next []uint64
		for range []int{0, 1, 1, 1, 2, 2, 3}[rng.IntN(7)] {
			next = append(next, rng.Uint64N(uint64(n)))
		}
		g.next, g.labels = append(g.next, next), append(g.labels, rng.Uint64N(4))
	}
	weak := rng.IntN(3)
	return &fairGraph{g, weak, rng.IntN(3 - weak)}
}

// randomPath is a formula of paths over two atoms.
func randomPath(rng *rand.Rand, depth int) *logic.Formula {
	op := logic.Op(rng.IntN(int(logic.Until) + 1))
	switch {
	case depth == 0 || op == logic.Atom:
		return atom(rng.IntN(2))
	case op == logic.Exists || op == logic.Forall:
		return randomPath(rng, depth)
	}
	args := []*logic.Formula{randomPath(rng, depth-1)}
	if op == logic.And || op == logic.Or || op == logic.Iff || op == logic.Until {
		args = append(args, randomPath(rng, depth-1))
	}
	return of(op, args...)
}

// trueFrom is whether a formula is true from each state of a path on. The last one is followed by
// that at back.
func trueFrom(f *logic.Formula, labels []uint64, back int) []bool {
	var args [][]bool
	for _, arg := range f.Args {
		args = append(args, trueFrom(arg, labels, back))
	}
	out := make([]bool, len(labels))
	for i := range out {
		out[i] = f.Op == logic.Globally
	}
	for round := 0; round < 2*len(out)+1; round++ {
		for i := len(out) - 1; i >= 0; i-- {
			next := i + 1
			if next == len(out) {
				next = back
			}
			switch f.Op {
			case logic.And:
				out[i] = true
				for _, arg := range args {
					out[i] = out[i] && arg[i]
				}
			case logic.Or:
				out[i] = false
				for _, arg := range args {
					out[i] = out[i] || arg[i]
				}
			case logic.Not:
				out[i] = !args[0][i]
			case logic.Iff:
				out[i] = args[0][i] == args[1][i]
			case logic.Atom:
				out[i] = labels[i]>>f.Atom.(int)&1 != 0
			case logic.Next:
				out[i] = args[0][next]
			case logic.Finally:
				out[i] = args[0][i] || out[next]
			case logic.Globally:
				out[i] = args[0][i] && out[next]
			case logic.Until:
				out[i] = args[1][i] || args[0][i] && out[next]
			}
		}
	}
	return out
}

// refutes says why a lasso does not show that a formula is false of a fair path; "" if it does.
func (g *fairGraph) refutes(l *temporal.Lasso, path *logic.Formula) string {
	var states, labels []uint64
	for i, s := range l.Steps {
		at := s.State[0]
		if i > 0 {
			before := g.next[states[i-1]]
			if s.Action < 0 || s.Action >= len(before) || before[s.Action] != at {
				return fmt.Sprintf("step %d is none", i)
			}
		}
		states, labels = append(states, at), append(labels, g.labels[at])
	}
	last, initial := len(states)-1, false
	for _, first := range g.first {
		initial = initial || states[0] == first
	}
	back := l.Back
	switch {
	case !initial || l.Steps[0].Action != -1:
		return "it does not begin in an initial state"
	case back < 0:
		if back = last; len(g.next[states[last]]) > 0 {
			return "it does not end in a deadlock"
		}
	case back >= last || states[back] != states[last]:
		return "it does not come back"
	case !g.fair(l.Steps[back:]):
		return "it is not fair"
	default:
		labels = labels[:last]
	}
	if trueFrom(path, labels, back)[0] {
		return "the formula is true of it"
	}
	return ""
}

// fair reports whether a loop that ends where it begins is fair.
func (g *fairGraph) fair(loop []explore.Step) bool {
	for action := range g.weak + g.strong {
		taken, always, once := false, true, false
		for i, s := range loop[1:] {
			can := len(g.next[loop[i].State[0]]) > action
			taken, always, once = taken || s.Action == action, always && can, once || can
		}
		if !taken && (always && action < g.weak || once && action >= g.weak) {
			return false
		}
	}
	return true
}

// someLasso looks for a lasso that refutes a formula on random ways.
func (g *fairGraph) someLasso(rng *rand.Rand, path *logic.Formula) *temporal.Lasso {
	for range 100 {
		at := g.first[rng.IntN(len(g.first))]
		l := &temporal.Lasso{Steps: []explore.Step{{State: []uint64{at}, Action: -1}}, Back: -1}
		for range 8 {
			if len(g.next[at]) == 0 {
				break
			}
			action := rng.IntN(len(g.next[at]))
			at = g.next[at][action]
			l.Steps = append(l.Steps, explore.Step{State: []uint64{at}, Action: action})
		}
		for back := -1; back < len(l.Steps)-1; back++ {
			if l.Back = back; g.refutes(l, path) == "" {
				return l
			}
		}
	}
	return nil
}

// The lasso of a search, and that of a walk, is a fair path of which the formula is false. There is
// one if, and only if, the formula is false.
func TestLassos(t *testing.T) {
	found, walked := map[logic.Verdict]int{}, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		g := randomGraph(rng)
		var paths, formulas []*logic.Formula
		for range 10 {
			path := randomPath(rng, 1+rng.IntN(3))
			paths, formulas = append(paths, path), append(formulas, of(logic.Forall, path))
		}
		for i, a := range answerFair(t, 1+int(seed%2), g, formulas) {
			f := fmt.Sprintf("seed %d: %+v of %+v, weak %d, strong %d", seed, a, *g.graph, g.weak,
				g.strong)
			if a.Verdict == logic.Unknown || a.Lasso != nil && a.Verdict == logic.True {
				t.Fatal(f)
			}
			if a.Lasso != nil {
				if why := g.refutes(a.Lasso, paths[i]); why != "" {
					t.Errorf("%s: the lasso %+v: %s", f, a.Lasso, why)
				}
			}
			w := temporal.NewWalker(formulas[i], g.marked())
			if a.Verdict == logic.False && (a.Lasso == nil) != (w == nil) {
				t.Errorf("%s: no lasso", f)
			}
			l := g.someLasso(rng, paths[i])
			found[a.Verdict]++
			if a.Verdict == logic.True && l != nil {
				t.Errorf("%s: the lasso %+v refutes it", f, l)
			}
			if w == nil {
				continue
			}
			if l := lassoOfWalks(t, w, g.first, rng); l != nil {
				walked++
				if why := g.refutes(l, paths[i]); why != "" {
					t.Errorf("%s: the lasso %+v of a walk: %s", f, l, why)
				}
			}
		}
	}
	if found[logic.True] < 50 || found[logic.False] < 200 || walked < 200 {
		t.Errorf("%v formulas, %d lassos of walks", found, walked)
	}
}

// lassoOfWalks is a lasso of some walks, nil if there is none.
func lassoOfWalks(t *testing.T, w *temporal.Walker, first []uint64, rng *rand.Rand,
) *temporal.Lasso {
	t.Helper()
	for seed := range uint64(4) {
		begin := rng.IntN(len(first))
		w.Begin(first[begin:begin+1], seed)
		for range 40 {
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

// answerFair answers formulas on some ranks.
func answerFair(t *testing.T, ranks int, g *fairGraph, formulas []*logic.Formula,
) []temporal.Answer {
	t.Helper()
	var first []temporal.Answer
	err := local.Run(ranks, func(job rma.Job) error {
		var answers []temporal.Answer
		opts := explore.Options{Mem: 4 << 20}
		opts.After = func(ctx context.Context, states *explore.States) (err error) {
			answers, err = temporal.Solve(ctx, states, g.marked(), formulas)
			return err
		}
		_, err := explore.Run(t.Context(), job, g, opts)
		if job.Rank() == 0 {
			first = answers
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}
