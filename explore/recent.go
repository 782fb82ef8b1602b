package explore

import (
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"
)

// recent is states that this rank has put into the set lately, or is about to. Several arcs lead to
// most states, many of them from states that are expanded one soon after the other. To compare such
// a state with a word here takes less time than to look it up in the set, and far less where its
// owner is on another host. A state has one place, where it replaces the one before.
//
// Invariant: what is in slots is in the set, or in a batch that is inserted before the state that
// leads there again is counted as done.
type recent struct {
	slots []uint64
	words int // of a state
	shift int
}

// newRecent has room for so many words, a power of two, and knows the initial state.
func newRecent(size int, initial []uint64) recent {
	words := len(initial)
	places := max(1, size/words)
	log := bits.Len(uint(places)) - 1
	r := recent{words: words, shift: 64 - log}
	r.slots = slices.Repeat(initial, 1<<log)
	return r
}

// drop removes from states, from an index on, those that are remembered, and remembers the rest.
func (r *recent) drop(states []uint64, from int) []uint64 {
	if r.words > 1 {
		return r.dropLong(states, from)
	}
	kept := states[:from]
	for _, state := range states[from:] {
		slot := &r.slots[state*0x9e3779b97f4a7c15>>r.shift]
		if *slot == state {
			continue
		}
		*slot = state
		kept = append(kept, state)
	}
	return kept
}

// dropLong is drop for states of several words.
func (r *recent) dropLong(states []uint64, from int) []uint64 {
	kept := states[:from]
	for ; from < len(states); from += r.words {
		state := states[from : from+r.words]
		at := int(xxh3.Hash(bytesOf(state))>>r.shift) * r.words
		slot := r.slots[at : at+r.words]
		if slices.Equal(slot, state) {
			continue
		}
		copy(slot, state)
		kept = append(kept, state...)
	}
	return kept
}
