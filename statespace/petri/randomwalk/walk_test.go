package randomwalk_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/petri/randomwalk"
)

// randomSum is a sum over some places.
func randomSum(rng *rand.Rand, n *petri.Net) property.Sum {
	s := property.Sum{Constant: rng.Int64N(4)}
	for place := range n.Places {
		if rng.IntN(3) == 0 {
			s.Terms = append(s.Terms, property.Term{Place: place, Weight: rng.Int64N(4) - 1})
		}
	}
	return s
}

// randomFormula is a formula that nests at most so deep.
func randomFormula(rng *rand.Rand, n *petri.Net, depth int) *logic.Formula {
	arg := func() *logic.Formula { return randomFormula(rng, n, depth-1) }
	kind := rng.IntN(7)
	if depth == 0 && (kind < 3 || kind > 5) {
		kind = 3
	}
	switch kind {
	case 0, 1:
		f := logic.Of([]logic.Op{logic.And, logic.Or}[kind])
		for range rng.IntN(4) {
			f.Args = append(f.Args, arg())
		}
		return f
	case 2:
		return logic.Of(logic.Not, arg())
	case 3:
		return logic.Leaf(&property.AtMost{Left: randomSum(rng, n), Right: randomSum(rng, n)})
	case 4:
		var some property.Enabled
		for range 1 + rng.IntN(2) {
			some = append(some, rng.IntN(len(n.Transitions)))
		}
		return logic.Leaf(some)
	case 5:
		return logic.Leaf(property.Stuck{})
	}
	return logic.Of(logic.Iff, arg(), arg())
}

// randomNet makes nets with all kinds of arcs for odd numbers.
func randomNet(number uint64) func(rng *rand.Rand, places, transitions int) *petri.Net {
	if number%2 == 1 {
		return naive.RandomSpecial
	}
	return naive.RandomNet
}

// enabled are the transitions that are enabled.
func enabled(n *petri.Net, marking []int64) (all []int) {
	for t := range n.Transitions {
		if n.Transitions[t].Enabled(marking) {
			all = append(all, t)
		}
	}
	return all
}

// A walk fires the net, and is at its goal exactly where the formula holds. It is repeated by its
// number.
func TestWalks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	steps, arrived, ended := 0, 0, 0
	for number := range uint64(800) {
		n := randomNet(number)(rng, 1+rng.IntN(7), 1+rng.IntN(7))
		f := randomFormula(rng, n, 3)
		m := randomwalk.New(n, nil)
		goal := m.Goal(f)
		w, again := m.Walker(), m.Walker()
		w.Begin(99, nil) // what was before does not matter
		for range 5 {
			w.Step()
		}
		w.Begin(number, goal)
		again.Begin(number, goal)
		marking := n.Initial()
		for range 300 {
			if holds := property.Holds(f, n, marking); holds != w.There() {
				t.Fatalf("%d: at %v, distance %d of %+v, which is %v", number, marking,
					goal.Distance(w.Marking()), f, holds)
			}
			can := enabled(n, marking)
			step := w.Step()
			if again.Step() != step || step && again.Transition() != w.Transition() {
				t.Fatalf("%d: the walk is not repeated", number)
			}
			if !step {
				if len(can) > 0 && w.Length() < 256 && w.Tries() < 2048 {
					t.Fatalf("%d: over at %v after %d steps", number, marking, w.Length())
				}
				ended++
				break
			}
			if !slices.Contains(can, w.Transition()) {
				t.Fatalf("%d: at %v transition %d fired", number, marking, w.Transition())
			}
			n.Transitions[w.Transition()].Fire(marking)
			places := len(n.Places)
			if !slices.Equal(w.Marking()[:places], marking) ||
				w.Marking()[places] != int64(len(enabled(n, marking))) {
				t.Fatalf("%d: %v, want %v", number, w.Marking(), marking)
			}
			steps++
		}
		if w.There() {
			arrived++
		}
	}
	if steps < 20_000 || arrived < 100 || ended < 100 {
		t.Errorf("%d steps, %d goals, %d ends", steps, arrived, ended)
	}
}

// Each marking is at some distance from a formula or from its opposite, and not from both.
func TestDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range uint64(4000) {
		n := randomNet(i)(rng, 1+rng.IntN(5), 1+rng.IntN(5))
		f := randomFormula(rng, n, 3)
		m := randomwalk.New(n, nil)
		marking := n.Initial()
		for place := range marking {
			marking[place] = rng.Int64N(5)
		}
		all := append(slices.Clone(marking), int64(len(enabled(n, marking))))
		yes := m.Goal(f).Distance(all)
		not := logic.Of(logic.Not, f)
		no := m.Goal(not).Distance(all)
		if holds := property.Holds(f, n, marking); yes < 0 || no < 0 || (yes == 0) != holds ||
			(no == 0) == holds {
			t.Fatalf("%d: %d and %d from %+v, which is %v", i, yes, no, f, holds)
		}
	}
}

