package cache

import (
	"unsafe"

	"github.com/farhash/farhash/internal/system/memory"
)

// A batch over directly addressable memory passes three stages, a block at a time, and each
// stage prefetches what the next one needs. Between the stages of one block others
// are worked on, so that the waits overlap:
//
//	hash     find the first candidate, and prefetch it
//	advance  where it has another key, prefetch the second; a get begins there
//	settle   search
//
// The assembly has the first two stages, and of the third gets that find their key in the first
// group: it is a second form of search.examine for them, which takes half the time. Without
// assembly there is no second stage.
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
	puts         uint64 // not 0: a put examines the second candidate as well, after the first
	bucket       uint64 // bytes
	groupBuckets uint64
	keyWords     uint64
	lines        uint64 // of a bucket to ask for
	values       *uint64
	valueWords   uint64
	found        *bool
	hits         uint64
	keyAt        uint64 // bytes; where this is 16 buckets have an expiry
	now          uint64
}

// pipeline is a batch over directly addressable memory, and its keys that are between the stages.
type pipeline struct {
	batch
	c      *Cache
	kind   kind // get or put
	now    uint64
	counts *Counts
	ring   [stageRing][stageBlock]flight
	work   kernelWork
	latch  latch
}

func (p *pipeline) key(i int) []uint64   { return p.keys[i*p.c.keyWords:][:p.c.keyWords] }
func (p *pipeline) value(i int) []uint64 { return p.values[i*p.c.valueWords:][:p.c.valueWords] }

// describe describes the table to the assembly.
func (p *pipeline) describe() {
	c := p.c
	p.work = kernelWork{
		bases: &c.bases[0], locks: uint64(c.lockWords), ranks: uint64(c.ranks),
		groups: c.groups, group: uint64(c.groupWords) * 8, bucket: uint64(c.bucketWords) * 8,
		groupBuckets: uint64(c.cfg.GroupBuckets), keyWords: uint64(c.keyWords),
		valueWords: uint64(c.valueWords), lines: uint64(c.fetchLines()),
		keyAt: uint64(c.keyAt) * 8, now: p.now,
	}
	if p.kind == kindPut {
		p.work.puts = 1
	}
}

// block is the flights of a block: fewer in the last one, and none where there is no such block.
// The kernel's work is set to it.
func (p *pipeline) block(i int) []flight {
	n := min(stageBlock, len(p.results)-i*stageBlock)
	if i < 0 || n <= 0 {
		return nil
	}
	flights := p.ring[i%stageRing][:n]
	p.work.n, p.work.flights = uint64(n), &flights[0]
	p.work.keys = &p.keys[i*stageBlock*p.c.keyWords]
	return flights
}

func (p *pipeline) hash(block int) {
	c, flights := p.c, p.block(block)
	if c.kernel && len(flights) > 0 {
		hashFlights(&p.work)
		return
	}
	var lines [stageBlock]*uint64
	for i := range flights {
		hash := hashKey(p.key(block*stageBlock + i))
		group, first := c.group(hash, 0)
		flights[i].hash = hash
		lines[i] = &c.batches.Segments.Of(c.rankOf(hash))[c.bucketOffset(group, first)]
	}
	memory.Prefetch(lines[:len(flights)], c.fetchLines())
}

func (p *pipeline) advance(block int) {
	if p.c.kernel && len(p.block(block)) > 0 {
		advanceFlights(&p.work)
	}
}

// take has the assembly read the keys of a block that are in their first groups, without locks, and
// returns how many these are.
func (p *pipeline) take(block int) (hits int) {
	if !p.c.kernel || p.kind != kindGet || p.c.cfg.Mode != LockFree || len(p.block(block)) == 0 {
		return 0
	}
	from := block * stageBlock
	p.work.values, p.work.hits = &p.values[from*p.c.valueWords], 0
	p.work.found = (*bool)(unsafe.Pointer(&p.results[from]))
	takeFlights(&p.work)
	p.counts.Hits += p.work.hits
	return int(p.work.hits)
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
