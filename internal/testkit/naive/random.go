package naive

import (
	"fmt"
	"math/rand/v2"

	"github.com/farhash/farhash/statespace/petri"
)

// RandomNet returns a small net of the given numbers of places and
// transitions, for comparing explorers. Weights are small, initial markings 0 to
// 3. Generators in the same state give the same net.
//
// In three nets of four no transition produces more tokens than it consumes, so
// they are bounded. The others may well be unbounded: explore with a limit.
func RandomNet(rng *rand.Rand, places, transitions int) *petri.Net {
	n := &petri.Net{Name: "random"}
	for i := range places {
		id := fmt.Sprintf("p%d", i)
		n.Places = append(n.Places, petri.Place{ID: id, Name: id, Initial: rng.Int64N(4)})
	}
	conserving := rng.IntN(4) != 0
	for i := range transitions {
		id := fmt.Sprintf("t%d", i)
		in := randomArcs(rng, places)
		out := randomArcs(rng, places)
		if conserving {
			out = conserve(rng, out, places, tokens(in))
		}
		n.Transitions = append(n.Transitions,
			petri.Transition{ID: id, Name: id, In: in, Out: out})
	}
	return n
}

// AnyNet is RandomNet or RandomSpecial.
func AnyNet(rng *rand.Rand, places, transitions int) *petri.Net {
	if rng.IntN(2) == 0 {
		return RandomNet(rng, places, transitions)
	}
	return RandomSpecial(rng, places, transitions)
}

// RandomSpecial is RandomNet whose transitions have read, inhibitor and reset
// arcs too.
func RandomSpecial(rng *rand.Rand, places, transitions int) *petri.Net {
	n := RandomNet(rng, places, transitions)
	AddSpecial(rng, n)
	return n
}

// AddSpecial gives the transitions of a net read, inhibitor and reset arcs. It
// reaches no markings with more tokens then.
func AddSpecial(rng *rand.Rand, n *petri.Net) {
	places := len(n.Places)
	for i := range n.Transitions {
		t := &n.Transitions[i]
		for place := range places {
			switch rng.IntN(3 * places) {
			case 0, 1:
				t.Inhibitors = append(t.Inhibitors, petri.Arc{Place: place,
					Weight: 1 + rng.Int64N(4)})
			case 2:
				t.Resets = append(t.Resets, place)
			}
		}
		if rng.IntN(3) == 0 && len(t.In) > 0 { // reads what it takes
			t.Out = append([]petri.Arc(nil), t.In...)
		}
	}
}

// randomArcs returns arcs of about two places.
func randomArcs(rng *rand.Rand, places int) []petri.Arc {
	var arcs []petri.Arc
	for p := range places {
		if rng.IntN(places) >= 2 {
			continue
		}
		weight := int64(1) // mostly, or little is ever enabled
		if rng.IntN(4) == 0 {
			weight += rng.Int64N(3)
		}
		arcs = append(arcs, petri.Arc{Place: p, Weight: weight})
	}
	return arcs
}

func tokens(arcs []petri.Arc) int64 {
	var sum int64
	for _, a := range arcs {
		sum += a.Weight
	}
	return sum
}

// conserve changes arcs to carry no more than budget tokens, and mostly just as
// many: a net that only loses tokens soon stands still.
func conserve(rng *rand.Rand, arcs []petri.Arc, places int, budget int64) []petri.Arc {
	weights := make([]int64, places)
	// In random order, else the last places would starve.
	for _, i := range rng.Perm(len(arcs)) {
		w := min(arcs[i].Weight, budget)
		weights[arcs[i].Place] = w
		budget -= w
	}
	if places > 0 && rng.IntN(4) != 0 {
		weights[rng.IntN(places)] += budget
	}
	arcs = nil
	for p, w := range weights {
		if w > 0 {
			arcs = append(arcs, petri.Arc{Place: p, Weight: w})
		}
	}
	return arcs
}
