package set

import (
	"bytes"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
)

// The hot loops over directly addressable memory. They do what probe does, bucket
// by bucket and without chunks; a differential test keeps the two equal. A search that
// comes to the end of a span that is not the whole table is unfinished.

// search searches for the occupied word bits from home on. With insert it claims the first empty
// bucket before it. It returns how many buckets it examined and how many compare-and-swaps it lost.
// It has decide written out: a verdict, even inlined, made a lookup in memory take a fifth longer.
func (v *span) search(bits, home uint64, insert bool) (r end, examined, lost uint64) {
	at := home
	for examined < v.limit {
		examined++
		p := &v.flat[at]
		seen := atomic.LoadUint64(p)
		if seen == bits {
			return found, examined, lost
		}
		if seen&occupied == 0 {
			if seen != 0 { // closed, or damaged: no compare-and-swap gets it
				return beyond, examined, lost
			}
			if !insert {
				return notFound, examined, lost
			}
			// mark: search is about to claim a bucket
			if atomic.CompareAndSwapUint64(p, 0, bits) {
				return inserted, examined, lost
			}
			// mark: search loses its bucket
			lost++
			examined--
			continue // a bucket changes once, so it is closed or has the word that won
		}
		if at++; at == uint64(len(v.flat)) {
			if !v.whole {
				return unfinished, examined, lost
			}
			at = 0
		}
	}
	return v.exhausted(insert), examined, lost
}

// load reads bucket i of a span.
func (v *span) load(i uint64) uint64 { return atomic.LoadUint64(&v.flat[i]) }

// blockWords is how many first buckets the portable loop loads together.
const blockWords = 32

// searchBatch is search for many words whose homes are in a span.
func (t *table) searchBatch(v *span, words []uint64, results []end, insert bool) counts {
	if t.kernel != kernelPortable {
		return t.runKernel(v, words, results, insert)
	}
	var c counts
	for len(words) > 0 {
		n := min(len(words), blockWords)
		t.searchBlock(v, words[:n], results[:n], insert, &c)
		words, results = words[n:], results[n:]
	}
	return c
}

// searchBlock loads the first buckets of up to blockWords words together, so that the
// waits for memory overlap, and then searches for one after the other.
func (t *table) searchBlock(v *span, words []uint64, results []end, insert bool, c *counts) {
	var homes, first [blockWords]uint64
	for i, word := range words {
		homes[i%blockWords] = t.home(hashWord(word)) - v.first
	}
	for i := range words {
		first[i%blockWords] = v.load(homes[i%blockWords])
	}
	for i, word := range words {
		bits, home := word|occupied, homes[i%blockWords]
		r, examined, lost := found, uint64(1), uint64(0)
		if first[i%blockWords] != bits {
			if examined = v.findInLine(bits, home); examined == 0 {
				r, examined, lost = v.search(bits, home, insert)
			}
		}
		results[i] = r
		c.count(r, examined, lost, t.directChunk)
	}
}

// findInLine compares the line of 8 buckets from home on with bits. It has no branch for
// each bucket, as the processor could not predict it. It returns how many buckets a search
// would examine to find bits there, or 0 when bits is not in the line or the line crosses the
// end of the span. An equal bucket anywhere is the answer, as no word is stored twice.
func (v *span) findInLine(bits, home uint64) (examined uint64) {
	if home+lineBuckets > uint64(len(v.flat)) {
		return 0
	}
	line := (*[lineBuckets]uint64)(v.flat[home:])
	equal := uint(0)
	if atomic.LoadUint64(&line[0]) == bits {
		equal = 1
	}
	if atomic.LoadUint64(&line[1]) == bits {
		equal = 2
	}
	if atomic.LoadUint64(&line[2]) == bits {
		equal = 3
	}
	if atomic.LoadUint64(&line[3]) == bits {
		equal = 4
	}
	if atomic.LoadUint64(&line[4]) == bits {
		equal = 5
	}
	if atomic.LoadUint64(&line[5]) == bits {
		equal = 6
	}
	if atomic.LoadUint64(&line[6]) == bits {
		equal = 7
	}
	if atomic.LoadUint64(&line[7]) == bits {
		equal = 8
	}
	return uint64(equal)
}

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
	s    *elementSearch // of the element that finish works on
	ring [stageRing][stageBlock]elementFlight

	wanted [slotLines * stageBlock]*uint64 // by compare, to be prefetched
}

