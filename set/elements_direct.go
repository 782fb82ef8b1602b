package set

import (
	"context"
	"slices"
	"sync/atomic"
)

// hand is the arena slots that one batch holds.
type hand struct {
	arenas *arenas
	slots  []Ref
	needed int  // slots that the batch may still take
	missed bool // a slot was needed and no arena had one
}

// next returns a free slot, ok false when no arena has one.
func (h *hand) next() (ref Ref, ok bool, err error) {
	if len(h.slots) == 0 {
		n := min(handSlots, h.needed)
		if h.slots, err = h.arenas.take(context.Background(), h.slots, n); err != nil {
			return 0, false, err
		}
		if len(h.slots) == 0 {
			h.missed = true
			return 0, false, nil
		}
		h.needed -= len(h.slots)
	}
	ref = h.slots[len(h.slots)-1]
	h.slots = h.slots[:len(h.slots)-1]
	return ref, true, nil
}

// keep takes back a slot whose element lost the race for its bucket.
func (h *hand) keep(ref Ref) { h.slots = append(h.slots, ref) }

// handSlots is how many slots a batch takes at a time.
const handSlots = 32

// elementRun is a block of a batch whose buckets are on the way.
type elementRun struct {
	hashes, homes [elementBlock]uint64
}

// fetch computes hashes and homes of the elements and asks for their buckets.
func (b *elementRun) fetch(e *Elements, elements []uint64) {
	n := len(elements) / e.words
	for i := range n {
		b.hashes[i] = hashElement(elements[i*e.words : (i+1)*e.words])
		b.homes[i] = e.t.home(b.hashes[i])
	}
	fetchBuckets(e.t.flat, b.homes[:n])
}

// directBatch is the hot loop over directly addressable memory.
func (e *Elements) directBatch(h *hand, elements []uint64, results []Result, refs []Ref,
	insert bool) (counts, error) {
	var c counts
	var blocks [2]elementRun
	part := func(begin int) []uint64 {
		begin = min(begin, len(results))
		return elements[begin*e.words : min(begin+elementBlock, len(results))*e.words]
	}
	blocks[0].fetch(e, part(0))
	for begin, turn := 0, 0; begin < len(results); begin, turn = begin+elementBlock, 1-turn {
		blocks[1-turn].fetch(e, part(begin+elementBlock))
		b := &blocks[turn]
		n := min(elementBlock, len(results)-begin)
		e.touch(b, n)
		for i := range n {
			at := (begin + i) * e.words
			r, ref, examined, lost, err := e.search(h, elements[at:at+e.words],
				b.hashes[i], b.homes[i], insert)
			if err != nil {
				return c, err
			}
			results[begin+i] = r
			if refs != nil {
				refs[begin+i] = ref
			}
			c.count(r, examined, lost, e.t.chunk)
		}
	}
	return c, nil
}

// touch loads from each element that the first buckets may refer to, so that their
// lines come at the same time and not one after the other.
func (e *Elements) touch(b *elementRun, n int) {
	for i := range n {
		key := fingerprintKey(b.hashes[i])
		at := b.homes[i]
		for range lineBuckets {
			bucket := e.t.load(at)
			if bucket == 0 || at+1 == e.t.buckets {
				break
			}
			if bucket&^refMask == key {
				words := e.arenas.words(Ref(bucket & refMask))
				fetchBuckets(words, firstWord)
				break
			}
			at++
		}
	}
}

// firstWord names the word of an element that is asked for.
var firstWord = []uint64{0}

// search is find-or-put, or only find, of one element over direct memory. The
// element goes into an arena before the bucket that refers to it is claimed.
func (e *Elements) search(h *hand, element []uint64, hash, home uint64, insert bool) (
	r Result, ref Ref, examined, lost uint64, err error) {
	key := fingerprintKey(hash)
	at := home
	mine, stored := Ref(0), false
	defer func() {
		if stored && r != Inserted {
			h.keep(mine)
		}
	}()
	for examined < e.t.limit {
		examined++
		p := &e.t.flat[at]
		seen := atomic.LoadUint64(p)
		if seen == 0 {
			if !insert {
				return NotFound, 0, examined, lost, nil
			}
			if !stored {
				if mine, stored, err = h.next(); err != nil || !stored {
					return Full, 0, examined, lost, err
				}
				copy(e.arenas.words(mine), element)
			}
			if atomic.CompareAndSwapUint64(p, 0, key|uint64(mine)) {
				return Inserted, mine, examined, lost, nil
			}
			lost++
			seen = atomic.LoadUint64(p) // a bucket changes once, so this is who won
		}
		if seen&^refMask == key && slices.Equal(e.arenas.words(Ref(seen&refMask)), element) {
			return Found, Ref(seen & refMask), examined, lost, nil
		}
		if at++; at == e.t.buckets {
			at = 0
		}
	}
	if !insert {
		return NotFound, 0, examined, lost, nil
	}
	return Full, 0, examined, lost, nil
}
