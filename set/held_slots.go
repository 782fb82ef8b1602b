package set

import "context"

// maxHeldSlots is how many free arena slots a batch holds at most.
const maxHeldSlots = 32

// heldSlots is the free arena slots that one batch holds. They are filled up and prefetched
// when half of them are used, so that a slot is in the cache when an element is written to
// it: a compare-and-swap waits for all writes before it.
type heldSlots struct {
	arenas     *arenas
	directOnly bool   // take only slots that are directly addressable
	needed     int    // slots to be taken ahead, while the arenas have as many as wanted
	noSlot     uint64 // slots that were needed and that no arena had

	slots [maxHeldSlots]Ref
	begin int // the free slots are slots[begin:end]
	end   int
}

// next returns a free slot, ok false when no arena has one.
func (h *heldSlots) next() (ref Ref, ok bool, err error) {
	if n := h.end - h.begin; n == 0 || n <= maxHeldSlots/2 && h.needed > 0 {
		if err := h.fill(); err != nil {
			return 0, false, err
		}
		if h.begin == h.end {
			// mark: no arena has a slot for an element
			h.noSlot++
			return 0, false, nil
		}
	}
	ref = h.slots[h.begin]
	h.begin++
	return ref, true, nil
}

// fill takes slots from the arenas and prefetches them.
func (h *heldSlots) fill() error {
	had := copy(h.slots[:], h.slots[h.begin:h.end])
	h.begin, h.end = 0, had
	want := had + max(1, min(maxHeldSlots/2, h.needed))
	slots, err := h.arenas.take(context.Background(), h.slots[:had], want, h.directOnly)
	if err != nil && had == 0 {
		return err
	}
	h.end = len(slots)
	if h.needed -= h.end - had; h.end < want {
		h.needed = 0
	}
	h.arenas.fetch(slots[had:])
	return nil
}

// takeBack takes back a slot whose element lost its compare-and-swap.
func (h *heldSlots) takeBack(ref Ref) {
	if h.begin == 0 { // it was filled up meanwhile
		h.arenas.giveBack([]Ref{ref})
		return
	}
	// mark: a slot whose element lost its bucket is taken back
	h.begin--
	h.slots[h.begin] = ref
}

// release gives back what was not used.
func (h *heldSlots) release() {
	h.arenas.giveBack(h.slots[h.begin:h.end])
	h.begin, h.end = 0, 0
}
