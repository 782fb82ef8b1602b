package index

import (
	"cmp"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
)

// Over directly addressable memory a search examines slots in place, one after the other, and
// there are no requests whose size would have to be chosen. It begins at the home. If it does not
// end in the slots next to it, it is guided as one-sided searches are.

// nearSlots is how many slots a search examines before it is guided. For a record so near to its
// home borders save little, and where keys differ nearly all records are that near.
const nearSlots = borderHomes

// one looks up a single key. It is not counted: a counter that all goroutines share costs as much
// as the search. Nothing is allocated.
func (r *Reader) one(key []byte, found func(i int, v Value) bool) error {
	q, w := query{t: r.t}, wanted{key: key, found: found}
	if r.t.image != nil {
		return r.t.guarded(func() error { return q.one(&w) })
	}
	return q.one(&w)
}

func (q *query) one(w *wanted) error {
	hash := hashKey(w.key)
	switch q.t.keyWordBytes() {
	case 4:
		searchWord[uint32](q, w, hash)
	case 8:
		searchWord[uint64](q, w, hash)
	default:
		if q.begin(w.key, hash) {
			return q.walk(w)
		}
	}
	return nil
}

// walk searches the memory of the key's rank.
func (q *query) walk(w *wanted) error {
	segment := q.t.words(q.rank)
	q.heap = q.t.heapIn(segment)
	q.search(w, core.BytesOf(segment))
	if q.broken {
		return errBroken
	}
	return nil
}

// heapIn is the heap of a segment, nil where there is none.
func (t *table) heapIn(segment []uint64) []uint64 {
	if t.inline() {
		return nil
	}
	return segment[t.heapAt : t.heapAt+t.HeapWords]
}

// search examines the slots of a segment in which a record of the key may be.
func (q *query) search(w *wanted, slots []byte) {
	t, home := q.t, int(q.home)
	next := min(home+nearSlots, t.Slots)
	if q.scan(w, slots[home*t.slotBytes:], home, next-home) {
		return
	}
	if at, bound := t.beyond(q.rank, home, next); at < bound {
		q.scan(w, slots[at*t.slotBytes:], at, bound-at)
	}
}

// beyond returns the slots that are left for a search that has examined its home and
// what follows up to next.
func (t *table) beyond(rank, home, next int) (at, bound int) {
	at, bound, _ = t.guides[rank].between(home, t.Slots)
	return max(at, next), bound
}

const (
	// blockKeys is how many searches of a batch ask for their memory at once: loads that do not
	// wait for each other overlap.
	blockKeys = 8
	// slotLines is how many lines a search asks for: most end in the second one at the latest.
	slotLines = 2
	lineWords = 8
)

// Direct looks keys up in memory that this process addresses. The error is the first one of a
// lookup.
func (b *batch) Direct(at, left []int) ([]int, error) {
	t := b.r.t
	n := len(at)
	if at == nil {
		n = b.len()
	}
	b.counts.Lookups += uint64(n)
	return left, t.guarded(func() (failed error) {
		switch {
		case b.list != nil:
		case t.numbers.keyBytes == 4:
			searchNumbers[uint32, [8]byte](b)
			return nil
		case t.numbers.keyBytes == 8:
			searchNumbers[uint64, [16]byte](b)
			return nil
		}
		d := blocks{batch: b, at: at, n: n, q: query{t: t}, w: wanted{found: b.found}}
		d.ask()
		for len(d.next) > 0 || len(d.records) > 0 {
			if err := d.step(); failed == nil {
				failed = err
			}
		}
		return failed
	})
}

// blocks are keys of a batch that are searched for block by block. While a block is searched for,
// the slots of the next block are on their way, and the records in the heap that were found for the
// block before.
type blocks struct {
	*batch
	at      []int // their numbers; nil: all of the batch
	n       int   // how many there are
	asked   int   // whose memory was asked for
	q       query
	w       wanted
	rooms   [2][blockKeys]blockKey
	part    []blockKey    // that is searched for
	next    []blockKey    // whose memory was asked for last
	lines   []*uint64     // memory that is asked for
	records []blockRecord // that were asked for last
	spare   []blockRecord // room
}

