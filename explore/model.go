package explore

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
)

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
	// Initial appends the packed initial states to out, at least one, and returns the extended
	// slice.
	Initial(out []uint64) []uint64
	// NewExpander returns an expander for one goroutine.
	NewExpander() Expander
	// Findings is how many findings an expander keeps: words for what it has seen in the
	// states that it expanded.
	Findings() int
	// Decided reports whether findings answer all that is asked of the model, so that the
	// search may end. It is asked with the largest of each finding over all ranks, whenever
	// one is no longer 0.
	Decided(findings []uint64) bool
}

// Expander computes successors. One goroutine uses it.
type Expander interface {
	// Expand appends to out one packed state (StateWords words) for each
	// transition that is enabled in state, and returns the extended slice. A
	// state reached by two transitions is appended twice. No appended state
	// means a deadlock. What out has already must stay, and none of the memory is the
	// expander's to keep. The same state always has the same successors, in the same order.
	// The error is *OverflowError when a successor does not fit the packing.
	Expand(state, out []uint64) ([]uint64, error)
	// Findings returns what the states expanded so far have shown. It is the same memory at
	// every call; Expand changes it, and only Expand. A finding begins at 0 and never falls. The
	// state whose expansion changes it from 0 is its witness, which Options.Trace can lead to.
	Findings() []uint64
	// Found is how many findings are not 0.
	Found() int
}

// OverflowError says that a state does not fit the packing, which was made on
// a guess because the structure of the model bounds no better.
type OverflowError struct {
	Place string // the place that needs more bits
	Bits  int    // the bits that it has
}

// Error says which place needs more bits.
func (e *OverflowError) Error() string {
	if e.Place == "" {
		return "explore: a state does not fit the packing"
	}
	return fmt.Sprintf("explore: place %s has more tokens than %d %s", e.Place, e.Bits,
		english.PluralWord(e.Bits, "bit holds", "bits hold"))
}
