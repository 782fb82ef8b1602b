package property

import (
	"slices"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
)

// Kind is what a property asks.
type Kind int

// The kinds.
const (
	Always    Kind = iota // the formula holds in all reachable markings
	Sometimes             // it holds in one at least
	Bound                 // the largest value of the sum
	Temporal              // the formula, which may look along paths, holds initially
	Stable                // some place has the same tokens in all
	QuasiLive             // each transition is enabled in one at least
	Live                  // from each of them each transition can be enabled again
)

// Property is a question about the reachable markings of a net.
type Property struct {
	Name    string
	Kind    Kind
	Formula *logic.Formula // of Always, Sometimes and Temporal
	Sum     Sum            // of Bound
}

// The atoms of formulas are true or false of a marking: *AtMost, Enabled or Stuck.
type (
	// AtMost says that Left <= Right.
	AtMost struct{ Left, Right Sum }
	// Enabled says that one of some transitions at least is enabled.
	Enabled []int
	// Stuck says that no transition is enabled.
	Stuck struct{}
)

// Sum is a weighted sum of tokens.
type Sum struct {
	Constant int64
	Terms    []Term // at most one of each place, sorted by place
}

// Term is the tokens of a place times a weight.
type Term struct {
	Place  int
	Weight int64
}

// Value is the sum in a marking.
func (s *Sum) Value(marking []int64) int64 {
	value := s.Constant
	for _, t := range s.Terms {
		value += t.Weight * marking[t.Place]
	}
	return value
}

// Holds reports whether a formula that does not look along paths is true of a marking of net.
func Holds(f *logic.Formula, net *petri.Net, marking []int64) bool {
	switch atom := f.Atom.(type) {
	case *AtMost:
		return atom.Left.Value(marking) <= atom.Right.Value(marking)
	case Enabled:
		for _, t := range atom {
			if net.Transitions[t].Enabled(marking) {
				return true
			}
		}
		return false
	case Stuck:
		for t := range net.Transitions {
			if net.Transitions[t].Enabled(marking) {
				return false
			}
		}
		return true
	}
	switch f.Op {
	case logic.Not:
		return !Holds(f.Args[0], net, marking)
	case logic.Iff:
		return Holds(f.Args[0], net, marking) == Holds(f.Args[1], net, marking)
	}
	for _, arg := range f.Args {
		if Holds(arg, net, marking) == (f.Op == logic.Or) {
			return f.Op == logic.Or
		}
	}
	return f.Op == logic.And
}

// Places calls use for each place that the formula's value depends on, except the places that Stuck
// does.
func Places(f *logic.Formula, net *petri.Net, use func(place int)) {
	for _, arg := range f.Args {
		Places(arg, net, use)
	}
	switch atom := f.Atom.(type) {
	case *AtMost:
		for _, t := range slices.Concat(atom.Left.Terms, atom.Right.Terms) {
			use(t.Place)
		}
	case Enabled:
		for _, t := range atom {
			for _, a := range net.Transitions[t].In {
				use(a.Place)
			}
			for _, a := range net.Transitions[t].Inhibitors {
				use(a.Place)
			}
		}
	}
}