// Distances add up over a conjunction, and count what is missing.
func TestDistanceValues(t *testing.T) {
	n := &petri.Net{Places: make([]petri.Place, 2), Transitions: []petri.Transition{
		{In: []petri.Arc{{Place: 0, Weight: 3}, {Place: 1, Weight: 1}}}}}
	atLeast := func(place int, least int64) *logic.Formula {
		return logic.Leaf(&property.AtMost{Left: property.Sum{Constant: least},
			Right: property.Sum{Terms: []property.Term{{Place: place, Weight: 1}}}})
	}
	m := randomwalk.New(n, nil)
	join := func(op logic.Op) *randomwalk.Goal {
		return m.Goal(logic.Of(op, atLeast(0, 5), atLeast(1, 2)))
	}
	for _, c := range []struct {
		goal     *randomwalk.Goal
		distance int64
	}{{join(logic.And), 6}, {join(logic.Or), 2}, {m.Fire(0), 3},
		{m.Largest(property.Sum{Terms: []property.Term{{Place: 0, Weight: 2}}}, 10), 8},
		{m.Largest(property.Sum{Terms: []property.Term{{Place: 0, Weight: 2}}}, math.MaxInt64), -2},
		{m.Goal(logic.Leaf(property.Stuck{})), 7}} {
		if got := c.goal.Distance([]int64{1, 0, 7}); got != c.distance {
			t.Errorf("%+v: %d, want %d", c.goal, got, c.distance)
		}
	}
}

// Deadlocks of philosophers are found among more markings than any search stores.
func TestFindsDeadlock(t *testing.T) {
	n, err := petri.Family("philosophers", 60)
	if err != nil {
		t.Fatal(err)
	}
	m := randomwalk.New(n, nil)
	goal := m.Goal(logic.Leaf(property.Stuck{}))
	w := m.Walker()
	for number := uint64(0); ; number++ {
		if number == 1000 {
			t.Fatal("no deadlock was found")
		}
		for w.Begin(number, goal); !w.There() && w.Step(); {
		}
		if number == 0 && w.Tries() <= w.Length() { // it is stubborn
			t.Errorf("%d tries for %d steps", w.Tries(), w.Length())
		}
		if w.There() {
			break
		}
	}
	if all := enabled(n, w.Marking()[:len(n.Places)]); len(all) > 0 {
		t.Errorf("%v are enabled", all)
	}
}

// A transition that is known to be dead is not considered, and a walk ends where a place would have
// too many tokens.
func TestWalkEnds(t *testing.T) {
	n := &petri.Net{Places: make([]petri.Place, 1), Transitions: []petri.Transition{
		{Out: []petri.Arc{{Place: 0, Weight: petri.MaxTokens}}}}}
	w := randomwalk.New(n, []bool{false}).Walker()
	if w.Begin(1, nil); w.Step() || w.Marking()[1] != 0 {
		t.Errorf("at %v", w.Marking())
	}
	w = randomwalk.New(n, nil).Walker()
	if w.Begin(1, nil); !w.Step() || w.Step() || w.Length() != 1 {
		t.Errorf("at %v after %d steps", w.Marking(), w.Length())
	}
}

// A walk whose steps all lead away ends when it has tried 8 times as many as it may have.
func TestWalkIsTakenBack(t *testing.T) {
	n := &petri.Net{Places: make([]petri.Place, 1), Transitions: []petri.Transition{
		{Out: []petri.Arc{{Place: 0, Weight: 1}}}}}
	m := randomwalk.New(n, nil)
	empty := m.Goal(logic.Leaf(&property.AtMost{
		Left:  property.Sum{Terms: []property.Term{{Place: 0, Weight: 1}}},
		Right: property.Sum{Constant: -1}}))
	w, givenUp, taken := m.Walker(), 0, 0
	for number := range uint64(40) {
		for w.Begin(number, empty); w.Step(); {
		}
		if w.Length() == w.Tries() {
			taken++ // it is not stubborn
		}
		if w.Length() < 256 {
			givenUp++
			if tries := w.Tries() / 8; w.Tries()%8 != 0 || tries < 256 || tries&(tries-1) != 0 {
				t.Errorf("walk %d has %d tries for %d steps", number, w.Tries(), w.Length())
			}
		}
		if int(w.Marking()[0]) != w.Length() {
			t.Errorf("walk %d: %d tokens after %d steps", number, w.Marking()[0], w.Length())
		}
	}
	if givenUp < 5 || taken < 5 {
		t.Errorf("%d walks have given up, %d were not stubborn", givenUp, taken)
	}
}
