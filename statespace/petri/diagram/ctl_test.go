package diagram

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// TestCTL compares formulas of CTL with their definitions, marking by marking, on random nets: with
// deadlocks, with transitions that change nothing, and with parts that nothing leads out of.
func TestCTL(t *testing.T) {
	answers := map[logic.Verdict]int{}
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 11))
		net, _ := boundedNet(rng)
		if seed%4 == 0 {
			place := rng.IntN(len(net.Places))
			still := []petri.Arc{{Place: place, Weight: 1}}
			net.Transitions = append(net.Transitions,
				petri.Transition{ID: "still", In: still, Out: still})
		}
		g := graphOf(net)
		var all []property.Property
		for range 6 {
			all = append(all, property.Property{Kind: property.Temporal,
				Formula: randomCTL(rng, net, 3)})
		}
		res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes,
			Strategy: symbolic.Strategies()[seed%2]}, all...)
		must(t, err)
		for i, p := range all {
			want := logic.VerdictOf(g.holds(p.Formula)[0])
			if answers[want]++; res.Answers[i].Verdict != want {
				t.Fatalf("seed %d: %v of %+v is %v, not %v", seed, p.Formula, net,
					res.Answers[i].Verdict, want)
			}
		}
	}
	if answers[logic.True] < 500 || answers[logic.False] < 500 {
		t.Errorf("the questions are one-sided: %v", answers)
	}
}

// What is of CTL*, or of LTL, is refused.
func TestNotCTL(t *testing.T) {
	net := &petri.Net{Places: []petri.Place{{ID: "p"}}}
	atom := logic.Leaf(property.Stuck{})
	eventually := logic.Of(logic.Finally, atom)
	for _, c := range []struct {
		f   *logic.Formula
		yes bool
	}{
		{logic.Of(logic.Forall, eventually), true},
		{logic.Of(logic.Not, logic.Of(logic.Exists, logic.Of(logic.Until, atom, atom))), true},
		{logic.Of(logic.Exists, atom), true},
		{logic.Of(logic.Forall, logic.Of(logic.Globally, eventually)), false},
		{logic.Of(logic.Forall, logic.Of(logic.And, eventually, atom)), false},
		{logic.Of(logic.And, logic.Of(logic.Forall, logic.Of(logic.Not, eventually)), atom), false},
	} {
		p := property.Property{Kind: property.Temporal, Formula: c.f}
		_, err := Explore(t.Context(), net, Options{MaxBytes: testBytes}, p)
		if Supports(p) != c.yes || (err == nil) != c.yes {
			t.Errorf("%+v: %v", c.f, err)
		}
	}
}

// randomCTL is a formula of CTL that nests operators of paths at most so deep.
func randomCTL(rng *rand.Rand, net *petri.Net, depth int) *logic.Formula {
	arg := func() *logic.Formula { return randomCTL(rng, net, depth-1) }
	if depth == 0 {
		return randomFormula(rng, net, 1)
	}
	if rng.IntN(5) == 0 {
		return logic.Of([]logic.Op{logic.And, logic.Or, logic.Iff}[rng.IntN(3)], arg(), arg())
	}
	of := []logic.Op{logic.Exists, logic.Forall}[rng.IntN(2)]
	switch op := logic.Next + logic.Op(rng.IntN(5)); op {
	case logic.Until + 1:
		return logic.Of(of, arg())
	case logic.Until:
		return logic.Of(of, logic.Of(op, arg(), arg()))
	default:
		return logic.Of(of, logic.Of(op, arg()))
	}
}

// graph is the reachable markings of a net, the initial one first, and their successors.
type graph struct {
	net      *petri.Net
	markings [][]int64
	next     [][]int
}

func graphOf(net *petri.Net) *graph {
	g := &graph{net: net, markings: markingsOf(net)}
	for _, m := range g.markings {
		var next []int
		for i := range net.Transitions {
			if t := &net.Transitions[i]; t.Enabled(m) {
				to := slices.Clone(m)
				t.Fire(to)
				next = append(next, slices.IndexFunc(g.markings, func(o []int64) bool {
					return slices.Equal(o, to)
				}))
			}
		}
		g.next = append(g.next, next)
	}
	return g
}

// holds is for which markings a formula is true.
func (g *graph) holds(f *logic.Formula) []bool {
	yes := make([]bool, len(g.markings))
	if !f.Looks() {
		for i, m := range g.markings {
			yes[i] = property.Holds(f, g.net, m)
		}
		return yes
	}
	if f.Op != logic.Exists && f.Op != logic.Forall {
		var args [][]bool
		for _, arg := range f.Args {
			args = append(args, g.holds(arg))
		}
		for i := range yes {
			here := func(arg []bool) bool { return arg[i] }
			switch f.Op {
			case logic.And:
				yes[i] = !slices.ContainsFunc(args, func(arg []bool) bool { return !arg[i] })
			case logic.Or:
				yes[i] = slices.ContainsFunc(args, here)
			case logic.Not:
				yes[i] = !args[0][i]
			case logic.Iff:
				yes[i] = args[0][i] == args[1][i]
			}
		}
		return yes
	}
	return g.along(f.Op == logic.Forall, f.Args[0])
}

// along is for which markings an operator is true of all paths, or of one: what it says of the
// first marking and the rest of a path is computed until nothing changes.
func (g *graph) along(all bool, path *logic.Formula) []bool {
	if path.Op < logic.Next {
		return g.holds(path)
	}
	last := g.holds(path.Args[len(path.Args)-1])
	first := last
	if path.Op == logic.Until {
		first = g.holds(path.Args[0])
	}
	yes := make([]bool, len(g.markings))
	for i := range yes {
		yes[i] = path.Op == logic.Globally
	}
	// goesOn reports whether all successors are in a set, or one is.
	goesOn := func(i int, in []bool) bool {
		for _, n := range g.next[i] {
			if in[n] != all {
				return !all
			}
		}
		return all
	}
	for changed := true; changed; {
		changed = false
		for i := range yes {
			ends, now := len(g.next[i]) == 0, false
			switch path.Op {
			case logic.Next:
				now = goesOn(i, last)
			case logic.Finally:
				now = last[i] || !ends && goesOn(i, yes)
			case logic.Globally:
				now = last[i] && (ends || goesOn(i, yes))
			case logic.Until:
				now = last[i] || first[i] && !ends && goesOn(i, yes)
			}
			changed = changed || now != yes[i]
			yes[i] = now
		}
	}
	return yes
}
