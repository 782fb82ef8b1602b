package cache

import (
	"sync/atomic"

	"github.com/farhash/farhash/internal/memory"
)

// direct does a single operation on memory. ok is false where only a queue reaches the memory.
func (c *Cache) direct(k kind, key, value []uint64) (_ outcome, ok bool) {
	var s search // not a literal, which would be copied
	s.c, s.kind, s.key, s.value = c, k, key, value
	s.begin(hashKey(key))
	if c.batches.At(s.rank) == nil {
		return outcome{}, false
	}
	if c.cfg.Mode == LockFree {
		c.run(&s, nil)
	} else {
		l := latch{job: c.job, own: newPace(c.job), writer: k != kindGet}
		c.run(&s, &l)
	}
	first, second := s.counters()
	s.count(first)
	if second != none {
		s.count(second)
	}
	return s.outcome, true
}

// run makes a search over memory: it examines the groups of the key in their order, and applies
// the effects of each. In LockFree there is no latch.
func (c *Cache) run(s *search, l *latch) {
	segment := c.batches.Segments[s.rank]
	for v := more; v != over; {
		lock, group := c.lockOf(s.group), c.offset(s.group)
		if l != nil && !l.taken {
			l.rank = s.rank
			l.lock(&segment[lock])
		}
		v = s.examine(segment[group : group+c.cfg.GroupBuckets*c.bucketWords])
		// mark: the effects of a search over memory are about to be applied
		s.apply(segment)
		if l != nil && (v == over || v != rest && c.cfg.Mode == Fine) {
			l.unlock(&segment[lock])
		}
	}
	if l != nil {
		s.countWaits(l)
	}
}

// apply makes the effects of examining a group.
func (s *search) apply(segment []uint64) {
	if s.write {
		s.store(segment[s.at:][:s.c.bucketWords])
	}
	if s.expect != 0 {
		s.wasMarked(atomic.CompareAndSwapUint64(&segment[s.marked], s.expect, invalid))
	}
	s.write, s.expect = false, 0
}

// store writes the pair into a bucket, the checksum last: a reader at the same time then finds the
// old checksum for longer, and its attempt to mark the bucket invalid fails.
func (s *search) store(bucket []uint64) {
	if !s.matched {
		memory.StoreWords(s.c.keyIn(bucket), s.key)
	}
	memory.StoreWords(s.c.valueIn(bucket), s.value)
	if !memory.RaceEnabled { // an atomic store would wait for those before it
		bucket[0] = s.seal
		return
	}
	atomic.StoreUint64(&bucket[0], s.seal)
}
