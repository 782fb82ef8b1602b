package property

import "github.com/farhash/farhash/statespace/petri"

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
	Formula *Formula // of Always, Sometimes and Temporal
	Sum     Sum      // of Bound
}

// Op is what a formula does.
type Op int

// The operators.
const (
	And     Op = iota // of Args; true if there are none
	Or                // of Args; false if there are none
	Not               // of the only one of Args
	AtMost            // Left <= Right
	Enabled           // one of Transitions at least is enabled
	Stuck             // no transition is enabled
	Iff               // both of Args are true, or none

	// What follows looks along paths. Only in a deadlock does a path end.
	Exists   // the only one of Args is true of a path from here
	Forall   // the only one of Args is true of all paths from here
	Next     // the only one of Args is true from the next marking of the path on
	Finally  // it is true from some marking of the path on
	Globally // it is true from each marking of the path on
	Until    // the second of Args is true from some marking on, and the first one until then
)

// Looks reports whether an operator looks along paths. Holds does not know those that do.
func (op Op) Looks() bool { return op >= Exists }

// Formula is true or false of a marking.
type Formula struct {
	Op          Op
	Args        []*Formula
	Left, Right Sum
	Transitions []int
}

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

// Holds reports whether the formula is true of a marking of net.
func (f *Formula) Holds(net *petri.Net, marking []int64) bool {
	switch f.Op {
	case And:
		for _, arg := range f.Args {
			if !arg.Holds(net, marking) {
				return false
			}
		}
		return true
	case Or:
		for _, arg := range f.Args {
			if arg.Holds(net, marking) {
				return true
			}
		}
		return false
	case Not:
		return !f.Args[0].Holds(net, marking)
	case AtMost:
		return f.Left.Value(marking) <= f.Right.Value(marking)
	case Iff:
		return f.Args[0].Holds(net, marking) == f.Args[1].Holds(net, marking)
	case Enabled:
		for _, t := range f.Transitions {
			if net.Transitions[t].Enabled(marking) {
				return true
			}
		}
		return false
	default:
		for t := range net.Transitions {
			if net.Transitions[t].Enabled(marking) {
				return false
			}
		}
		return true
	}
}

// Places calls use for each place that the formula's value depends on, except the places that Stuck
// does.
func (f *Formula) Places(net *petri.Net, use func(place int)) {
	for _, arg := range f.Args {
		arg.Places(net, use)
	}
	for _, sum := range []Sum{f.Left, f.Right} {
		for _, t := range sum.Terms {
			use(t.Place)
		}
	}
	for _, t := range f.Transitions {
		for _, a := range net.Transitions[t].In {
			use(a.Place)
		}
	}
}

// negation is the formula's opposite.
func negation(f *Formula) *Formula { return &Formula{Op: Not, Args: []*Formula{f}} }
