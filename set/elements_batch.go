package set

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/memory"
)

// A batch of elements over directly addressable memory passes three stages, a block
// at a time, and each stage asks the memory for what the next one needs. Between the
// stages of one block others are worked on, so that the waits overlap:
//
//	hash     compute the home, ask for its line of 8 buckets
//	compare  look for the fingerprint in the line, ask for the slot it refers to
//	settle   compare with the whole element, or store it and claim a bucket
//
// What settle does not find as expected it leaves to elementSearch, the plain loop.
const (
	stageBlock = 8 // elements that pass a stage together
	stageLead  = 3 // blocks between two stages
	stageRing  = 8 // blocks that are remembered: a power of two above 2*stageLead
)

// elementFlight is an element between the stages. The assembly knows the offsets.
type elementFlight struct {
	key    uint64 // occupied bit and fingerprint
	home   uint64
	bucket uint64  // of the home line, with the element's fingerprint; 0: none
	taken  uint64  // buckets of the home line before the first one seen empty
	slot   *uint64 // that bucket refers to
}

// elementPipeline is a batch on its way.
type elementPipeline struct {
	e        *Elements
	elements []uint64
	results  []Result
	refs     []Ref // nil when nobody wants them
	insert   bool
	counts   counts
	s        elementSearch // of the element that is settled
	ring     [stageRing][stageBlock]elementFlight
}

// directBatch runs a batch over directly addressable memory. noArena tells that an
// element found no slot.
func (e *Elements) directBatch(elements []uint64, results []Result, refs []Ref,
	insert bool) (c counts, noArena bool, err error) {
	p := elementPipeline{e: e, elements: elements, results: results, refs: refs,
		insert: insert, s: elementSearch{e: e, h: newHand(e.arenas, len(results))}}
	err = p.run()
	p.s.h.release()
	return p.counts, p.s.h.missed, err
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
			if err := p.settle(last); err != nil {
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
	t, flights := p.e.t, p.block(block)
	at := block * stageBlock * p.e.words
	for i := range flights {
		f := &flights[i]
		hash := hashElement(p.elements[at : at+p.e.words])
		f.key, f.home = fingerprintKey(hash), t.home(hash)
		lines[i] = &t.flat[f.home]
		at += p.e.words
	}
	memory.Prefetch(lines[:len(flights)], 1)
}

func (p *elementPipeline) compare(block int) {
	var wanted [2 * stageBlock]*uint64
	t, flights, n := p.e.t, p.block(block), 0
	if t.kernel != KernelPortable {
		compareFlights(t.flat, flights)
	} else {
		for i := range flights {
			t.compareLine(&flights[i])
		}
	}
	for i := range flights {
		f := &flights[i]
		switch {
		case f.bucket != 0:
			lines := p.e.arenas.lines(Ref(f.bucket&refMask), wanted[n:])
			f.slot = wanted[n]
			n += lines
		case f.taken == lineBuckets && f.home+lineBuckets < t.buckets:
			wanted[n] = &t.flat[f.home+lineBuckets]
			n++
		}
	}
	memory.Prefetch(wanted[:n], 1)
}

// compareLine looks for a fingerprint in the 8 buckets from home on, without a branch
// for each of them, which nobody could predict.
func (t *table) compareLine(f *elementFlight) {
	f.bucket, f.taken = 0, 0
	if f.home+lineBuckets > t.buckets {
		return
	}
	line := (*[lineBuckets]uint64)(t.flat[f.home:])
	bucket, taken := uint64(0), uint64(0) // taken has a bit for each bucket
	for i := range line {
		lineIsRead.Hit()
		b := atomic.LoadUint64(&line[i])
		if b&^refMask == f.key {
			bucket = b
		}
		taken |= b >> 63 << i
	}
	f.bucket, f.taken = bucket, uint64(bits.TrailingZeros64(^taken))
}

// settle ends the searches of a block.
//
// The line was read some time ago, its buckets one after the other. A bucket that
// refers to the element is the answer all the same, as a bucket changes only once. If
// none had the fingerprint, those seen occupied before the first one seen empty hold
// other elements for good, and the search goes on at that one. What was seen behind it
// says nothing: the buckets between may have been taken after they were read.
func (p *elementPipeline) settle(block int) error {
	flights := p.block(block)
	words := p.e.words
	at := block * stageBlock
	for i := range flights {
		f := &flights[i]
		element := p.elements[at*words:][:words]
		if f.bucket == 0 || !equal(unsafe.Slice(f.slot, words), element) {
			if err := p.search(f, at, element); err != nil {
				return err
			}
		} else {
			p.results[at] = Found
			if p.refs != nil {
				p.refs[at] = Ref(f.bucket & refMask)
			}
			p.counts.found++
			p.counts.longest = max(p.counts.longest, f.taken)
		}
		at++
	}
	return nil
}

// search goes on where the home line did not tell.
func (p *elementPipeline) search(f *elementFlight, at int, element []uint64) error {
	s := &p.s
	s.element, s.key, s.home = element, f.key, f.home
	s.examined, s.lost, s.ref, s.stored = 0, 0, 0, false
	if f.bucket == 0 && p.e.t.unit == lineBuckets {
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
	p.counts.count(r, s.examined, s.lost, p.e.t.chunk)
	return nil
}
