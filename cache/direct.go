package cache

import (
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/memory"
)

// peek reads a bucket without a lock, and reports whether the key was there with a whole value.
func (c *Cache) peek(b []uint64, hash uint64, key, value []uint64) bool {
	seal := atomic.LoadUint64(&b[0])
	return seal > invalid && sameWords(c.keyIn(b), key) &&
		c.readValue(b, seal, hash, value)
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
				c.update(place, seal, value)
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

// update gives a bucket another value, if it is another one.
func (c *Cache) update(b []uint64, seal uint64, value []uint64) {
	if atomic.LoadUint64(&b[0]) != seal || !sameWords(c.valueIn(b), value) {
		memory.StoreWords(c.valueIn(b), value)
		storeSeal(b, seal)
	}
}

// run carries out a search over direct memory.
func (c *Cache) run(s *search) {
	l := latch{job: c.job, own: newPace(c.job), writer: s.kind != kindGet, rank: s.rank}
	if c.cfg.Mode == Coarse {
		c.hold(&l, s.number)
	}
	c.visit(&l, s)
	for s.late.known {
		if !c.goBack(&l, s) {
			s.restart()
			c.visit(&l, s)
		}
	}
	if c.cfg.Mode == Coarse {
		c.drop(&l, s.number)
	}
	s.waits += l.waits
	s.broken += l.broken
}

// visit examines the groups of a key in their order.
func (c *Cache) visit(l *latch, s *search) {
	for v := more; v != over; {
		group := s.number
		if c.cfg.Mode == Fine {
			c.hold(l, group)
		}
		at := c.offset(group)
		v = s.examine(c.batches.Segments[s.rank][at : at+c.cfg.GroupBuckets*c.bucketWords])
		// mark: the effects of a search over memory are about to be applied
		c.apply(s, group)
		if c.cfg.Mode == Fine {
			c.drop(l, group)
		}
	}
}

// goBack writes into a bucket of an earlier group, unless somebody else has taken it.
func (c *Cache) goBack(l *latch, s *search) bool {
	group := s.late.group
	// mark: a put goes back to an earlier group
	locks := c.cfg.Mode == Fine
	if locks {
		c.hold(l, group)
	}
	taken := atomic.LoadUint64(&c.bucketAt(s.rank, group, s.late.bucket)[0]) > invalid
	if taken {
		// mark: a put goes back to a bucket that is taken by then
	} else {
		// mark: a put that goes back to a bucket is about to write
		s.write, s.late = s.late, spot{}
		c.apply(s, group)
	}
	if locks {
		c.drop(l, group)
	}
	return !taken
}

func (c *Cache) lockWord(l *latch, group uint64) *uint64 {
	return &c.batches.Segments[l.rank][c.lockOf(group)]
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

func (c *Cache) hold(l *latch, group uint64) { l.on(c.lockWord(l, group), l.acquire()) }
func (c *Cache) drop(l *latch, group uint64) { l.on(c.lockWord(l, group), l.release()) }

// apply carries out the effects of examining a group.
func (c *Cache) apply(s *search, group uint64) {
	if s.write.known {
		storeBucket(c.bucketAt(s.rank, s.write.group, s.write.bucket), s.seal, s.key, s.value)
	}
	for _, m := range s.marks[:s.n] {
		b := c.bucketAt(s.rank, group, m.bucket)
		switch {
		case atomic.CompareAndSwapUint64(&b[0], m.seal, invalid):
			s.marked++
		default:
			// mark: a bucket has changed before it is marked invalid
		}
	}
	s.settled()
}
