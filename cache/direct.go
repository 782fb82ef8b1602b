package cache

import (
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
)

// direct does a single operation on memory. ok is false if only a queue reaches the memory. That is
// never so in a cache whose file can be cut off.
func (c *Cache) direct(k kind, key, value []uint64, expiry uint64) (o outcome, ok bool, err error) {
	if c.fault.Job != nil {
		ok = true // also after a fault
		defer c.fault.Recover(core.CatchFaults(), &err)
		if err := c.fault.Err(); err != nil {
			return o, ok, err
		}
	}
	var s search // no literal, which would be copied
	s.c, s.kind, s.key, s.value = c, k, key, value
	s.now, s.expiry = c.now(), expiry
	s.address(hashKey(key))
	if c.batches.At(s.rank) == nil {
		return outcome{}, false, nil
	}
	var l *latch
	if c.cfg.Mode != LockFree {
		l = &latch{job: c.job, own: newPace(c.job), writer: k != kindGet}
	}
	s.run(l)
	s.countAlone()
	return s.outcome, true, nil
}

// run does gets or puts of a call, in the stages of kernel.go.
func (p *pipeline) run(s *scratch, b batch) {
	p.c, p.kind, p.now, p.counts, p.batch = s.c, s.kind, s.now, &s.counts, b
	p.describe()
	p.latch = latch{job: p.c.job, own: newPace(p.c.job), writer: p.kind != kindGet}
	blocks := (len(p.results) + stageBlock - 1) / stageBlock
	for i := range blocks + 2 {
		p.hash(i)
		p.advance(i - 1)
		p.settle(i - 2)
	}
	p.work = kernelWork{}
}

// settle searches for the keys of a block. The assembly has done most gets without locks.
func (p *pipeline) settle(block int) {
	flights := p.block(block)
	if p.take(block) == len(flights) {
		return
	}
	var s search
	s.c, s.kind, s.now = p.c, p.kind, p.now
	l := &p.latch
	if p.c.cfg.Mode == LockFree {
		l = nil
	}
	results := p.results[block*stageBlock:][:len(flights)]
	for i := range flights {
		if results[i] == hit {
			continue
		}
		at := block*stageBlock + i
		s.key, s.value, s.expiry = p.key(at), p.value(at), p.expiries.at(at)
		s.address(flights[i].hash)
		s.run(l)
		p.counts.count(&s)
		results[i] = s.result
	}
}

// run makes a search over memory: it examines the groups of the key in their order, and applies
// the effects. In LockFree there is no latch.
func (s *search) run(l *latch) {
	c, segment := s.c, s.c.batches.Segments.Of(s.rank)
	for v := more; v != over; {
		group := s.group
		if l != nil && !l.taken {
			l.rank = s.rank
			l.lock(&segment[c.lockOf(group)])
		}
		v = s.examine(segment[c.offset(group):][:c.groupWords-c.lockWords])
		// mark: the effects of a search over memory are about to be applied
		s.apply(segment)
		if l != nil && (v == over || v != rest && c.cfg.Mode == Fine) {
			l.unlock(&segment[c.lockOf(group)])
		}
	}
	if l != nil {
		s.countWaits(l)
	}
}

// apply makes the effects of examining buckets.
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
	if s.c.keyAt > 1 {
		storeWord(&bucket[1], s.expiry)
	}
	storeWord(&bucket[0], s.seal)
}

// storeWord is no atomic store, which would wait for those before it.
func storeWord(at *uint64, word uint64) {
	if !memory.RaceEnabled {
		*at = word
		return
	}
	atomic.StoreUint64(at, word)
}
