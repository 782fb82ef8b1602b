package explore

// Model is a transition system whose states are packed into a fixed number of
// 64-bit words. A Model is read-only: many goroutines use it at once. A model that breaks
// the rules below, or panics, ends the search on all ranks, with a *ModelError on the rank
// where it did.
type Model interface {
	// StateBits is the number of bits of a packed state, at least 1. States of
	// up to 63 bits occupy the low bits of one word.
	StateBits() int
	// StateWords is the number of words of a packed state: 1 up to 64 bits, and 512 at most.
	StateWords() int
	// Initial stores the initial state into dst, which has StateWords words.
	Initial(dst []uint64)
	// NewExpander returns an expander for one goroutine.
	NewExpander() Expander
}

// Expander computes successors. One goroutine uses it.
type Expander interface {
	// Expand appends to out one packed state (StateWords words) for each
	// transition that is enabled in state, and returns the extended slice. A
	// state reached by two transitions is appended twice. No appended state
	// means a deadlock. What out has already must stay, and none of the memory is the
	// expander's to keep.
	// The error is *OverflowError when a successor does not fit the packing.
	Expand(state, out []uint64) ([]uint64, error)
	// Predecessors appends to preds every packed state from which one transition
	// leads to state, whether that predecessor is reachable or not, and appends to
	// transitions the number of that transition, one per predecessor.
	Predecessors(state, preds []uint64, transitions []int) ([]uint64, []int)
	// Peaks returns the largest values seen in the states expanded so far. They never fall.
	Peaks() Peaks
}

// Peaks are the largest token counts seen.
type Peaks struct {
	TokensPlace   uint64 // most tokens in one place
	TokensMarking uint64 // most tokens in one marking
}

// OverflowError says that a state does not fit the packing, which was made on
// a guess because the structure of the model bounds no better.
type OverflowError struct {
	Place string // the place that needs more bits
	Bits  int    // the bits that it has
}
