package index

import (
	"bytes"
	"sort"
)

// wanted is what a search is for. It is apart from the query, which would have its callers allocate
// what they give it.
type wanted struct {
	number int // of the key in its batch
	key    []byte
	found  func(i int, v Value) bool
}

// query is a search for one key.
type query struct {
	t         *table
	hash      uint64
	rank      int
	home      uint64
	signature byte
	matches   int
	copied    []byte   // a value of a mapped file
	heap      []uint64 // of the key's rank, where it is addressable
	refs      []ref    // records in the heap that may match, where it is not
	next      int      // the slot after the last of them
	enough    bool     // found wants no more
	broken    bool     // a slot names no record
}

// ref is where a record begins, in words of the heap. Records of slots that follow each other
// follow each other, too.
type ref struct {
	word    int
	adjoins bool // the one before
}

// begin prepares a query for a key. It returns false when the key cannot be there.
func (q *query) begin(key []byte, hash uint64) bool {
	t := q.t
	q.hash = hash
	var rest uint64
	q.rank, rest = place(q.hash, t.ranks)
	q.home = homeOf(rest, t.Homes)
	q.heap, q.refs, q.next, q.matches = nil, q.refs[:0], -1, 0
	q.enough, q.broken = false, false
	if t.inline() {
		return !bytes.Equal(key, t.Marker)
	}
	q.signature = signatureOf(q.hash)
	return true
}

// scan examines n slots, the first of which has number first, in memory that begins with
// it. It returns true when the search for the key ends there.
func (q *query) scan(w *wanted, slots []byte, first, n int) bool {
	t := q.t
	for i := range n {
		slot, over := slots[i*t.slotBytes:(i+1)*t.slotBytes], false
		if t.inline() {
			over = q.slot(w, slot)
		} else {
			over = q.heapSlot(w, slot, uint64(first+i))
		}
		if over || q.enough || q.broken {
			return true
		}
	}
	return false
}

// slot examines a slot of an inline table.
func (q *query) slot(w *wanted, slot []byte) bool {
	key := slot[:len(w.key)]
	switch {
	case bytes.Equal(key, w.key):
		q.match(w, slot[len(w.key):])
		return false
	case bytes.Equal(key, q.t.Marker):
		return true
	}
	return q.past(key)
}

// past reports whether the home of another key of the same rank is after this one.
func (q *query) past(key []byte) bool {
	_, rest := place(hashKey(key), q.t.ranks)
	return homeOf(rest, q.t.Homes) > q.home
}

// heapSlot examines a slot of a table with a heap.
func (q *query) heapSlot(w *wanted, slot []byte, number uint64) bool {
	t := q.t
	if slot[0] == 0 {
		return true
	}
	d := uint64(slot[signatureBytes])
	if d < maxDisplacement && number-d != q.home {
		return number-d > q.home
	}
	if slot[0] == q.signature && (t.Storage != Hybrid || q.hybridSlot(w, slot)) {
		q.fits(w, ref{t.offset(slot[t.offsetAt:]), q.next == int(number)})
		q.next = int(number) + 1
	}
	return false
}

// hybridSlot examines a slot of a hybrid table whose signature fits. It returns true when its
// record is in the heap.
func (q *query) hybridSlot(w *wanted, slot []byte) (far bool) {
	r, far, broken := q.t.inSlot(slot)
	q.broken = broken
	if !far && !broken && bytes.Equal(r.Key, w.key) {
		q.match(w, r.Value)
	}
	return far
}

// fits takes a record whose signature fits. It is examined where memory is addressable. In a file
// that was damaged a signature may name any place.
func (q *query) fits(w *wanted, r ref) {
	switch {
	case q.heap == nil:
		q.refs = append(q.refs, r)
	case q.enough:
	case uint(r.word) >= uint(len(q.heap)):
		q.broken = true
	default:
		record := q.heap[r.word:]
		n := q.t.form.wordsAt(record[0])
		if q.broken = n > len(record); !q.broken {
			q.record(w, record[:n])
		}
	}
}

// record examines a whole record of the heap.
func (q *query) record(w *wanted, record []uint64) {
	if r := q.t.form.decode(record); bytes.Equal(r.Key, w.key) {
		q.match(w, r.Value)
	}
}

// match takes a value that was found. A value of a mapped file is copied first, so that no page
// fault happens in the caller's code. It is not passed on if the file was truncated: the caller may
// leave the loop before the search ends with an error.
func (q *query) match(w *wanted, v []byte) {
	if m := q.t.image; m != nil {
		q.copied = append(q.copied[:0], v...)
		if v = q.copied; m.cut() {
			q.enough = true
			return
		}
	}
	q.matches++
	if !w.found(w.number, v) {
		q.enough = true
	}
}

// denseSlots is how many more slots than homes are between two borders where a search reads all
// slots at once: there keys have several records, or records of other homes are before them, and
// the load does not say how many.
const denseSlots = 4

// between returns the slots between which the records of a home are, in a table with so many
// slots, and whether these are dense.
func (g *guide) between(home, slots int) (at, bound int, dense bool) {
	if g.borders == nil {
		return home, slots, false
	}
	block := home / borderHomes
	// A displacement too large for a byte says at least where records are not.
	at, bound = block*borderHomes+int(g.borders[block]), slots
	if d := g.borders[block+1]; d < maxDisplacement {
		bound = min(bound, (block+1)*borderHomes+int(d))
	}
	n := len(g.marks) / markBytes
	i := sort.Search(n, func(i int) bool { return g.mark(i).home > uint64(home) })
	if i < n {
		bound = min(bound, int(g.mark(i).slot))
	}
	if i > 0 {
		at = max(at, int(g.mark(i-1).slot))
	}
	return max(at, home), bound, bound-at > borderHomes+denseSlots
}
