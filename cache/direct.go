package cache

import (
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/memory"
)

// direct does a single operation on memory. Without locks most end in a loop over the first group.
func (c *Cache) direct(k kind, hash uint64, key, value []uint64) outcome {
	if rank := c.rankOf(hash); c.cfg.Mode == LockFree && k != kindRemove {
		group, first := c.group(hash, 0)
		f := flight{hash, &c.bucketAt(rank, group, first)[0], &c.bucketAt(rank, group, 0)[0]}
		o := outcome{rank: rank}
		if k == kindGet {
			if c.peek(unsafe.Slice(f.bucket, c.bucketWords), hash, key, value) {
				o.matched, o.place.at = true, c.bucketOffset(group, first)
				c.tally.Count(hash, atHits, 1)
				return o
			}
		} else if r, candidate := c.putNear(&f, key, value); r != 0 {
			o.result = r
			o.place.at = c.bucketOffset(group, (first+candidate)%c.cfg.GroupBuckets)
			c.tally.Count(hash, atInserted+8*uintptr(r-Inserted), 1)
			c.tally.Count(hash, atCandidates+8*uintptr(candidate), 1)
			return o
		}
	}
	s := search{c: c, kind: k, key: key, value: value}
	s.begin(hash)
	c.run(&s)
	s.each(func(at uintptr, n uint64) { c.tally.Count(hash, at, n) })
	return s.outcome
}

// peek reads a bucket without a lock, and reports whether the key was there with a whole value.
func (c *Cache) peek(b []uint64, hash uint64, key, value []uint64) bool {
	seal := atomic.LoadUint64(&b[0])
	return seal > invalid && sameWords(c.keyIn(b), key) && c.readValue(b, seal, hash, value)
}

// run makes a search over memory: it examines the groups of the key in their order, and applies
// the effects of each.
func (c *Cache) run(s *search) {
	segment := c.batches.Segments[s.rank]
	l := latch{job: c.job, own: newPace(c.job), writer: s.kind != kindGet, rank: s.rank}
	if c.cfg.Mode == Coarse {
		l.lock(&segment[c.rankLock])
	}
	for v := more; v != over; {
		group := c.offset(s.number)
		if c.cfg.Mode == Fine {
			l.lock(&segment[group-1])
		}
		v = s.examine(segment[group : group+c.cfg.GroupBuckets*c.bucketWords])
		// mark: the effects of a search over memory are about to be applied
		c.apply(s, segment)
		if c.cfg.Mode == Fine {
			l.unlock(&segment[group-1])
		}
	}
	if c.cfg.Mode == Coarse {
		l.unlock(&segment[c.rankLock])
	}
	s.waits += l.waits
	s.broken += l.broken
}

// apply makes the effects of examining a group.
func (c *Cache) apply(s *search, segment []uint64) {
	if s.write {
		storeBucket(segment[s.place.at:][:c.bucketWords], s.seal, s.key, s.value)
	}
	for _, m := range s.marks[:s.n] {
		if atomic.CompareAndSwapUint64(&segment[m.at], m.seal, invalid) {
			s.marked++
			continue
		}
		// mark: a bucket has changed before it is marked invalid
	}
	s.applied()
}

// readAt copies a bucket in the memory of a rank, again where it is torn, and reports whether it
// holds a pair.
func (c *Cache) readAt(rank, at int, words []uint64) bool {
	for try := 0; ; try++ {
		memory.LoadWords(words, c.batches.Segments[rank][at:][:c.bucketWords])
		if found, again := c.holds(words, try); !again {
			return found
		}
	}
}
