package cache

import (
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/memory"
)

// A batch over directly addressable memory passes three stages, a block at a time, and each
// stage prefetches what the next one needs. Between the stages of one block others
// are worked on, so that the waits overlap:
//
//	hash     compute the candidates, prefetch the first one
//	advance  where the first has another key, prefetch the second; a get begins there
//	settle   compare, verify and copy; or write
//
// What is not found in the first candidate is left to the plain loop. The stages exist in Go
// and, for most of what they do, in assembly.
const (
	stageBlock = 16 // keys that pass a stage together
	stageRing  = 4  // blocks that are remembered: a power of two above 2
)

// flight is a key between the stages. The assembly knows the offsets.
type flight struct {
	hash   uint64
	bucket *uint64 // the first candidate; of a get, after advance, perhaps the second
	group  *uint64 // the first bucket of its group
}

// kernelWork is what the assembly gets and gives. It knows the offsets.
type kernelWork struct {
	keys         *uint64
	n            uint64
	flights      *flight
	bases        **uint64 // by rank: the first bucket
	locks        uint64   // not 0: ask for the word before a group
	ranks        uint64
	groups       uint64
	group        uint64 // bytes
	puts         uint64 // not 0: ask for the first line of the second candidate as well
	bucket       uint64 // bytes
	groupBuckets uint64
	keyWords     uint64
	lines        uint64 // of a bucket to ask for
	values       *uint64
	valueWords   uint64
	found        *bool
	hits         uint64
}

// pipeline is a batch over directly addressable memory, and its keys that are between the stages.
type pipeline struct {
	batch
	c      *Cache
	kind   kind // get or put
	counts *Counts
	ring   [stageRing][stageBlock]flight
	lines  [stageBlock]*uint64
	work   kernelWork
	search search // of the key that is settled
	latch  latch  // of puts
}

func (p *pipeline) key(i int) []uint64   { return p.keys[i*p.c.keyWords:][:p.c.keyWords] }
func (p *pipeline) value(i int) []uint64 { return p.values[i*p.c.valueWords:][:p.c.valueWords] }

// run does gets or puts of a call.
func (p *pipeline) run(s *scratch, b batch) {
	p.c, p.kind, p.counts, p.batch = s.c, s.kind, &s.counts, b
	p.describe()
	p.latch = latch{job: p.c.job, own: newPace(p.c.job), writer: true}
	blocks := (len(p.results) + stageBlock - 1) / stageBlock
	for last := -2; last < blocks; last++ {
		if first := last + 2; first < blocks {
			p.hash(first)
		}
		if middle := last + 1; middle >= 0 && middle < blocks {
			p.advance(middle)
		}
		if last >= 0 {
			p.settle(last)
		}
	}
	p.work = kernelWork{}
	p.counts.LockWaits += p.latch.waits
	p.counts.LocksBroken += p.latch.broken
}

// describe describes the table to the assembly.
func (p *pipeline) describe() {
	c := p.c
	p.work = kernelWork{
		bases: &c.bases[0], locks: uint64(c.lockWords), ranks: uint64(c.ranks),
		groups: c.groups, group: uint64(c.groupWords) * 8, bucket: uint64(c.bucketWords) * 8,
		groupBuckets: uint64(c.cfg.GroupBuckets), keyWords: uint64(c.keyWords),
		valueWords: uint64(c.valueWords), lines: uint64(c.fetchLines()),
	}
	if p.kind == kindPut {
		p.work.puts = 1
	}
}

// block is the flights of a block; there are fewer in the last one. The kernel's work is
// set to it.
func (p *pipeline) block(i int) []flight {
	n := min(stageBlock, len(p.results)-i*stageBlock)
	flights := p.ring[i%stageRing][:n]
	p.work.n, p.work.flights = uint64(n), &flights[0]
	p.work.keys = &p.keys[i*stageBlock*p.c.keyWords]
	return flights
}

func (p *pipeline) hash(block int) {
	c, flights := p.c, p.block(block)
	if c.kernel {
		hashFlights(&p.work)
		return
	}
	for i := range flights {
		f := &flights[i]
		f.hash = hashKey(p.key(block*stageBlock + i))
		rank := c.rankOf(f.hash)
		group, first := c.group(f.hash, 0)
		f.bucket = &c.bucketAt(rank, group, first)[0]
		f.group = &c.bucketAt(rank, group, 0)[0]
		p.lines[i] = f.bucket
	}
	memory.Prefetch(p.lines[:len(flights)], c.fetchLines())
	if c.cfg.Mode == Fine {
		for i := range flights {
			p.lines[i] = c.lockBefore(&flights[i])
		}
		memory.Prefetch(p.lines[:len(flights)], 1)
	}
}

func (p *pipeline) advance(block int) {
	n, c, flights := 0, p.c, p.block(block)
	if c.kernel {
		advanceFlights(&p.work)
		return
	}
	for i := range flights {
		f := &flights[i]
		if !sameWords(unsafe.Slice(f.bucket, 2)[1:], p.key(block*stageBlock + i)[:1]) {
			p.lines[n] = c.after(*f)
			if p.kind == kindGet {
				f.bucket = p.lines[n]
			}
			n++
		}
	}
	memory.Prefetch(p.lines[:n], c.fetchLines())
}

