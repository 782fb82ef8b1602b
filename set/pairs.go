package set

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
)

// Pairs finds and inserts pairs of words in [Bytes] of 16 bytes, one at a time: the nodes of a
// graph whose edges are references. It needs a set all of whose memory this process addresses.
//
// A Pairs is for one goroutine; several have one each, of the same set. The set may be used beside
// them as before: a pair is the element that has the bytes of its two words.
type Pairs struct {
	e        *Bytes
	segments [][]uint64 // of the arenas
	only     []uint64   // the segment, where there is one
	rankBits uint
	held     heldSlots
	stripe   *uint64 // the counter of insertions

	free  *freeSlots // nil: there are none
	taken uint64     // of free: a bit for each slot from first on
	first Ref
}

// NewPairs makes Pairs of a set of 16 bytes an element. A set that was opened by name is refused,
// and one that has memory which this process does not address.
func NewPairs(e *Bytes) (*Pairs, error) {
	const pairBytes = 16
	a, t := e.arenas, e.oldest.Load()
	switch {
	case e.size != pairBytes:
		return nil, fmt.Errorf("set: a pair has %d bytes, and an element %d", pairBytes, e.size)
	case e.shared != nil:
		return nil, errors.New("set: Pairs need a set of one job, and this one was opened by name")
	case t.flat == nil || a.regions.Whole == nil || e.tally.own == nil:
		return nil, errors.New("set: Pairs need memory that is directly addressable; make the " +
			"set in a job of one host, such as local.Single")
	}
	p := &Pairs{e: e, segments: a.regions.Segments.Words, rankBits: a.rankBits,
		held:   heldSlots{arenas: a},
		stripe: &e.tally.own[core.Stripe()*stripeWords]}
	if len(p.segments) == 1 {
		p.only = p.segments[0]
	}
	return p, nil
}

// Close gives back what p holds of the memory of the set: up to 32 slots, and what Collect has
// freed. The set stays, and p is of no use any more.
func (p *Pairs) Close() {
	p.held.release()
	for slot, ok := p.freeSlot(); ok; slot, ok = p.freeSlot() {
		p.e.arenas.giveBack([]Ref{slot})
	}
	p.only, p.segments = nil, nil
}

// At is the pair with a reference that this set has given.
func (p *Pairs) At(ref Ref) (a, b uint64) {
	pair := p.pair(ref)
	return pair[0], pair[1]
}

func (p *Pairs) pair(ref Ref) *[2]uint64 {
	if p.only != nil {
		return (*[2]uint64)(p.only[ref*2:])
	}
	slot, rank := uint64(ref)>>p.rankBits, uint64(ref)&(1<<p.rankBits-1)
	return (*[2]uint64)(p.segments[rank][slot*2:])
}

// FindOrPut finds the pair a, b or inserts it, and returns its reference. The result is Found,
// Inserted or Full; Full comes with a *FullError, and there is no reference then.
func (p *Pairs) FindOrPut(a, b uint64) (Ref, Result, error) {
	t := p.e.oldest.Load()
	hash := hashPair(a, b)
	key, at := fingerprintKey(hash), t.home(hash)
	flat := t.flat
	for examined := uint64(1); examined <= t.limit && at < uint64(len(flat)); examined++ {
		seen := atomic.LoadUint64(&flat[at])
		if seen&^refMask == key {
			if !p.e.arenas.valid(Ref(seen & refMask)) {
				break // the bucket is damaged: the batch says so
			}
			if pair := p.pair(Ref(seen & refMask)); pair[0] == a && pair[1] == b {
				runtime.KeepAlive(t)
				return Ref(seen & refMask), Found, nil
			}
		} else if seen&occupied == 0 {
			ref, done, err := p.put(t, at, key, a, b)
			if err != nil || !done {
				break // what is rare, an error included, is for the batch
			}
			return ref, Inserted, p.inserted(t, examined)
		}
		if at++; at == uint64(len(flat)) {
			at = 0
		}
	}
	return p.alone(a, b)
}

// put stores the pair and claims bucket at, which was read without the occupied bit. done is false
// where that is not possible.
func (p *Pairs) put(t *table, at, key, a, b uint64) (ref Ref, done bool, err error) {
	if atomic.LoadUint64(&t.flat[at]) != 0 {
		return 0, false, nil
	}
	if ref, done, err = p.slot(); err != nil || !done {
		return 0, false, err
	}
	*p.pair(ref) = [2]uint64{a, b}
	// mark: Pairs is about to claim a bucket
	if atomic.CompareAndSwapUint64(&t.flat[at], 0, key|uint64(ref)) {
		return ref, true, nil
	}
	// mark: Pairs loses its bucket
	p.held.takeBack(ref, 2)
	return 0, false, nil
}

