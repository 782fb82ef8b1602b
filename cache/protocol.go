package cache

import (
	"bytes"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
)

type kind uint8

const (
	kindGet kind = iota
	kindPut
	kindRemove
)

// search is what an operation knows of its key's buckets, and what it decides. It examines
// one group at a time, wherever the words of the group are: in a buffer that a get has brought, or
// in directly addressable memory. The changes that it wants are its effects.
//
//	candidates:  group 0           group 1           group 2
//	             | 3 0 1 2 |       | 1 2 3 0 |       | 0 1 2 3 |      first = 1, 3, 0
//
// DESIGN.md says where a search ends, and why a key may stand twice.
type search struct {
	c     *Cache
	kind  kind
	key   []uint64
	value []uint64 // to be written, or where the one found goes
	hash  uint64
	seal  uint64 // put: of key, value and expiry

	now    uint64 // what expires until then is gone
	expiry uint64 // put: of its pair

	choice   int // which group of the key is examined
	group    uint64
	first    int  // bucket of it that is the first candidate
	examined int  // buckets of it that have been examined
	tries    int  // times that the bucket has failed its checksum
	late     bool // put: back in the group of its place

	outcome
	candidate int // put: the number of its place among the candidates of the key
	effects
}

// outcome is what an operation has come to.
type outcome struct {
	matched bool   // the key is there; get: with a whole value
	result  Result // of a put, once it has a place; of a get: hit, or 0
	rank    int
	at      int // the place in the segment of the rank where the key is; put: or where it goes
}

// effects is what is to be done to the memory of the rank after buckets were examined.
type effects struct {
	write  bool   // write the pair at its place
	marked int    // a bucket to be marked invalid
	expect uint64 // if its checksum is still this one; 0: there is no such bucket
}

// verdict says what comes after the effects.
type verdict uint8

const (
	over  verdict = iota // the search has ended
	more                 // go on with the next group
	again                // the same group must be read again
	rest                 // go on with the rest of the group
)

// address begins a search: the hash of the key says where it is.
func (s *search) address(hash uint64) {
	s.hash, s.rank = hash, s.c.rankOf(hash)
	s.group, s.first = s.c.group(hash, 0)
	s.choice, s.examined, s.tries, s.late = 0, 0, 0, false
	s.matched, s.result, s.write = false, 0, false
	if s.kind == kindPut {
		s.seal = sealOf(hash, s.expiry, s.value)
	}
}

// examine examines the buckets of the group, in the order of candidates.
func (s *search) examine(group []uint64) verdict {
	if s.late {
		return s.goBack(group)
	}
	n, size, key := s.c.cfg.GroupBuckets, s.c.bucketWords, s.key
	for at := s.bucket() * size; s.examined < n; s.tries = 0 {
		b := group[at : at+size]
		if seal := atomic.LoadUint64(&b[0]); seal <= invalid {
			if s.offer(); seal == empty {
				return s.end()
			}
		} else if sameWords(s.c.keyIn(b), key) {
			if v := s.match(b, seal); v != more {
				return v
			}
		} else if s.kind == kindPut && expired(s.c.expiryIn(b), s.now) {
			// mark: a put may take an expired pair
			s.offer()
		}
		s.examined++
		if at += size; at == len(group) {
			at = 0
		}
	}
	if s.next() {
		return more
	}
	if s.kind == kindPut && s.result == 0 { // the last candidate has to go
		s.examined--
		s.takes(Evicted)
	}
	return s.end()
}

// match decides about a bucket that has the key.
func (s *search) match(b []uint64, seal uint64) verdict {
	expiry := s.c.expiryIn(b)
	gone := expired(expiry, s.now)
	switch {
	case s.kind == kindGet && gone:
		// mark: a get finds its key expired
		s.count(atExpired)
		return more
	case s.kind == kindGet:
		if s.c.readValue(b, seal, s.hash, expiry, s.value) {
			s.matched, s.result, s.at = true, hit, s.here()
			return over
		}
		s.count(atMismatches)
		// mark: a reader finds a bucket that fails its checksum
		if s.tries < s.c.cfg.Retries {
			s.tries++
			s.count(atRetries)
			return again
		}
		// mark: a bucket fails its checksum each time
	case s.kind == kindPut && !s.matched:
		s.matched = true
		if s.takes(Updated); gone {
			s.result = Inserted
		}
		s.write = seal != s.seal || expiry != s.expiry || !sameWords(s.c.valueIn(b), s.value)
		return more
	case s.matched:
		// mark: a put finds its key twice
	}
	s.matched = s.matched || s.kind == kindRemove && !gone
	s.marked, s.expect = s.here(), seal
	s.examined, s.tries = s.examined+1, 0
	return rest
}

