package randomwalk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/petri"
)

// pumps is a net of n parts that work beside each other: rings of a few places, of which the ring
// of a number, if any, also adds a token to a store for each round. All begin a round by a place
// that they share, so that the net is in one piece.
func pumps(n, size, pump int) *petri.Net {
	net := &petri.Net{Name: "pumps", Places: []petri.Place{{ID: "bus", Name: "bus", Initial: 1}}}
	for part := range n {
		first := len(net.Places)
		for i := range size {
			p := petri.Place{ID: fmt.Sprintf("p%d.%d", part, i)}
			if p.Name = p.ID; i == 0 {
				p.Initial = 1
			}
			net.Places = append(net.Places, p)
			t := petri.Transition{ID: fmt.Sprintf("t%d.%d", part, i),
				In:  []petri.Arc{{Place: first + i, Weight: 1}},
				Out: []petri.Arc{{Place: first + (i+1)%size, Weight: 1}}}
			t.Name = t.ID
			if i == 0 {
				bus := petri.Arc{Place: 0, Weight: 1}
				t.In, t.Out = append([]petri.Arc{bus}, t.In...), append([]petri.Arc{bus}, t.Out...)
			}
			net.Transitions = append(net.Transitions, t)
		}
		if part == pump {
			net.Places = append(net.Places, petri.Place{ID: "store", Name: "store"})
			last := &net.Transitions[len(net.Transitions)-1]
			last.Out = append(last.Out, petri.Arc{Place: len(net.Places) - 1, Weight: 1})
		}
	}
	return net
}

// A growth is found though other parts of the net do not come back to where they were, and has no
// firing that is not needed.
func TestGrowth(t *testing.T) {
	for _, n := range []int{1, 2, 10, 40} {
		for _, size := range []int{1, 2, 6} {
			net := pumps(n, size, n/2)
			if err := net.Check(); err != nil {
				t.Fatal(err)
			}
			g := New(net, nil).Growth(t.Context(), 1<<20)
			if g == nil {
				t.Errorf("%d rings of %d: no growth is found", n, size)
				continue
			}
			if err := g.Check(net); err != nil {
				t.Errorf("%d rings of %d: %v", n, size, err)
			}
			if len(g.Cycle) != size || len(g.After) > 0 || net.Places[g.Place].ID != "store" {
				t.Errorf("%d rings of %d: %+v", n, size, g)
			}
			again := New(net, nil).Growth(t.Context(), 1<<20)
			if fmt.Sprint(again) != fmt.Sprint(g) {
				t.Errorf("another growth the second time: %v, %v", g, again)
			}
		}
	}
}

// shorten leaves out the rounds of another ring, though no firing of a round can be left out alone.
func TestShorten(t *testing.T) {
	net := pumps(2, 3, 1)
	g := &Growth{Place: len(net.Places) - 1, After: slices.Repeat([]int{0, 1, 2}, 7),
		Cycle: []int{3, 0, 4, 1, 5, 2}}
	s := &grower{Walker: New(net, nil).Walker()}
	if s.shorten(g); len(g.After) > 0 || g.Check(net) != nil || len(g.Cycle) != 6 {
		t.Errorf("%+v", g)
	}
}

// A bounded net has no growth, however long walks are.
func TestNoGrowth(t *testing.T) {
	nets := []*petri.Net{pumps(3, 4, -1), {Name: "empty"}}
	for _, family := range petri.FamilyNames() {
		net, err := petri.Family(family, 3)
		if err != nil {
			t.Fatal(err)
		}
		nets = append(nets, net)
	}
	for _, net := range nets {
		if g := New(net, nil).Growth(t.Context(), 1<<16); g != nil {
			t.Errorf("%s: %+v", net.Name, g)
		}
	}
}