type blockKey struct {
	number int // in the batch
	hash   uint64
}

// blockRecord is a record whose signature fits.
type blockRecord struct {
	number, rank int
	ref          ref
}

// step asks for a block, searches for the one before, and examines the records of the one before
// that.
func (d *blocks) step() error {
	d.ask()
	came := d.records
	d.records, d.spare = d.spare[:0], came
	var err error
	if d.r.t.keyWordBytes() != 0 {
		d.searchWords()
	} else {
		err = d.searchSlots()
	}
	err = cmp.Or(err, d.examine(came))
	d.count()
	return err
}

// count counts the matches of the query.
func (d *blocks) count() {
	d.counts.Matches += uint64(d.q.matches)
	d.q.matches = 0
}

// searchWords searches for keys that are numbers.
func (d *blocks) searchWords() {
	size := d.r.t.keyWordBytes()
	for _, k := range d.part {
		if d.w.number, d.w.key = k.number, d.key(k.number); size == 4 {
			searchWord[uint32](&d.q, &d.w, k.hash)
		} else {
			searchWord[uint64](&d.q, &d.w, k.hash)
		}
	}
}

// ask computes the hashes of the next keys, and asks for the slots where their searches begin.
func (d *blocks) ask() {
	t := d.r.t
	d.part, d.next = d.next, d.rooms[d.asked/blockKeys%2][:min(blockKeys, d.n-d.asked)]
	d.lines = d.lines[:0]
	for k := range d.next {
		number := d.asked + k
		if d.at != nil {
			number = d.at[number]
		}
		hash := hashKey(d.key(number))
		d.next[k] = blockKey{number, hash}
		rank, rest := place(hash, t.ranks)
		segment := t.words(rank)
		d.lines = append(d.lines, &segment[int(homeOf(rest, t.Homes))*t.slotBytes/8])
	}
	d.asked += len(d.next)
	memory.Prefetch(d.lines, slotLines)
}

// searchSlots searches for other keys, and asks for the records whose signatures fit.
func (d *blocks) searchSlots() (failed error) {
	t, q := d.r.t, &d.q
	d.lines = d.lines[:0]
	for _, k := range d.part {
		if t.far.flat != nil && d.searchGroup(k) {
			continue
		}
		d.w.number, d.w.key = k.number, d.key(k.number)
		d.count()
		if !q.begin(d.w.key, k.hash) {
			continue
		}
		if q.search(&d.w, core.BytesOf(t.words(q.rank))); q.broken {
			failed = errBroken
		}
		for _, ref := range q.refs {
			d.want(blockRecord{k.number, q.rank, ref})
		}
	}
	memory.Prefetch(d.lines, 1)
	q.broken = false
	return failed
}

// searchGroup searches for a key in the group next to its home. It returns false if that is not
// enough.
func (d *blocks) searchGroup(k blockKey) bool {
	group, _ := d.r.t.far.group(k.hash)
	if group == nil || !group.ends() {
		return false
	}
	for slots := fitting(group, uint32(signatureOf(k.hash))); slots != 0; slots &= slots - 1 {
		rank, _ := place(k.hash, d.r.t.ranks)
		d.want(blockRecord{k.number, rank, ref{word: int(group.offset(slots))}})
	}
	return true
}

// want asks for a record, as far as the mean record reaches.
func (d *blocks) want(r blockRecord) {
	t := d.r.t
	d.records = append(d.records, r)
	heap := t.heapIn(t.words(r.rank))
	at := r.ref.word
	if uint(at) >= uint(len(heap)) {
		return
	}
	last := min(at+t.heapMean, len(heap)) - 1
	for ; at < last; at += lineWords {
		d.lines = append(d.lines, &heap[at])
	}
	d.lines = append(d.lines, &heap[last])
}

// examine examines records that have come.
func (d *blocks) examine(records []blockRecord) (failed error) {
	q := &d.q
	q.enough = false
	for _, r := range records {
		d.w.number, d.w.key = r.number, d.key(r.number)
		q.heap = d.r.t.heapIn(d.r.t.words(r.rank))
		if q.fits(&d.w, r.ref); q.broken {
			failed, q.broken = errBroken, false
		}
	}
	return failed
}