// offer notes the first candidate that may be taken.
func (s *search) offer() {
	if s.kind == kindPut && s.result == 0 {
		s.takes(Inserted)
	}
}

// takes has a put take the bucket that is examined.
func (s *search) takes(r Result) {
	s.result, s.at, s.candidate = r, s.here(), s.choice*s.c.cfg.GroupBuckets+s.examined
}

// bucket is the bucket of the group that is examined.
func (s *search) bucket() int {
	b := s.first + s.examined
	if b >= s.c.cfg.GroupBuckets {
		b -= s.c.cfg.GroupBuckets
	}
	return b
}

// here is where that is in the segment.
func (s *search) here() int { return s.c.bucketOffset(s.group, s.bucket()) }

// next goes to the next group of the key that it has not been in, and reports whether
// there is one. Small tables have few.
func (s *search) next() bool {
	for i := s.choice + 1; i < s.c.cfg.Choices; i++ {
		if group, first := s.c.group(s.hash, i); !s.wasIn(group, i) {
			s.choice, s.group, s.first, s.examined = i, group, first, 0
			return true
		}
	}
	return false
}

// wasIn reports whether a group is among the first n groups of the key.
func (s *search) wasIn(group uint64, n int) bool {
	for i := range n {
		if earlier, _ := s.c.group(s.hash, i); earlier == group {
			return true
		}
	}
	return false
}

// end ends a search. A put whose key was not found writes, or goes back to the group of its place.
func (s *search) end() verdict {
	switch {
	case s.kind != kindPut || s.matched:
	case s.candidate >= s.choice*s.c.cfg.GroupBuckets:
		s.write = true
	default:
		// mark: a put goes back to an earlier group
		s.late, s.group = true, uint64(s.at/s.c.groupWords)
		return more
	}
	return over
}

// wasMarked takes the answer to the request to mark a bucket.
func (s *search) wasMarked(done bool) {
	if done {
		s.count(atInvalid)
		return
	}
	// mark: a bucket has changed before it is marked invalid
}

// goBack decides about the place of a put in a group that was examined before others. In Fine that
// had no lock since: if another operation has taken the bucket the search begins anew.
func (s *search) goBack(group []uint64) verdict {
	b := group[s.at-s.c.offset(s.group):][:s.c.bucketWords]
	if s.c.holds(b, s.now) {
		// mark: a put goes back to a bucket that is taken by then
		s.address(s.hash)
		return more
	}
	// mark: a put that goes back to a bucket is about to write
	s.write = true
	return over
}

// Under the race detector, which reports other accesses as races, shared memory is read and
// written word by word. Without it any way is right: what a reader reads of a bucket that is
// being written fails its checksum.

// sameWords compares words of a bucket, which others may be writing, with own ones.
func sameWords(shared, own []uint64) bool {
	if !memory.RaceEnabled {
		return shared[0] == own[0] && bytes.Equal(core.BytesOf(shared), core.BytesOf(own))
	}
	for i := range own {
		if atomic.LoadUint64(&shared[i]) != own[i] {
			return false
		}
	}
	return true
}

// readValue copies the value out of a bucket that has shown seal, the key and expiry, and reports
// whether it was there as a whole.
func (c *Cache) readValue(bucket []uint64, seal, hash, expiry uint64, value []uint64) bool {
	memory.LoadWords(value, c.valueIn(bucket))
	return sealOf(hash, expiry, value) == seal
}

// whole reports whether the copy of a bucket holds what one writer wrote.
func (c *Cache) whole(b []uint64) bool {
	return b[0] > invalid && sealOf(hashKey(c.keyIn(b)), c.expiryIn(b), c.valueIn(b)) == b[0]
}

// holds reports whether a bucket has a pair that has not expired. A put may take any other.
func (c *Cache) holds(b []uint64, now uint64) bool {
	return atomic.LoadUint64(&b[0]) > invalid && !expired(c.expiryIn(b), now)
}
