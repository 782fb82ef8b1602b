package index

import (
	"encoding/binary"
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
	if !q.begin(key) {
		return nil
	}
	if r.t.image != nil {
		return r.t.guarded(func() error { return q.walk(&w) })
	}
	return q.walk(&w)
}

// Direct looks keys up in memory that this process addresses. The error is the first one of a
// lookup.
func (b *batch) Direct(at, left []int) ([]int, error) {
	t := b.r.t
	return left, t.guarded(func() error {
		if at == nil && t.inline() && t.cfg.Layout != Cuckoo && t.unitBytes == 8 && b.size == 4 {
			b.counts.Lookups += uint64(b.len())
			b.counts.Matches += t.manyWords(b)
			return nil
		}
		n := len(at)
		if at == nil {
			n = b.len()
		}
		b.counts.Lookups += uint64(n)
		q, w := query{t: t}, wanted{found: b.found}
		var failed error
		for i := range n {
			if at != nil {
				i = at[i]
			}
			w.number, w.key = i, b.key(i)
			if q.begin(w.key) {
				if err := q.walk(&w); failed == nil {
					failed = err
				}
			}
			b.counts.Matches += uint64(q.matches)
		}
		return failed
	})
}

// walk searches the memory of the key's rank.
func (q *query) walk(w *wanted) error {
	t := q.t
	segment := t.words(q.rank)
	units := bytesOf(segment)
	if !t.inline() {
		q.heap = segment[t.heapAt : t.heapAt+t.heapWords]
	}
	if t.cfg.Layout == Cuckoo {
		for i := 0; i < t.cfg.Choices && !q.enough && !(t.unique && q.matches > 0); i++ {
			bucket := int(bucketOf(q.hash, t.seeds[q.rank], i, t.homes))
			q.scan(w, units[bucket*t.unitBytes:], bucket, 1)
		}
	} else {
		q.walkSlots(w, units)
	}
	if q.broken {
		return errBroken
	}
	return nil
}

// walkSlots searches the slots from the home on.
func (q *query) walkSlots(w *wanted, units []byte) {
	t, home := q.t, int(q.home)
	next := min(home+nearSlots, t.units)
	if q.scan(w, units[home*t.unitBytes:], home, next-home) || endsNear.On() {
		return
	}
	at, bound, _ := t.guides[q.rank].between(home, t.units)
	if !seesTwice.On() {
		at = max(at, next)
	}
	if at < bound {
		q.scan(w, units[at*t.unitBytes:], at, bound-at)
	}
}

// ahead is how many searches load their first word before the first of them
// goes on: loads that do not wait for each other overlap.
const ahead = 32

// manyWords is the search for keys of 4 bytes in slots of one word.
func (t *table) manyWords(b *batch) (matches uint64) {
	var homes [ahead]uint64
	var slots [ahead]int
	var words [ahead]uint64
	marker := binary.LittleEndian.Uint32(t.marker)
	ordered := t.cfg.Layout == Ordered
	n, flat := b.len(), t.flat
	for from := 0; from < n; from += ahead {
		group := min(ahead, n-from)
		for i := range group {
			key := binary.LittleEndian.Uint32(b.keys[(from+i)*4:])
			rank, rest := place(mix(uint64(key)), t.ranks)
			homes[i] = homeOf(rest, t.homes)
			slots[i] = rank*t.segment + int(homes[i])
		}
		for i := range group {
			words[i] = flat[slots[i]]
		}
		for i := range group {
			key := binary.LittleEndian.Uint32(b.keys[(from+i)*4:])
			end := slots[i] + min(nearSlots, t.units-int(homes[i]))
			if key == marker {
				continue
			}
			word := words[i]
			for at := slots[i]; ; word = flat[at] {
				there := keyInWord(word)
				if there == key {
					matches++
					b.found(from+i, bytesOf(flat[at : at+1])[4:8:8])
				} else if there == marker || ordered && t.homeOfWord(there) > homes[i] {
					break
				}
				if at++; at == end {
					if at, end = t.rest(slots[i], at); at >= end {
						break
					}
				}
			}
		}
	}
	return matches
}

// rest returns the slots that are left for a search that has come from its home at first to at.
func (t *table) rest(first, at int) (from, end int) {
	if at-first != nearSlots || endsNear.On() {
		return at, at // it was guided, or is at the last slot
	}
	rank := first / t.segment
	base := rank * t.segment
	from, end, _ = t.guides[rank].between(first-base, t.units)
	return max(base+from, at), base + end
}

// keyInWord is the first 4 bytes of a word in memory.
func keyInWord(word uint64) uint32 {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], word)
	return binary.LittleEndian.Uint32(b[:])
}

// homeOfWord is the home of a key of 4 bytes, on its rank.
func (t *table) homeOfWord(key uint32) uint64 {
	_, rest := place(mix(uint64(key)), t.ranks)
	return homeOf(rest, t.homes)
}