// searchElements is search for elements.
func (b *batch) searchElements(v *span) (err error) {
	s := elementSearch{v: v,
		held: heldSlots{arenas: b.t.arenas, needed: len(b.results), directOnly: !v.whole}}
	if b.t.short() {
		err = b.runShort(&s)
	} else {
		p := elementPipeline{batch: b, v: v, s: &s}
		err = p.run()
	}
	s.held.release()
	if v.whole {
		b.noSlot += s.held.noSlot
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
		hash := uint64(0)
		if p.begins == nil {
			hash = hashElement(p.items[at : at+width])
			at += width
		} else {
			hash = hashHead(p.items[p.begins[block*stageBlock+i]])
		}
		f.key, f.home = fingerprintKey(hash), t.home(hash)-v.first
		lines[i] = &v.flat[f.home]
	}
	memory.Prefetch(lines[:len(flights)], 1)
}

func (p *elementPipeline) compare(block int) {
	a, v, flights, n := p.t.arenas, p.v, p.block(block), 0
	width, wanted := p.t.width, &p.wanted
	if p.t.kernel != kernelPortable {
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
			if p.begins != nil {
				width = len(p.item(block*stageBlock + i))
			}
			lines := a.lines(Ref(f.bucket&refMask), width, wanted[n:])
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
// other elements for good, and the search continues at that one. The buckets after it
// prove nothing: some between may have been claimed after they were read.
func (p *elementPipeline) finish(block int) error {
	flights := p.block(block)
	words := p.t.width
	at := block * stageBlock
	from := at * words
	for i := range flights {
		f := &flights[i]
		if p.begins != nil {
			from = p.begins[at]
			words = stringWords(p.items[from])
		}
		element := p.items[from:][:words]
		from += words
		if f.bucket == 0 || f.slot == nil ||
			!equal(unsafe.Slice(f.slot, words), element) {
			examined := uint64(0)
			if f.bucket == 0 && p.t.unit == lineBuckets {
				examined = f.taken
			}
			err := p.searchOne(p.s, at, element, f.key, f.home, examined)
			if err != nil {
				return err
			}
		} else {
			p.results[at] = found
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

// searchOne searches for item at by the plain loop, after so many buckets from home on.
func (b *batch) searchOne(s *elementSearch, at int, element []uint64, key, home,
	examined uint64) error {
	s.element, s.key, s.home, s.examined = element, key, home, examined
	s.lost, s.ref, s.stored = 0, 0, false
	r, err := s.run(b.insert)
	if err != nil {
		return err
	}
	b.results[at] = r
	if b.refs != nil {
		b.refs[at] = s.ref
	}
	b.count(r, s.examined, s.lost, b.t.directChunk)
	return nil
}

// elementSearch is find-or-put, or only find, of one element over direct memory. The
// element goes into an arena before the bucket that refers to it is claimed.
type elementSearch struct {
	v       *span
	held    heldSlots
	element []uint64
	key     uint64 // occupied bit and fingerprint
	home    uint64 // in v

	examined uint64 // buckets, from home on
	lost     uint64 // compare-and-swaps
	ref      Ref    // the element that was found or inserted
	mine     Ref    // the slot that the element was stored in
	stored   bool   // there is such a slot
}

// run examines buckets, from the first that has not been, until the search ends.
func (s *elementSearch) run(insert bool) (end, error) {
	r, err := s.search(insert)
	if s.stored && r != inserted {
		s.held.takeBack(s.mine, len(s.element))
	}
	return r, err
}

func (s *elementSearch) search(insert bool) (end, error) {
	v := s.v
	n := uint64(len(v.flat))
	at := s.home + s.examined
	if at >= n && v.whole {
		at -= n
	}
	for s.examined < v.limit {
		if at == n {
			if !v.whole {
				return unfinished, nil
			}
			at = 0
		}
		s.examined++
		p := &v.flat[at]
		seen := atomic.LoadUint64(p)
		d := decide(seen, s.key, ^uint64(refMask), insert)
		if d == vacant {
			if ok, err := s.store(); !ok || err != nil {
				if v.whole {
					return full, err
				}
				return unfinished, err
			}
			// mark: elementSearch is about to claim a bucket
			if atomic.CompareAndSwapUint64(p, 0, s.key|uint64(s.mine)) {
				s.ref = s.mine
				return inserted, nil
			}
			// mark: elementSearch loses its bucket
			s.lost++
			seen = atomic.LoadUint64(p) // a bucket changes once, so this is what won
			d = decide(seen, s.key, ^uint64(refMask), insert)
		}
		switch d {
		case same:
			words := s.held.arenas.words(Ref(seen & refMask))
			if words == nil { // it is not directly addressable, or there is no such slot
				return unfinished, s.held.arenas.dangling(seen)
			}
			if equal(s.element, words) {
				s.ref = Ref(seen & refMask)
				return found, nil
			}
		case absent:
			return notFound, nil
		case passed:
			return beyond, nil
		}
		at++
	}
	return v.exhausted(insert), nil
}

// store makes sure that the element is in a slot. ok is false when there is none.
func (s *elementSearch) store() (ok bool, err error) {
	if s.stored {
		return true, nil
	}
	if s.mine, s.stored, err = s.held.next(len(s.element)); err != nil || !s.stored {
		return false, err
	}
	copy(s.held.arenas.words(s.mine), s.element)
	return true, nil
}

// equal compares an element with the memory from a slot on. Where that is shorter, it has another
// string, and the first words are different.
func equal(a, b []uint64) bool {
	if len(b) < len(a) {
		return false
	}
	if len(a) > shortWords {
		return a[0] == b[0] && equalBytes(a, b)
	}
	for i, word := range a {
		if word != b[i] {
			return false
		}
	}
	return true
}

// equalBytes is equal for long elements.
func equalBytes(a, b []uint64) bool {
	return bytes.Equal(core.BytesOf(a), core.BytesOf(b[:len(a)]))
}

// kernel names a loop that searches a batch of words over directly addressable memory. All give the
// same answers; they differ in speed. The fastest that a table allows is chosen, except where an
// experiment asks for another one.
type kernel string

const (
	// kernelAVX512 keeps a ring of searches in flight and compares a cache line of
	// 8 buckets at once. It needs AVX-512 and homes at cache lines.
	kernelAVX512 kernel = "avx512"
	// kernelAVX2 does the same in two halves, on AVX2.
	kernelAVX2 kernel = "avx2"
	// kernelPortable is plain Go: the first buckets of a block of words are loaded
	// together. The only one under the race detector, which cannot instrument assembly.
	kernelPortable kernel = "portable"
)

// kernels lists the loops that this processor can run, the fastest first.
func kernels() []kernel { return append(vectorKernels(), kernelPortable) }

// chooseKernel is the kernel for the tables of a set.
func chooseKernel(cfg *BytesConfig) (kernel, error) {
	wanted, here := kernel(cfg.variant.Kernel), kernels()
	c := cfg.firstChunk()
	switch fits := !cfg.variant.WordHomes && c&(c-1) == 0; {
	case wanted == kernelPortable || wanted == "" && !fits:
		return kernelPortable, nil
	case wanted == "":
		return here[0], nil
	case !fits:
		return "", fmt.Errorf("set: kernel %q needs homes at lines and a power of two as Chunk",
			wanted)
	case !slices.Contains(here, wanted):
		return "", fmt.Errorf("set: kernel %q does not run here; there are %v", wanted, here)
	}
	return wanted, nil
}

const (
	// kernelWords is how many words a kernel works on in one call. The scheduler runs between
	// calls: assembly cannot be preempted. A call takes some 30 microseconds.
	kernelWords = 2048

	// maxFlights is how many searches a kernel has in flight at most: the assembly has room for as
	// many.
	maxFlights = 64
)

// tuning is how the kernels ask for lines. Answers do not depend on it.
type tuning struct {
	flights int  // searches in flight at most
	write   bool // insertions prefetch lines to write to them
}

// slots is how many searches are in flight of a piece of n. While the first lines arrive
// nothing can be compared, and while the last words are compared no line arrives: so fewer of a
// small piece. Of 64 words, 24 in flight insert a quarter more than 64 on an Intel Sapphire Rapids.
func (u tuning) slots(n int) uint64 { return uint64(min((n+1)/2, 16+n/8, u.flights)) }

// kernelWork is the arguments and results of a kernel. The assembly knows the offsets.
//
// A kernel visits its flights in turn. It compares a line with the word and with
// zero; the line was prefetched one turn before. Then it has found the word, or
// claims the first empty bucket, or prefetches the next line and examines it
// one turn later. It examines buckets in the order of the other loops. It is correct
// beside concurrent insertions for these reasons:
//
//   - Buckets of a line fill in order: a search that claims a bucket has read all those
//     before it in the line as occupied, because every search enters a line at its
//     first bucket.
//   - Each of the 8 words loaded was in its bucket at some moment, though not
//     all at the same moment. A word that matches is in the set, wherever it is.
//   - If none matches, the buckets before the first empty one hold other words for
//     good. The compare-and-swap succeeds only if that bucket is still empty, and
//     then so are all after it: the word is nowhere in the line.
//   - If it fails, the word that won is compared, and the line is loaded again:
//     what was empty in it may not be any more.
type kernelWork struct {
	base      uintptr // address of bucket 0 of the table, even if the span begins after it
	lines     uint64  // in the table
	words     *uint64
	results   *end
	n         uint64
	slots     uint64 // of flights in use
	limit     uint64 // lines that a search may examine
	chunkMask uint64 // lines of a chunk, less one
	insert    uint64 // 0: an empty bucket ends the search
	end       uint64 // of the span: bytes from base
	whole     uint64 // 0: the span is not the whole table, and a search ends at its end
	limited   uint64 // result of a search at its limit

	ended       uint64 // searches that inserted their word, or did not find it
	full        uint64 // searches that ended at the limit
	unfinished  uint64 // searches that ended at the end of the span
	beyond      uint64 // searches that ended at a closed bucket
	lost, extra uint64
	most        uint64 // lines in which a search found neither its word nor an empty bucket
}

// runKernel searches words, a piece at a time.
func (t *table) runKernel(v *span, words []uint64, results []end, insert bool) counts {
	var c counts
	for len(words) > 0 {
		n := min(len(words), kernelWords)
		t.runPiece(v, words[:n], results[:n], insert, &c)
		words, results = words[n:], results[n:]
	}
	return c
}

// runPiece is one call of the kernel. It is not inlined, so that there is a safe
// point between calls.
//
//go:noinline
func (t *table) runPiece(v *span, words []uint64, results []end, insert bool, c *counts) {
	w := kernelWork{
		base:  uintptr(unsafe.Pointer(unsafe.SliceData(v.flat))) - uintptr(v.first)*8,
		lines: t.buckets / lineBuckets,
		words: unsafe.SliceData(words), results: unsafe.SliceData(results),
		n: uint64(len(words)), slots: t.tuning.slots(len(words)),
		limit: t.limit / lineBuckets, chunkMask: uint64(t.cfg.firstChunk())/lineBuckets - 1,
		end:     (v.first + uint64(len(v.flat))) * 8,
		limited: uint64(v.exhausted(insert)),
	}
	if v.whole {
		w.whole = 1
	}
	if insert {
		w.insert = 1
	}
	search(t.kernel, &w, insert && t.tuning.write)
	runtime.KeepAlive(t) // w has its memory as a number
	if insert {
		c.inserted += w.ended
	} else {
		c.notFound += w.ended
	}
	c.found += w.n - w.ended - w.full - w.unfinished - w.beyond
	switch v.exhausted(insert) {
	case full:
		c.full += w.full
	case notFound:
		c.notFound += w.full
	default:
		c.beyond += w.full
	}
	c.beyond += w.beyond
	c.lost += w.lost
	c.extra += w.extra
	// Whole lines: the bucket of the last line at which a search ended is not recorded.
	c.longest = max(c.longest, min(w.most+1, w.limit)*lineBuckets)
}

// shortPiece is how many elements the kernel for short ones works on in one piece.
const shortPiece = 1024

// shortFlight is an element in the ring of the kernel.
type shortFlight struct {
	line     uint64 // that is examined next: bytes from bucket 0
	index    uint32 // of the element
	examined uint32 // lines
	slot     *uint64
	bucket   uint64 // that refers to slot; before there is one, the hash
}

// elementWork is the arguments and results of the kernel for elements of shortWords words at most.
// The assembly knows the offsets.
//
// It does with lines what the kernels for words do. Where a line has the fingerprint it prefetches
// the slot, and compares the element one turn later. An insertion stores the element in the next
// of the free slots. Without one left the kernel returns, and continues when there are more. It
// leaves to elementSearch what is rare: another element with the same fingerprint, a closed bucket,
// the end of the span, the limit, slots that are not directly addressable or that do not exist, and
// insertions when no arena has a slot.
type elementWork struct {
	base      uintptr // as in kernelWork
	lines     uint64
	items     *uint64
	results   *end // unfinished: left to elementSearch
	refs      *Ref // nil: not wanted
	n         uint64
	slots     uint64
	limit     uint64
	chunkMask uint64
	insert    uint64
	end       uint64
	whole     uint64
	bytes     uint64 // of an element
	crosses   uint64 // 1: a slot may be in two lines
	write     uint64 // 1: lines of buckets are prefetched to write to them
	segments  *[]uint64
	rankBits  uint64
	rankMask  uint64
	free      *Ref   // the next free slot
	freeEnd   *Ref   // where the free slots end
	noFree    uint64 // 1: there will be no more

	next, visit, flying uint64 // where the kernel continues; it has ended when none is flying
	absent              uint64 // searches that did not find their element
	left                uint64 // that elementSearch has to end
	lost, extra         uint64
	most                uint64

	perRank uint64 // slots: a reference to another one is damaged

	ring [maxFlights]shortFlight
}

// short reports whether the kernel for short elements searches batches.
func (t *table) short() bool {
	return t.kernel != kernelPortable && !t.isStrings() && t.width <= shortWords
}

// runShort searches for short elements, a piece at a time.
func (b *batch) runShort(s *elementSearch) error {
	for at := 0; at < len(b.results); at += shortPiece {
		if err := b.shortPiece(s, at, min(shortPiece, len(b.results)-at)); err != nil {
			return err
		}
	}
	return nil
}

// shortPiece searches for n elements from item at on.
func (b *batch) shortPiece(s *elementSearch, at, n int) error {
	t, v, a := b.t, s.v, b.t.arenas
	items := b.items[at*t.width:][:n*t.width]
	w := elementWork{
		base:  uintptr(unsafe.Pointer(unsafe.SliceData(v.flat))) - uintptr(v.first)*8,
		lines: t.buckets / lineBuckets,
		items: unsafe.SliceData(items), results: &b.results[at],
		n: uint64(n), slots: t.tuning.slots(n),
		limit: t.limit / lineBuckets, chunkMask: uint64(t.cfg.firstChunk())/lineBuckets - 1,
		end:   (v.first + uint64(len(v.flat))) * 8,
		bytes: uint64(t.width) * 8, segments: unsafe.SliceData(a.segmentsOfAll()),
		rankBits: uint64(a.rankBits), rankMask: 1<<a.rankBits - 1, perRank: a.slots,
	}
	if b.refs != nil {
		w.refs = &b.refs[at]
	}
	if !a.inLine {
		w.crosses = 1
	}
	if v.whole {
		w.whole = 1
	}
	if b.insert {
		w.insert = 1
	}
	if b.insert && t.tuning.write {
		w.write = 1
	}
	inserted := uint64(0)
	for {
		free := s.held.usable()
		w.free = unsafe.SliceData(free)
		w.freeEnd = (*Ref)(unsafe.Add(unsafe.Pointer(w.free), len(free)*8))
		begin := uintptr(unsafe.Pointer(w.free))
		searchShort(&w)
		used := int(uintptr(unsafe.Pointer(w.free))-begin) / 8
		s.held.begin += used
		inserted += uint64(used)
		if w.flying == 0 {
			break
		}
		if err := s.held.fill(); err != nil {
			return err
		}
		if s.held.begin == s.held.end {
			w.noFree = 1
		}
	}
	runtime.KeepAlive(t)
	b.inserted += inserted
	b.notFound += w.absent
	b.found += w.n - inserted - w.absent - w.left
	b.lost += w.lost
	b.extra += w.extra
	b.longest = max(b.longest, min(w.most+1, w.limit)*lineBuckets)
	for i := 0; w.left > 0; i++ {
		if b.results[at+i] != unfinished {
			continue
		}
		w.left--
		element := items[i*t.width:][:t.width]
		hash := hashElement(element)
		err := b.searchOne(s, at+i, element, fingerprintKey(hash), t.home(hash)-v.first, 0)
		if err != nil {
			return err
		}
	}
	return nil
}

// firstLine inserts single words in assembly, as far as the first line is enough: up to load 0.5
// that is nearly always so. A compare-and-swap waits for all stores before it, and the load of the
// next search is begun ahead of its time only if few instructions come before it. So this is one
// call that keeps everything in registers, and counts what it has inserted itself. The assembly
// knows the offsets.
type firstLine struct {
	base   *uint64 // bucket 0; nil: single words are not searched for here
	lines  uint64  // in the table
	counts *uint64 // of insertions, one in each stripe
	avx512 bool    // the kernel, which is AVX2 else
}

// newFirstLine is for a table whose buckets and counters are all directly addressable.
func (t *table) newFirstLine() firstLine {
	if t.flat == nil || t.kernel == kernelPortable || t.arenas != nil || t.tally.own == nil {
		return firstLine{}
	}
	return firstLine{base: &t.flat[0], lines: t.units, counts: &t.tally.own[0],
		avx512: t.kernel == kernelAVX512}
}
