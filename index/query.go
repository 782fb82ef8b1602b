package index

import (
	"bytes"

	"github.com/farhash/farhash/rma"
)

// Value is a value that was found. It is valid until the function that it was given to
// returns, or the loop goes on; nobody may change it.
type Value []byte

// query is a search for one key.
type query struct {
	t         *table
	number    int // in its batch
	key       []byte
	hash      uint64
	rank      int
	home      uint64 // of Ordered and Linear
	signature byte
	found     func(i int, v Value) bool
	matches   int
	copied    []byte // a value of a mapped file
	refs      []ref  // records in the heap that may match
	next      int    // the slot after that of the last of them
	enough    bool   // found wants no more
	vague     bool   // the home of some record is not known: its displacement is 255 or more
	end       int    // the slot at which a search has ended
}

// ref is where a record begins, in words of the heap. Those of slots that follow each other
// lie behind each other.
type ref struct {
	word    int
	adjoins bool // the one before
}

// begin readies a query. It returns false when the key cannot be there.
func (q *query) begin(number int, key []byte, found func(i int, v Value) bool) bool {
	t := q.t
	q.number, q.key, q.found = number, key, found
	q.hash = hashKey(key)
	var rest uint64
	q.rank, rest = place(q.hash, t.ranks)
	if t.cfg.Layout != Cuckoo {
		q.home = homeOf(rest, t.homes)
	}
	q.refs, q.next, q.matches, q.enough, q.vague = q.refs[:0], -1, 0, false, false
	if t.inline() {
		return !bytes.Equal(key, t.marker)
	}
	q.signature = signatureOf(q.hash)
	return true
}

// match takes a value that was found. A value of a mapped file is copied first, so that no page
// fault happens in the caller's code. It is not passed on if the file was truncated: the caller may
// leave the loop before the search ends with an error.
func (q *query) match(v []byte) {
	if m := q.t.image; m != nil {
		q.copied = append(q.copied[:0], v...)
		if v = q.copied; m.cut() {
			q.enough = true
			return
		}
	}
	q.matches++
	if !q.found(q.number, v) {
		q.enough = true
	}
}

// scan examines n units, the first of which has number first, in memory that begins with
// it. It returns true when the search for the key ends there.
func (q *query) scan(units []byte, first, n int) bool {
	t := q.t
	for i := range n {
		unit := units[i*t.unitBytes : (i+1)*t.unitBytes]
		over := false
		switch {
		case t.cfg.Layout == Cuckoo && t.inline():
			q.bucket(unit)
		case t.cfg.Layout == Cuckoo:
			q.heapBucket(unit)
		case t.inline():
			over = q.slot(unit)
		default:
			over = q.heapSlot(unit, uint64(first+i))
		}
		if over || q.enough {
			q.end = first + i
			return true
		}
	}
	return false
}

// slot examines a slot of an inline table.
func (q *query) slot(slot []byte) bool {
	key := slot[:len(q.key)]
	switch {
	case bytes.Equal(key, q.key):
		q.match(slot[len(q.key):])
		return false
	case bytes.Equal(key, q.t.marker):
		return true
	}
	return q.t.cfg.Layout == Ordered && q.past(key)
}

// past reports whether the home of another key of the same rank lies behind.
func (q *query) past(key []byte) bool {
	_, rest := place(hashKey(key), q.t.ranks)
	return homeOf(rest, q.t.homes) > q.home
}

// heapSlot examines a slot of a table with a heap.
func (q *query) heapSlot(slot []byte, number uint64) bool {
	t := q.t
	if slot[0] == 0 {
		return true
	}
	if t.cfg.Layout == Ordered {
		d := uint64(slot[signatureBytes])
		if (d < maxDisplacement || exactly.On()) && number-d != q.home {
			return number-d > q.home
		}
		q.vague = q.vague || d == maxDisplacement
	}
	if slot[0] == q.signature {
		word := t.offset(slot[t.unitBytes-t.cfg.OffsetBytes:])
		q.refs = append(q.refs, ref{word, q.next == int(number)})
		q.next = int(number) + 1
	}
	return false
}

// bucket examines a bucket of an inline table.
func (q *query) bucket(bucket []byte) {
	for size := q.t.cfg.KeySize + q.t.cfg.ValueSize; len(bucket) > 0; bucket = bucket[size:] {
		if !q.enough && bytes.Equal(bucket[:len(q.key)], q.key) {
			q.match(bucket[len(q.key):size])
		}
	}
}

// heapBucket examines a bucket of a table with a heap.
func (q *query) heapBucket(bucket []byte) {
	t, slots := q.t, q.t.cfg.BucketSlots
	for j := range slots {
		if t.grouped() {
			if bucket[j] == q.signature {
				block := t.offset(bucket[slots*signatureBytes:])
				q.refs = append(q.refs, ref{word: block + j*t.form.maxWords()})
			}
			continue
		}
		if slot := bucket[j*t.unitBytes/slots:]; slot[0] == q.signature {
			q.refs = append(q.refs, ref{word: t.offset(slot[signatureBytes:])})
		}
	}
}

// record examines a whole record of the heap.
func (q *query) record(record []uint64) {
	if bytes.Equal(q.t.form.key(record), q.key) {
		q.match(q.t.form.value(record))
	}
}

// span is where so many units from first on lie: words of a segment, and how many bytes of
// the first word come before them.
func (t *table) span(first, n int) (at, words, skip int) {
	from, to := first*t.unitBytes, (first+n)*t.unitBytes
	at = from / 8
	return at, (to+7)/8 - at, from % 8
}

// get posts a get of units into a buffer.
func (t *table) get(q rma.Queue, buf rma.Buf, rank, first, n int) (h rma.Handle, words, skip int) {
	at, words, skip := t.span(first, n)
	return q.Get(buf[:words], t.window, rank, at), words, skip
}
