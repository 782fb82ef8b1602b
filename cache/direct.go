package cache

import (
	"sync/atomic"

	"github.com/farhash/farhash/rma"
)

// peek looks at the first candidate of a key, over direct memory and without a lock, and
// reports whether the key was there with a whole value.
func (t *table) peek(hash uint64, key, value []uint64) bool {
	if t.mode != LockFree {
		return false
	}
	group, first := t.group(hash, 0)
	b := t.bucketAt(t.rankOf(hash), group, first)
	return t.peekAt(b, hash, key, value)
}

func (t *table) peekAt(b []uint64, hash uint64, key, value []uint64) bool {
	seal := atomic.LoadUint64(&b[0])
	return seal > invalid && (sameWords(t.keyIn(b), key) || keyForgotten.On()) &&
		t.take(b, seal, hash, value)
}

// putFirst is a put into the first candidate of a key, if that is empty, or if it has the key
// and the second one is empty, so that there are no copies. Otherwise it does nothing and
// returns 0.
func (t *table) putFirst(b []uint64, second *uint64, hash uint64, key, value []uint64) Result {
	seal := sealOf(hash, value)
	switch seen := atomic.LoadUint64(&b[0]); {
	case seen == empty:
		storeBucket(b, seal, key, value)
		return Inserted
	case seen == invalid || !sameWords(t.keyIn(b), key) || atomic.LoadUint64(second) != empty:
		return 0
	case seen != seal || !sameWords(t.valueIn(b), value):
		storeBucket(b, seal, key, value)
	}
	return Updated
}

// run carries out a search over direct memory.
func (t *table) run(s *search) {
	l := latch{job: t.job, pace: rma.Backoff{Job: t.job}, writer: s.kind != kindGet}
	if t.mode == Coarse {
		t.hold(&l, s, s.number)
	}
	for v := more; v != over; {
		group := s.number
		if t.mode == Fine {
			t.hold(&l, s, group)
		}
		at := s.rank*t.segment + t.offset(group)
		v = s.look(t.flat[at : at+t.groupBuckets*t.bucketWords])
		t.apply(s, group)
		if t.mode == Fine {
			t.drop(&l, s, group)
		}
	}
	if s.late.known {
		group := s.late.group
		if t.mode == Fine {
			t.hold(&l, s, group)
		}
		s.write = s.late
		t.apply(s, group)
		if t.mode == Fine {
			t.drop(&l, s, group)
		}
	}
	if t.mode == Coarse {
		t.drop(&l, s, s.number)
	}
	s.waits += l.waits
	s.broken += l.broken
}

func (t *table) lockWord(s *search, group uint64) *uint64 {
	return &t.flat[s.rank*t.segment+t.lockOf(group)]
}

func (t *table) hold(l *latch, s *search, group uint64) { l.on(t.lockWord(s, group), l.acquire()) }
func (t *table) drop(l *latch, s *search, group uint64) { l.on(t.lockWord(s, group), l.release()) }

// apply carries out the effects of a look at a group.
func (t *table) apply(s *search, group uint64) {
	if s.write.known {
		storeBucket(t.bucketAt(s.rank, s.write.group, s.write.bucket), s.seal, s.key, s.value)
	}
	for _, m := range s.marks[:s.n] {
		b := t.bucketAt(s.rank, group, m.bucket)
		if atomic.CompareAndSwapUint64(&b[0], m.seal, invalid) {
			s.marked++
		}
	}
	s.settled()
}
