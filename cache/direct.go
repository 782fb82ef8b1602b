package cache

import (
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/memory"
)

// peek reads a bucket without a lock, and reports whether the key was there with a whole value.
func (t *table) peek(b []uint64, hash uint64, key, value []uint64) bool {
	seal := atomic.LoadUint64(&b[0])
	return seal > invalid && (sameWords(t.keyIn(b), key) || keyForgotten.On()) &&
		t.take(b, seal, hash, value)
}

// room reports whether there is an empty bucket in the first group of a key, which ends every
// search there. None ever comes back.
func (t *table) room(f *flight) bool {
	group := unsafe.Slice(f.group, t.groupBuckets*t.bucketWords)
	at := f.index()
	for range t.groupBuckets {
		if atomic.LoadUint64(&group[at]) == empty {
			return true
		}
		if at += t.bucketWords; at == len(group) {
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
func (t *table) putNear(f *flight, key, value []uint64) (r Result, candidate int) {
	group := unsafe.Slice(f.group, t.groupBuckets*t.bucketWords)
	at := f.index()
	var place []uint64
	for i := range t.groupBuckets {
		b := group[at : at+t.bucketWords]
		switch atomic.LoadUint64(&b[0]) {
		case empty:
			if place == nil {
				place, candidate = b, i
			}
			nearExamined.Hit()
			seal := sealOf(f.hash, value)
			if r == Updated {
				t.update(place, seal, value)
				return r, candidate
			}
			storeBucket(place, seal, key, value)
			return Inserted, candidate
		case invalid:
			if place == nil {
				place, candidate = b, i
			}
			if endsAtHole.On() && r == 0 {
				storeBucket(place, sealOf(f.hash, value), key, value)
				return Inserted, candidate
			}
		default:
			switch {
			case !sameWords(t.keyIn(b), key):
			case r == Updated && putsFirst.On():
			case r == Updated:
				return 0, 0
			default:
				r, place, candidate = Updated, b, i
			}
		}
		if at += t.bucketWords; at == len(group) {
			at = 0
		}
	}
	return 0, 0
}

// update gives a bucket another value, if it is another one.
func (t *table) update(b []uint64, seal uint64, value []uint64) {
	if atomic.LoadUint64(&b[0]) != seal || !sameWords(t.valueIn(b), value) {
		memory.StoreWords(t.valueIn(b), value)
		storeSeal(b, seal)
	}
}

// run carries out a search over direct memory.
func (t *table) run(s *search) {
	l := latch{job: t.job, own: newPace(t.job), writer: s.kind != kindGet}
	if t.mode == Coarse {
		t.hold(&l, s, s.number)
	}
	t.visit(&l, s)
	for s.late.known {
		if !t.goBack(&l, s) {
			s.restart()
			t.visit(&l, s)
		}
	}
	if t.mode == Coarse {
		t.drop(&l, s, s.number)
	}
	s.waits += l.waits
	s.broken += l.broken
}

// visit examines the groups of a key in their order.
func (t *table) visit(l *latch, s *search) {
	for v := more; v != over; {
		group := s.number
		if t.mode == Fine {
			t.hold(l, s, group)
		}
		at := t.offset(group)
		v = s.examine(t.memory[s.rank][at : at+t.groupBuckets*t.bucketWords])
		if appliesLate.On() && t.mode == Fine {
			t.drop(l, s, group)
		}
		groupExamined.Hit()
		t.apply(s, group)
		if !appliesLate.On() && t.mode == Fine {
			t.drop(l, s, group)
		}
	}
}

// goBack writes into a bucket of an earlier group, unless somebody else has taken it.
func (t *table) goBack(l *latch, s *search) bool {
	group := s.late.group
	lateWrite.Hit()
	locks := !goesUnlocked.On() && t.mode == Fine
	if locks {
		t.hold(l, s, group)
	}
	taken := atomic.LoadUint64(&t.bucketAt(s.rank, group, s.late.bucket)[0]) > invalid &&
		!goesBlindly.On()
	if taken {
		lateTaken.Hit()
	} else {
		lateFree.Hit()
		s.write, s.late = s.late, spot{}
		t.apply(s, group)
	}
	if locks {
		t.drop(l, s, group)
	}
	return !taken
}

func (t *table) lockWord(s *search, group uint64) *uint64 {
	return &t.memory[s.rank][t.lockOf(group)]
}

// lockBefore is the lock that a put of a key has to take for the first group; nil for none.
func (t *table) lockBefore(f *flight) *uint64 {
	switch t.mode {
	case Fine:
		return (*uint64)(unsafe.Add(unsafe.Pointer(f.group), -8))
	case Coarse:
		return &t.memory[t.rankOf(f.hash)][t.rankLock]
	}
	return nil
}

func (t *table) hold(l *latch, s *search, group uint64) {
	l.rank = s.rank
	l.on(t.lockWord(s, group), l.acquire())
}

func (t *table) drop(l *latch, s *search, group uint64) { l.on(t.lockWord(s, group), l.release()) }

// apply carries out the effects of examining a group.
func (t *table) apply(s *search, group uint64) {
	if s.write.known {
		storeBucket(t.bucketAt(s.rank, s.write.group, s.write.bucket), s.seal, s.key, s.value)
	}
	for _, m := range s.marks[:s.n] {
		b := t.bucketAt(s.rank, group, m.bucket)
		switch {
		case marksBlindly.On():
			atomic.StoreUint64(&b[0], invalid)
		case atomic.CompareAndSwapUint64(&b[0], m.seal, invalid):
			s.marked++
		default:
			markTooLate.Hit()
		}
	}
	s.settled()
}
