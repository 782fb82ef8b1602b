package property

import "github.com/farhash/farhash/statespace/logic"

// Answer is what is known about a property.
type Answer struct {
	Property *Property
	Verdict  logic.Verdict // of all but Bound
	Value    int64         // of Bound: the largest value, so far if Exact is not set
	Exact    bool          // there is an answer
	// Structural: the structure of the net gave the answer, and no marking.
	Structural bool
	// ByWalk: a random walk has shown it.
	ByWalk bool
	// Witness is the finding of package packing whose witness shows it, for explore.Options.Trace;
	// -1 if none does.
	Witness int
	// Marking shows it, where package diagram gave the answer: it is a marking for which the
	// formula of Always is false, or of Sometimes true, a deadlock, or a marking from which a
	// transition never fires again. It is nil where there is none.
	Marking []int64
	// Transition is one that can not fire any more from what shows it, where a net is not live, or
	// not at all, where nothing shows it; -1 if that is not the answer.
	Transition int
	Reason     string // why it is unknown after a complete search
}