// What is found in random nets is a growth of them, and what Check accepts cannot be changed.
func TestGrowthOfRandomNets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	found := 0
	for range 3000 {
		net := randomNet(rng)
		g := New(net, nil).Growth(t.Context(), 1<<10)
		if g == nil {
			continue
		}
		found++
		if err := g.Check(net); err != nil {
			t.Fatalf("%v of %+v: %v", g, net, err)
		}
		for p := range net.Places {
			if more := gain(net, g.Cycle, p); more < 0 || p == g.Place && more == 0 {
				t.Fatalf("%v of %+v adds %d tokens to place %d", g, net, more, p)
			}
		}
		worse := Growth{g.Place, g.After, g.Cycle[:0]}
		if worse.Check(net) == nil {
			t.Errorf("no firings are accepted")
		}
		worse = *g
		worse.After = append(slices.Clone(g.After), slices.Repeat([]int{0}, 1000)...)
		if worse.Check(net) == nil && len(net.Transitions[0].In) > 0 && takes(net, 0) {
			t.Errorf("firings that are not possible are accepted")
		}
	}
	if found < 500 {
		t.Errorf("%d of 3000 nets have a growth", found)
	}
}

// gain is how many tokens a sequence adds to a place.
func gain(net *petri.Net, sequence []int, place int) (tokens int64) {
	for _, t := range sequence {
		for _, a := range net.Transitions[t].Out {
			if a.Place == place {
				tokens += a.Weight
			}
		}
		for _, a := range net.Transitions[t].In {
			if a.Place == place {
				tokens -= a.Weight
			}
		}
	}
	return tokens
}

// Growth finds one in nearly every random net that is unbounded, and in none that is bounded, which
// a search of all markings says: on each path one covers another one, or there are finitely many.
func TestGrowthBesideSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	missed, unbounded, bounded := 0, 0, 0
	for range 2000 {
		net := randomNet(rng)
		grows, known := covers(net)
		if !known {
			continue
		}
		g := New(net, nil).Growth(t.Context(), 1<<14)
		switch {
		case g != nil && !grows:
			t.Fatalf("%+v of a net that is bounded: %+v", g, net)
		case g == nil && grows:
			missed++
			fallthrough
		case grows:
			unbounded++
		default:
			bounded++
		}
	}
	t.Logf("%d unbounded, of which %d were missed; %d bounded", unbounded, missed, bounded)
	if unbounded < 300 || bounded < 300 || missed > unbounded/100 {
		t.Errorf("%d of %d unbounded nets are missed; %d are bounded", missed, unbounded, bounded)
	}
}

// In a net with inhibitor and reset arcs, the cycle of a growth can be fired again and again, and
// adds to its place each time. A net that is bounded has no growth.
func TestGrowthOfSpecialNets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	found, bounded := 0, 0
	for i := range 4000 {
		net := naive.RandomSpecial(rng, 1+rng.IntN(5), 1+rng.IntN(5))
		g := New(net, nil).Growth(t.Context(), 1<<11)
		if g == nil {
			if r, err := naive.Explore(net, 500); err == nil && r.Complete {
				bounded++
			}
			continue
		}
		found++
		if err := g.Check(net); err != nil {
			t.Fatalf("net %d: %v of %+v: %v", i, g, net, err)
		}
		m := net.Initial()
		if err := net.FireAll(m, g.After); err != nil {
			t.Fatal(err)
		}
		gains := g.Gain(net)
		for round := range 30 {
			before := slices.Clone(m)
			if err := net.FireAll(m, g.Cycle); err != nil {
				t.Fatalf("net %d, round %d: %v of %+v: %v", i, round, g, net, err)
			}
			for p := range m {
				if m[p]-before[p] != gains[p] || gains[p] < 0 || p == g.Place && gains[p] == 0 {
					t.Fatalf("net %d, round %d: %v of %+v: %v after %v, want %v more", i, round, g,
						net, m, before, gains)
				}
			}
		}
	}
	if found < 120 || bounded < 3000 {
		t.Errorf("%d nets have a growth, %d are bounded", found, bounded)
	}
}

