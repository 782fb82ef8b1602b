package reduce

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// Reduced is a smaller net with a question that has the same answer there.
type Reduced struct {
	Net      *petri.Net
	Property property.Property // about Net

	given   *petri.Net
	asked   property.Property
	begin   []int   // firings of given that come first
	firings [][]int // by transition of Net: the firings of given that it stands for
	ends    [][]int // of a deadlock: the last of them first, each as often as it is possible
}

// For reduces a net for one question. It returns nil if no rule changes the net, or if the rules do
// not keep the answer to such a question: the package's documentation lists those that they keep.
func For(given *petri.Net, asked property.Property) *Reduced {
	return by(given, asked, rules)
}

// by reduces a net by some of the rules.
func by(given *petri.Net, asked property.Property, rules []func(*net) bool) *Reduced {
	n, left := start(given, asked)
	if n == nil {
		return nil
	}
	n.apply(rules)
	places, transitions := n.sizes()
	if places == len(given.Places) && transitions == len(given.Transitions) {
		return nil
	}
	r := &Reduced{given: given, asked: asked, begin: n.begin, ends: n.ends, Property: left}
	var moves []int
	r.Net, moves, r.firings = n.petri(given)
	if r.Property.Kind == property.Bound {
		r.Property.Sum = movedSum(&left.Sum, moves)
	} else {
		r.Property.Formula = moved(left.Formula, moves)
	}
	return r
}

// start makes the net for a question, and the question about places. The net is nil if the rules do
// not keep the answer.
func start(given *petri.Net, asked property.Property) (*net, property.Property) {
	n := newNet(given)
	if n == nil || asked.Kind > property.Bound {
		return nil, asked
	}
	n.up, n.down = make([]bool, len(given.Places)), make([]bool, len(given.Places))
	n.dropDead()
	switch {
	case asked.Kind == property.Bound:
		n.wantSum(&asked.Sum, true)
	case isDeadlock(&asked):
		n.deadlock = true
	default:
		dead := func(t int) bool { return n.transitions[t].gone }
		f, ok := ofPlaces(asked.Formula, given, dead)
		if !ok {
			return nil, asked
		}
		n.want(f, asked.Kind == property.Sometimes)
		asked.Formula = f
	}
	return n, asked
}

// rules are applied in this order.
var rules = []func(*net) bool{(*net).dropDead, (*net).dropIrrelevant, (*net).dropRedundant,
	(*net).dropDuplicates, (*net).agglomerate}

// apply applies rules until none changes anything.
func (n *net) apply(rules []func(*net) bool) {
	for changed := true; changed && n.steps > 0; {
		changed = false
		for _, rule := range rules {
			changed = rule(n) || changed
		}
	}
}

// Replay are the firings of the given net for firings of the reduced net that lead to a marking
// which decides the question, or to the value of a bound. They are fired on the given net. It is an
// error if the marking does not show the same there, which would be a fault of a rule.
func (r *Reduced) Replay(firings []int) (expanded []int, marking []int64, err error) {
	here := r.Net.Initial()
	if err := r.Net.FireAll(here, firings); err != nil {
		return nil, nil, fmt.Errorf("reduce: in the reduced net: %w", err)
	}
	expanded, marking = slices.Clone(r.begin), r.given.Initial()
	for _, t := range firings {
		expanded = append(expanded, r.firings[t]...)
	}
	if err := r.given.FireAll(marking, expanded); err != nil {
		return nil, nil, fmt.Errorf("reduce: a fault: in the given net: %w", err)
	}
	for _, end := range slices.Backward(r.ends) {
		next := slices.Clone(marking)
		for r.given.FireAll(next, end) == nil {
			expanded, marking = append(expanded, end...), slices.Clone(next)
		}
	}
	same := false
	switch r.asked.Kind {
	case property.Bound:
		same = r.asked.Sum.Value(marking) == r.Property.Sum.Value(here)
	default:
		same = property.Holds(r.asked.Formula, r.given, marking) ==
			(r.asked.Kind == property.Sometimes)
	}
	if !same {
		return nil, nil, fmt.Errorf("reduce: a fault: the given net does not show %s",
			r.asked.Name)
	}
	return expanded, marking, nil
}
