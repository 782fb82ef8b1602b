package symbolic

import (
	"maps"
	"testing"
)

// TestReachWithin compares with an explicit search that does not leave a set.
func TestReachWithin(t *testing.T) {
	forPaces(t, 12, func(t *tester) {
		within, from := vectors{}, vectors{}
		for range 10 + t.rng.IntN(60) {
			v := vector{t.rng.Uint32N(3), t.rng.Uint32N(3), t.rng.Uint32N(3), t.rng.Uint32N(2)}
			within[v] = true
			if t.rng.IntN(20) == 0 {
				from[v] = true
			}
		}
		nodes, room := t.held(t.nodeOf(from), nil), t.held(t.nodeOf(within), nil)
		var all [][]Step
		var many []Transition
		for range 2 {
			for range 2 + t.rng.IntN(4) {
				all = append(all, t.moves())
				many = append(many, t.transition(all[len(all)-1]))
			}
			want := searchWithin(from, all, within)
			n, err := t.s.ReachWithin(nodes, room, many)
			t.same("reachable within a set", n, err, want)
			for v := range within {
				if t.s.Has(room, v[:]) != within[v] || t.s.Has(nodes, v[:]) != from[v] {
					t.Fatalf("Has is wrong about %v", v)
				}
			}
		}
	})
}

// TestReachWithinOther: what was complete within one set is not within another, which a transition
// of other levels leads to.
func TestReachWithinOther(t *testing.T) {
	x := newTester(t, Config{}, 1)
	first := vector{1, 0, 1, 0}
	within := vectors{first: true, {0, 1, 1, 0}: true, {0, 1, 0, 1}: true}
	a := x.transition([]Step{adds(0, 1, -1), adds(1, 0, 1)})
	b := x.transition([]Step{adds(2, 1, -1), adds(3, 0, 1)})
	n, err := x.s.ReachWithin(x.held(x.nodeOf(vectors{first: true}), nil),
		x.held(x.nodeOf(within), nil), []Transition{a, b})
	x.same("reachable", n, err, within)
}

// TestReachBack compares what leads to a set within another one with an explicit search, also by
// transitions that set entries and that have limits.
func TestReachBack(t *testing.T) {
	forPaces(t, 12, func(t *tester) {
		within, to := vectors{}, vectors{}
		for range 10 + t.rng.IntN(60) {
			v := vector{t.rng.Uint32N(3), t.rng.Uint32N(3), t.rng.Uint32N(3), t.rng.Uint32N(2)}
			within[v] = true
			if t.rng.IntN(10) == 0 {
				to[v] = true
			}
		}
		nodes, room := t.held(t.nodeOf(to), nil), t.held(t.nodeOf(within), nil)
		_, high, err := t.s.Extremes(room)
		must(t, err)
		var all [][]Step
		var many []Transition
		for range 2 + t.rng.IntN(4) {
			all = append(all, t.moves())
			back, err := t.s.Reversed(t.transition(all[len(all)-1]), high)
			must(t, err)
			many = append(many, back)
		}
		want := maps.Clone(to)
		for again := true; again; {
			again = false
			for v := range within {
				for _, steps := range all {
					if w, _ := fired(v, steps); enabled(v, steps) && want[w] && !want[v] {
						want[v], again = true, true
					}
				}
			}
		}
		n, err := t.s.ReachWithin(nodes, room, many)
		t.same("what leads to a set", n, err, want)
	})
}