// after is the second candidate.
func (c *Cache) after(f flight) *uint64 {
	group := unsafe.Slice(f.group, c.cfg.GroupBuckets*c.bucketWords)
	if &group[len(group)-c.bucketWords] == f.bucket {
		return f.group
	}
	return &unsafe.Slice(f.bucket, c.bucketWords+1)[c.bucketWords]
}

// settle ends the searches of a block.
func (p *pipeline) settle(block int) {
	flights, c := p.block(block), p.c
	from := block * stageBlock
	takes := p.kind == kindGet && c.cfg.Mode == LockFree
	if takes && p.take(flights, from) == len(flights) {
		return
	}
	for i := range flights {
		at := from + i
		if takes && p.results[at] == hit || p.kind == kindPut && p.put(&flights[i], at) {
			continue
		}
		s := &p.search
		s.c, s.kind, s.key, s.value = c, p.kind, p.key(at), p.value(at)
		s.begin(flights[i].hash)
		c.run(s)
		p.counts.count(s)
		p.results[at] = s.result
	}
}

// put is a put that ends in the first group of its key. It reports whether it does.
func (p *pipeline) put(f *flight, at int) bool {
	c, l := p.c, &p.latch
	lock := c.lockBefore(f)
	if lock != nil {
		if !c.room(f) {
			return false
		}
		l.rank = c.rankOf(f.hash)
		l.lock(lock)
	}
	r, candidate := c.putNear(f, p.key(at), p.value(at))
	if lock != nil {
		l.unlock(lock)
	}
	if r == 0 {
		return false
	}
	p.results[at] = r
	p.counts.wrote(r, candidate)
	return true
}

// room reports whether there is an empty bucket in the first group of a key, which ends every
// search there. None ever comes back.
func (c *Cache) room(f *flight) bool {
	group := unsafe.Slice(f.group, c.cfg.GroupBuckets*c.bucketWords)
	at := f.index()
	for range c.cfg.GroupBuckets {
		if atomic.LoadUint64(&group[at]) == empty {
			return true
		}
		if at += c.bucketWords; at == len(group) {
			at = 0
		}
	}
	return false
}

// index is where in its group the bucket is, in words.
func (f *flight) index() int {
	return int(uintptr(unsafe.Pointer(f.bucket))-uintptr(unsafe.Pointer(f.group))) / 8
}

// putNear is a put whose search ends in the first group of its key. If it does not, or if
// the key stands there twice, putNear does nothing and returns 0.
func (c *Cache) putNear(f *flight, key, value []uint64) (r Result, candidate int) {
	group := unsafe.Slice(f.group, c.cfg.GroupBuckets*c.bucketWords)
	at := f.index()
	var place []uint64
	for i := range c.cfg.GroupBuckets {
		b := group[at : at+c.bucketWords]
		switch atomic.LoadUint64(&b[0]) {
		case empty:
			if place == nil {
				place, candidate = b, i
			}
			// mark: a put of a batch over memory is about to write
			seal := sealOf(f.hash, value)
			if r == Updated {
				if atomic.LoadUint64(&place[0]) != seal || !sameWords(c.valueIn(place), value) {
					memory.StoreWords(c.valueIn(place), value)
					storeSeal(place, seal)
				}
				return r, candidate
			}
			storeBucket(place, seal, key, value)
			return Inserted, candidate
		case invalid:
			if place == nil {
				place, candidate = b, i
			}
		default:
			switch {
			case !sameWords(c.keyIn(b), key):
			case r == Updated:
				return 0, 0
			default:
				r, place, candidate = Updated, b, i
			}
		}
		if at += c.bucketWords; at == len(group) {
			at = 0
		}
	}
	return 0, 0
}

// lockBefore is the lock that a put of a key has to take for the first group; nil for none.
func (c *Cache) lockBefore(f *flight) *uint64 {
	switch c.cfg.Mode {
	case Fine:
		return (*uint64)(unsafe.Add(unsafe.Pointer(f.group), -8))
	case Coarse:
		return &c.batches.Segments[c.rankOf(f.hash)][c.rankLock]
	}
	return nil
}

// take reads the keys of a block that are found where the stages have brought them, and returns
// how many these are.
func (p *pipeline) take(flights []flight, from int) int {
	before := p.counts.Hits
	if p.c.kernel {
		p.work.values = &p.values[from*p.c.valueWords]
		p.work.found = (*bool)(unsafe.Pointer(&p.results[from]))
		takeFlights(&p.work)
		p.counts.Hits += p.work.hits
		p.work.hits = 0
		return int(p.counts.Hits - before)
	}
	for i, f := range flights {
		first := unsafe.Slice(f.bucket, p.c.bucketWords)
		if p.c.peek(first, f.hash, p.key(from+i), p.value(from+i)) {
			p.results[from+i] = hit
			p.counts.Hits++
		}
	}
	return int(p.counts.Hits - before)
}

// maxFetchLines is how many lines of a bucket are prefetched at most; the processor prefetches
// the lines after them by itself.
const maxFetchLines = 8

// fetchLines is the lines that a bucket may touch.
func (c *Cache) fetchLines() int {
	lines := (c.bucketWords + 2*lineWords - 2) / lineWords
	if c.bucketWords%lineWords == 0 && c.lockWords == 0 {
		lines = c.bucketWords / lineWords
	}
	return min(lines, maxFetchLines)
}
