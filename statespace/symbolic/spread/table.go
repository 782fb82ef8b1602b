package spread

import (
	"math/bits"
	"slices"

	"github.com/farhash/farhash/internal/core"
)

// table has distinct lists of words, numbered in the order in which they came.
type table struct {
	words []uint64
	ends  []int    // by list: where it ends in words
	slots []uint64 // a half of the hash, and the number plus 1; 0: free
}

const numberBits = 32

func (t *table) len() int { return len(t.ends) }

// bytes is the memory of the lists.
func (t *table) bytes() uint64 { return 8 * uint64(len(t.words)+len(t.ends)+len(t.slots)) }

// at is a list.
func (t *table) at(number int) []uint64 {
	first := 0
	if number > 0 {
		first = t.ends[number-1]
	}
	return t.words[first:t.ends[number]]
}

// reset forgets all lists.
func (t *table) reset() {
	t.words, t.ends = t.words[:0], t.ends[:0]
	clear(t.slots)
}

// hashOf has the rank of a list in its lower half, and its place in a table in the upper one.
func hashOf(words []uint64) uint64 {
	h := uint64(len(words)) * 0x9e3779b97f4a7c15
	for _, w := range words {
		h = core.Fold(h^w^0xa0761d6478bd642f, 0xe7037ed1a0b428db) ^ bits.RotateLeft64(h, 23)
	}
	return core.Fold(h^0x8ebc6af09c88c6e3, 0x589965cc75374cc3)
}

// add is the number of a list, and whether it is new.
func (t *table) add(list []uint64, hash uint64) (number int, isNew bool) {
	if 2*len(t.ends) >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	tag := hash >> numberBits
	for at := tag & mask; ; at = (at + 1) & mask {
		slot := t.slots[at]
		if slot == 0 {
			t.slots[at] = tag<<numberBits | uint64(len(t.ends)+1)
			t.words = append(t.words, list...)
			t.ends = append(t.ends, len(t.words))
			return len(t.ends) - 1, true
		}
		if slot>>numberBits == tag {
			if number = int(slot&(1<<numberBits-1)) - 1; slices.Equal(t.at(number), list) {
				return number, false
			}
		}
	}
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]uint64, max(64, 2*len(old)))
	mask := uint64(len(t.slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := slot >> numberBits & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = slot
	}
}