// slot is a free slot: one that Collect has freed, else one of the arenas.
func (p *Pairs) slot() (Ref, bool, error) {
	if slot, ok := p.freeSlot(); ok {
		return slot, true, nil
	}
	p.held.needed = maxHeldSlots // taken ahead
	return p.held.next(2)
}

// inserted counts an insertion after a search of so many buckets, and has the set grow where that
// is long.
func (p *Pairs) inserted(t *table, examined uint64) error {
	if examined >= longSearch {
		b := batch{t: t, items: []uint64{0, 0}, results: []end{inserted}, insert: true}
		b.count(inserted, examined, 0, t.directChunk)
		_, _, err := b.endSingle(&t.span)
		return err
	}
	atomic.AddUint64(p.stripe, 1)
	if examined > t.tally.longest.Load() {
		t.tally.noteLongest(examined)
	}
	runtime.KeepAlive(t)
	return nil
}

// alone is FindOrPut as a batch of one, which does what is rare: it moves tables, and says what is
// wrong. A slot that is free here is given to the arenas, which may have no other.
func (p *Pairs) alone(a, b uint64) (Ref, Result, error) {
	if slot, ok := p.freeSlot(); ok {
		p.e.arenas.giveBack([]Ref{slot})
	} else {
		p.held.release()
	}
	var results [1]Result
	var refs [1]Ref
	words := []uint64{a, b}
	err := p.e.FindOrPutPacked(core.BytesOf(words), results[:], refs[:])
	return refs[0], results[0], err
}

// Collect removes every element for whose reference keep returns false; see [Set.Collect]. No
// element is read to be judged. References of the others remain valid. The slots of removed
// elements are first used by p and by other Pairs of the set, in their order in memory: all that
// were in a Collect before, and insert again. Collective: each rank calls it for one of its Pairs.
func (p *Pairs) Collect(ctx context.Context, keep func(ref Ref) bool, others ...*Pairs) error {
	freed := new(freeSlots)
	err := p.e.collect(ctx, func(bucket uint64) (bool, error) {
		ref := Ref(bucket & refMask)
		if keep(ref) {
			return true, nil
		}
		freed.add(ref)
		return false, nil
	})
	if err != nil {
		return err // the set is as it was
	}
	for _, p := range append(slices.Clip(others), p) {
		if p.free != nil {
			freed.join(p.free)
		}
		p.free = freed
	}
	return nil
}

// hashPair is hashElement for two words.
func hashPair(a, b uint64) uint64 {
	return core.Fold(core.Fold(a^pi1, b^pi0)^pi2, pi3)
}

// freeSlots are what Collect has freed: a bit for each slot. Pairs take a word of 64 slots at a
// time, in ascending order, so that what is inserted one after the other is adjacent in memory.
type freeSlots struct {
	words []uint64
	next  atomic.Int64 // the words before it are taken
}

func (f *freeSlots) add(slot Ref) {
	i := int(slot / 64)
	if i >= len(f.words) {
		f.words = append(f.words, make([]uint64, i+1-len(f.words))...)
	}
	f.words[i] |= 1 << (slot % 64)
}

// join takes over what other has left. Nobody uses the two.
func (f *freeSlots) join(other *freeSlots) {
	if other == f {
		return
	}
	if n := len(other.words); len(f.words) < n {
		f.words = append(f.words, make([]uint64, n-len(f.words))...)
	}
	for i := min(int(other.next.Load()), len(other.words)); i < len(other.words); i++ {
		f.words[i] |= other.words[i]
	}
	other.words = nil
}

// freeSlot takes a slot that Collect has freed.
func (p *Pairs) freeSlot() (slot Ref, ok bool) {
	for p.taken == 0 {
		if p.free == nil {
			return 0, false
		}
		i := p.free.next.Add(1) - 1
		if i >= int64(len(p.free.words)) {
			p.free = nil
			return 0, false
		}
		p.taken, p.first = p.free.words[i], Ref(i)*64
	}
	slot = p.first + Ref(bits.TrailingZeros64(p.taken))
	p.taken &= p.taken - 1
	return slot, true
}
