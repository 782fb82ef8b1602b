package set

import (
	"context"

	"github.com/farhash/farhash/internal/testkit/mark"
)

// handSlots is how many arena slots a batch holds at most.
const handSlots = 32

// hand is the arena slots that one batch holds. It is filled up when it is half empty,
// so that the memory of a slot is there when the slot is used: a compare-and-swap waits
// for all writes before it.
type hand struct {
	arenas *arenas
	near   bool // only slots that are seen will do
	needed int  // slots that the batch may still take
	dry    bool // the arenas had fewer than wanted
	missed bool // a slot was needed and no arena had one
	kept   int  // for a mark: slots that were taken back, at room[begin]

	room  [handSlots]Ref
	begin int // the slots are room[begin:end]
	end   int
}

func newHand(a *arenas, needed int, near bool) hand {
	return hand{arenas: a, needed: needed, near: near}
}

// next returns a free slot, ok false when no arena has one.
func (h *hand) next() (ref Ref, ok bool, err error) {
	if n := h.end - h.begin; n == 0 || n <= handSlots/2 && h.needed > 0 && !h.dry {
		if err := h.fill(); err != nil {
			return 0, false, err
		}
		if h.begin == h.end {
			noSlotLeft.Hit()
			h.missed = true
			return 0, false, nil
		}
	}
	ref = h.room[h.begin]
	h.begin++
	if mark.Enabled && h.kept > 0 {
		slotReused.Hit()
		h.kept--
	}
	return ref, true, nil
}

// fill takes slots and asks for their memory.
func (h *hand) fill() error {
	had := copy(h.room[:], h.room[h.begin:h.end])
	h.begin, h.end = 0, had
	want := had + min(handSlots/2, h.needed)
	slots, err := h.arenas.take(context.Background(), h.room[:had], want, h.near)
	if err != nil && had == 0 {
		return err
	}
	h.end = len(slots)
	h.needed -= h.end - had
	h.dry = h.end < want
	h.arenas.fetch(slots[had:])
	return nil
}

// keep takes back a slot whose element lost the race for its bucket.
func (h *hand) keep(ref Ref) {
	switch {
	case h.begin > 0:
		h.begin--
		h.room[h.begin] = ref
		if mark.Enabled {
			h.kept++
		}
	case h.end < handSlots:
		h.room[h.end] = ref
		h.end++
	default:
		h.arenas.giveBack([]Ref{ref})
	}
}

// release gives back what was not used.
func (h *hand) release() {
	h.arenas.giveBack(h.room[h.begin:h.end])
	h.begin, h.end = 0, 0
}