// One round adds a token, and yet the nets are bounded: an inhibitor arc ends it, or a reset arc
// takes what each round adds. Beside such a place another one may grow.
func TestGrowthThatEnds(t *testing.T) {
	one, other := []petri.Arc{{Place: 0, Weight: 1}}, petri.Arc{Place: 1, Weight: 1}
	with := func(t petri.Transition) *petri.Net {
		return &petri.Net{Places: []petri.Place{{ID: "p"}, {ID: "q"}},
			Transitions: []petri.Transition{t}}
	}
	inhibited := petri.Transition{Out: one, Inhibitors: []petri.Arc{{Place: 0, Weight: 9}}}
	reset := petri.Transition{Out: one, Resets: []int{0}}
	for _, at := range []petri.Transition{inhibited, reset} {
		net := with(at)
		g := &Growth{Cycle: []int{0}}
		if err := g.Check(net); err == nil {
			t.Errorf("%+v grows by %+v", net, g)
		}
		if g := New(net, nil).Growth(t.Context(), 1<<12); g != nil {
			t.Errorf("%+v grows by %+v", net, g)
		}
	}
	reset.Out = append(slices.Clone(one), other)
	if g := New(with(reset), nil).Growth(t.Context(), 1<<12); g == nil || g.Place != 1 ||
		len(g.After) != 1 { // the first round adds to both places
		t.Errorf("the place beside one that is emptied: %+v", g)
	}
}

// A firing that empties places does not begin the cycle instead of ending it: what they had before
// it may be less after a round.
func TestTurn(t *testing.T) {
	one := func(place int) []petri.Arc { return []petri.Arc{{Place: place, Weight: 1}} }
	net := &petri.Net{Places: []petri.Place{{ID: "p", Initial: 3}, {ID: "q"},
		{ID: "turn", Initial: 1}, {ID: "back"}}, Transitions: []petri.Transition{
		{ID: "empty", In: one(2), Out: []petri.Arc{{Place: 1, Weight: 1}, {Place: 3, Weight: 1}},
			Resets: []int{0}},
		{ID: "back", In: one(3), Out: one(2)}}}
	g := &Growth{Place: 1, After: []int{0}, Cycle: []int{1, 0}}
	if g.turn(net); g.Check(net) != nil || len(g.After) != 1 {
		t.Errorf("%+v: %v", g, g.Check(net))
	}
	net.Transitions[0].Resets = nil
	if g.turn(net); g.Check(net) != nil || len(g.After) != 0 {
		t.Errorf("without resets: %+v: %v", g, g.Check(net))
	}
}

// covers reports whether a marking covers one that it is reached from, by depth-first search; known
// is false if that takes too long.
func covers(net *petri.Net) (grows, known bool) {
	seen, left := map[string]bool{}, 5000
	var path [][]int64
	var visit func(m []int64) bool
	visit = func(m []int64) bool {
		for _, before := range path {
			less, more := false, false
			for p := range m {
				less, more = less || m[p] < before[p], more || m[p] > before[p]
			}
			if more && !less {
				return true
			}
		}
		if key := fmt.Sprint(m); seen[key] {
			return false
		} else if left--; left < 0 {
			return false
		} else {
			seen[key] = true
		}
		path = append(path, m)
		defer func() { path = path[:len(path)-1] }()
		for i := range net.Transitions {
			if tr := &net.Transitions[i]; tr.Enabled(m) {
				next := slices.Clone(m)
				tr.Fire(next)
				if visit(next) {
					return true
				}
			}
		}
		return false
	}
	grows = visit(net.Initial())
	return grows, grows || left >= 0
}

// takes reports whether a transition takes more tokens from a place than it adds.
func takes(net *petri.Net, t int) bool {
	return slices.ContainsFunc(changes(&net.Transitions[t]), func(c term) bool {
		return c.weight < 0
	})
}

// randomNet is a net of a few places and transitions.
func randomNet(rng *rand.Rand) *petri.Net {
	net := &petri.Net{Name: "random"}
	for i := range 1 + rng.IntN(5) {
		net.Places = append(net.Places, petri.Place{ID: fmt.Sprint("p", i),
			Name: fmt.Sprint("p", i), Initial: int64(rng.IntN(3))})
	}
	for i := range 1 + rng.IntN(5) {
		t := petri.Transition{ID: fmt.Sprint("t", i), Name: fmt.Sprint("t", i)}
		for _, arcs := range []*[]petri.Arc{&t.In, &t.Out} {
			for p := range net.Places {
				if rng.IntN(3) == 0 {
					*arcs = append(*arcs, petri.Arc{Place: p, Weight: int64(1 + rng.IntN(2))})
				}
			}
		}
		net.Transitions = append(net.Transitions, t)
	}
	return net
}
