package temporal

import (
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// step finds out for each state whether a part of a formula is true there.
type step interface {
	// open reports whether the bits of a state with these words may still change.
	open(words []uint64) bool
	// visit changes the words of an open state.
	visit(at *explore.Visit) (changed bool)
	// settled reports whether a state with these words has changed for good.
	settled(words []uint64) bool
	// swept says what is next after a sweep: nothing, or to call each with the words of all states
	// and then applied.
	swept(changed bool) (done bool, each func(words []uint64) (changed bool))
	// applied is called after each, and reports whether nothing is next.
	applied(changed bool) (done bool)
}

// fixpoint is the step of one operator of a path, of formulas of states.
type fixpoint struct {
	op   logic.Op
	all  bool   // of all paths
	bit  int    // that is set: where the operator is true; of Globally, where it is false
	may  *value // where the bit may still be set
	next *value // what is asked of successors
}

func (f *fixpoint) open(words []uint64) bool    { return holds(f.may, words) }
func (f *fixpoint) settled(words []uint64) bool { return words[f.bit/64]>>(f.bit%64)&1 != 0 }
func (f *fixpoint) applied(bool) bool           { return true }

func (f *fixpoint) visit(at *explore.Visit) bool {
	if f.settled(at.Words) || f.leads(at) == (f.op == logic.Globally) {
		return false
	}
	at.Words[f.bit/64] |= 1 << (f.bit % 64)
	return true
}

// leads reports whether all successors of a state, or one, are as they must be.
func (f *fixpoint) leads(at *explore.Visit) bool {
	width := len(at.Words)
	if len(at.NextWords) == 0 {
		return f.op == logic.Globally || f.op == logic.Next && f.all
	}
	for i := 0; i < len(at.NextWords); i += width {
		if holds(f.next, at.NextWords[i:i+width]) != f.all {
			return !f.all
		}
	}
	return f.all
}

func (f *fixpoint) swept(changed bool) (done bool, each func([]uint64) bool) {
	return f.op == logic.Next || !changed, nil
}
