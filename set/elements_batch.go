package set

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/memory"
)

// A batch of elements over directly addressable memory passes three stages, a block
// at a time. Each stage prefetches what the next one needs. Between the
// stages of one block others are worked on, so that the waits overlap:
//
//	hash     compute the home, prefetch its line of 8 buckets
//	compare  search the line for the fingerprint, prefetch the slot of that bucket
//	finish   compare with the whole element, or store it and claim a bucket
//
// An element that finish does not find in that slot goes to elementSearch, the plain loop.
const (
	stageBlock = 8 // elements that pass a stage together
	stageLead  = 3 // blocks between two stages
	stageRing  = 8 // blocks whose flights are kept: a power of two above 2*stageLead
)

// elementFlight is an element between the stages. The assembly knows the offsets.
type elementFlight struct {
	key    uint64 // occupied bit and fingerprint
	home   uint64
	bucket uint64  // of the home line, with the element's fingerprint; 0: none
	taken  uint64  // buckets of the home line before the first one that was read empty
	slot   *uint64 // that bucket refers to
}

// elementPipeline is a batch in progress. Its homes are in a span.
type elementPipeline struct {
	*batch
	v    *span
	s    elementSearch // of the element that finish works on
	ring [stageRing][stageBlock]elementFlight
}

// searchElements is search for elements.
func (b *batch) searchElements(v *span) error {
	p := elementPipeline{batch: b, v: v, s: elementSearch{v: v,
		held: heldSlots{arenas: b.t.arenas, needed: len(b.results), directOnly: !v.whole}}}
	err := p.run()
	p.s.held.release()
	if v.whole {
		b.noSlot += p.s.held.noSlot
	}
	return err
}

// run takes all blocks through all stages.
func (p *elementPipeline) run() error {
	blocks := (len(p.results) + stageBlock - 1) / stageBlock
	for last := -2 * stageLead; last < blocks; last++ {
		if first := last + 2*stageLead; first < blocks {
			p.hash(first)
		}
		if middle := last + stageLead; middle >= 0 && middle < blocks {
			p.compare(middle)
		}
		if last >= 0 {
			if err := p.finish(last); err != nil {
				return err
			}
		}
	}
	return nil
}

// block is the flights of a block; there are fewer in the last one.
func (p *elementPipeline) block(i int) []elementFlight {
	n := min(stageBlock, len(p.results)-i*stageBlock)
	return p.ring[i%stageRing][:n]
}

func (p *elementPipeline) hash(block int) {
	var lines [stageBlock]*uint64
	t, v, flights := p.t, p.v, p.block(block)
	width := t.width
	at := block * stageBlock * width
	for i := range flights {
		f := &flights[i]
		hash := hashElement(p.items[at : at+width])
		f.key, f.home = fingerprintKey(hash), t.home(hash)-v.first
		lines[i] = &v.flat[f.home]
		at += width
	}
	memory.Prefetch(lines[:len(flights)], 1)
}

func (p *elementPipeline) compare(block int) {
	var wanted [2 * stageBlock]*uint64
	a, v, flights, n := p.t.arenas, p.v, p.block(block), 0
	if p.t.kernel != KernelPortable {
		compareFlights(v.flat, flights)
	} else {
		for i := range flights {
			v.compareLine(&flights[i])
		}
	}
	for i := range flights {
		f := &flights[i]
		switch {
		case f.bucket != 0:
			lines := a.lines(Ref(f.bucket&refMask), wanted[n:])
			f.slot = wanted[n] // nil: it is not directly addressable
			n += lines
		case f.taken == lineBuckets && f.home+lineBuckets < uint64(len(v.flat)):
			wanted[n] = &v.flat[f.home+lineBuckets]
			n++
		}
	}
	memory.Prefetch(wanted[:n], 1)
}

// compareLine searches the 8 buckets from home on for a fingerprint. It has no branch for
// each bucket, as the processor could not predict it.
func (v *span) compareLine(f *elementFlight) {
	f.bucket, f.taken = 0, 0
	if f.home+lineBuckets > uint64(len(v.flat)) {
		return
	}
	line := (*[lineBuckets]uint64)(v.flat[f.home:])
	bucket, taken := uint64(0), uint64(0) // taken has a bit for each bucket
	for i := range line {
		// mark: compareLine is about to read a bucket
		b := atomic.LoadUint64(&line[i])
		if b&^refMask == f.key {
			bucket = b
		}
		taken |= b >> 63 << i
	}
	f.bucket, f.taken = bucket, uint64(bits.TrailingZeros64(^taken))
}

// finish ends the searches of a block.
//
// The line was read some time ago, its buckets one after the other. A bucket that
// refers to the element is the answer all the same, as a bucket changes only once. If
// none had the fingerprint, the buckets before the first one that was read empty hold
// other elements for good, and the search goes on at that one. The buckets behind it
// prove nothing: those between may have been claimed after they were read.
func (p *elementPipeline) finish(block int) error {
	flights := p.block(block)
	words := p.t.width
	at := block * stageBlock
	for i := range flights {
		f := &flights[i]
		element := p.items[at*words:][:words]
		if f.bucket == 0 || f.slot == nil || !equal(unsafe.Slice(f.slot, words), element) {
			if err := p.continueSearch(f, at, element); err != nil {
				return err
			}
		} else {
			p.results[at] = Found
			if p.refs != nil {
				p.refs[at] = Ref(f.bucket & refMask)
			}
			p.found++
			p.longest = max(p.longest, f.taken)
		}
		at++
	}
	return nil
}

// continueSearch searches where the home line has not decided.
func (p *elementPipeline) continueSearch(f *elementFlight, at int, element []uint64) error {
	s := &p.s
	s.element, s.key, s.home = element, f.key, f.home
	s.examined, s.lost, s.ref, s.stored = 0, 0, 0, false
	if f.bucket == 0 && p.t.unit == lineBuckets {
		s.examined = f.taken
	}
	r, err := s.run(p.insert)
	if err != nil {
		return err
	}
	p.results[at] = r
	if p.refs != nil {
		p.refs[at] = s.ref
	}
	p.count(r, s.examined, s.lost, p.t.directChunk)
	return nil
}
