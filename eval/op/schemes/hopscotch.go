package schemes

// hopscotch has each word among the reach buckets from its home on.
type hopscotch struct {
	memory
	reach int

	read []uint64 // buckets from the home on
	path []int    // of an insert: where words move from, beyond the home
}

func newHopscotch(m memory, reach int) *hopscotch { return &hopscotch{memory: m, reach: reach} }

// search reads all buckets that may have a word.
func (h *hopscotch) search(word uint64) (found bool) {
	h.read = h.around(h.read[:0], h.home(word, 0), h.reach)
	h.wait()
	return index(h.read, word) >= 0
}

// Find reports whether a word is there.
func (h *hopscotch) Find(word uint64) (bool, Cost) {
	found := h.search(word)
	return found, h.took()
}

// FindOrPut inserts a word unless it is there.
func (h *hopscotch) FindOrPut(word uint64) (Answer, Cost) {
	if h.search(word) {
		return Found, h.took()
	}
	home := h.home(word, 0)
	free := index(h.read, empty)
	for free < 0 {
		done := len(h.read)
		if done == len(h.words) {
			return Full, h.took()
		}
		h.read = h.around(h.read, home+uint64(done), min(h.reach, len(h.words)-done))
		h.wait()
		if free = index(h.read[done:], empty); free >= 0 {
			free += done
		}
	}
	if !h.plan(home, free) {
		return Full, h.took()
	}
	before := uint64(empty)
	for _, from := range h.path {
		moved := h.read[from]
		h.swap(home+uint64(free), before, moved)
		h.wait()
		h.cost.Moves++
		before, free = moved, from
	}
	h.swap(home+uint64(free), before, word)
	h.wait()
	return Inserted, h.took()
}

// plan finds the words that have to move so that a bucket within reach of the home is free. Each
// moves as far as it can.
func (h *hopscotch) plan(home uint64, free int) bool {
	h.path = h.path[:0]
	for free >= h.reach {
		from := free - h.reach + 1
		for from < free && !h.reaches(h.read[from], home+uint64(free)) {
			from++
		}
		if from == free {
			return false
		}
		h.path = append(h.path, from)
		free = from
	}
	return true
}

// reaches reports whether a word may be in a bucket.
func (h *hopscotch) reaches(word, at uint64) bool {
	return (at-h.home(word, 0))&h.mask < uint64(h.reach)
}

// Check finds words that are there twice or too far from their home.
func (h *hopscotch) Check() error {
	return checkOnce(h.words, func(at int, word uint64) bool { return h.reaches(word, uint64(at)) })
}

// index is where a word is, -1 if it is not there.
func index(words []uint64, word uint64) int {
	for i, is := range words {
		if is == word {
			return i
		}
	}
	return -1
}
