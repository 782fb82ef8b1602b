package cache

import (
	"slices"
	"sync/atomic"
)

type kind uint8

const (
	kindGet kind = iota
	kindPut
	kindRemove
)

// search is what an operation knows of its key's buckets, and what it decides. It examines
// one group at a time, wherever the words of it are: in a buffer that a get has brought, or
// in directly addressable memory. The changes that it wants are its effects.
//
//	candidates:  group 0           group 1           group 2
//	             | 3 0 1 2 |       | 1 2 3 0 |       | 0 1 2 3 |      first = 1, 3, 0
//
// doc.go says where a search ends, and why a key may stand twice.
type search struct {
	c     *Cache
	kind  kind
	key   []uint64
	value []uint64 // to be written, or where the one found goes
	hash  uint64
	seal  uint64 // put: of key and value

	rank     int
	choice   int // which group of the key is examined
	number   uint64
	first    int                // bucket of it that is the first candidate
	examined int                // buckets of it that have been examined
	tries    int                // times that the bucket has failed its checksum
	groups   [MaxChoices]uint64 // those of the key, up to number

	matched bool   // the key is there; get: with a whole value
	free    spot   // put: an empty or invalid candidate
	result  Result // of a get: hit, or 0
	used    int    // put: number of the candidate that was written

	effects
	trouble
}

// spot is a bucket of a group.
type spot struct {
	group     uint64
	bucket    int
	candidate int
	known     bool
}

// effects is what is to be done to the memory of the rank after a group was examined.
type effects struct {
	write spot // write the key and its value there
	late  spot // the same, but in a group that was examined before
	marks [MaxGroupBuckets]erasure
	n     int
}

// erasure is a bucket to be marked invalid if its checksum is still the one seen.
type erasure struct {
	bucket int
	seal   uint64
}

// trouble counts what is rare.
type trouble struct {
	mismatches, retries, marked, waits, broken uint64
}

// verdict says how a search goes on after a group.
type verdict uint8

const (
	over  verdict = iota // the search has ended
	more                 // go on with the next group
	again                // the same group must be read again
)

// begin readies a search for a key with this hash.
func (s *search) begin(hash uint64) {
	s.hash = hash
	if s.kind == kindPut {
		s.seal = sealOf(hash, s.value)
	}
	s.rank = s.c.rankOf(hash)
	s.choice, s.examined, s.tries = 0, 0, 0
	s.number, s.first = s.c.group(hash, 0)
	s.groups[0] = s.number
	s.matched, s.result, s.used = false, 0, 0
	s.free, s.effects.write, s.late, s.n = spot{}, spot{}, spot{}, 0
	s.trouble = trouble{}
}

// restart begins the search anew.
func (s *search) restart() {
	trouble := s.trouble
	s.begin(s.hash)
	s.trouble = trouble
}

// next goes to the next group of the key that it has not been in, and reports whether
// there is one. Small tables have few.
func (s *search) next() bool {
	s.examined, s.tries = 0, 0
	for i := s.choice + 1; i < s.c.cfg.Choices; i++ {
		number, first := s.c.group(s.hash, i)
		s.groups[i] = number
		if !slices.Contains(s.groups[:i], number) {
			s.choice, s.number, s.first = i, number, first
			return true
		}
	}
	return false
}

// here is the bucket that is examined.
func (s *search) here() spot {
	return spot{group: s.number, bucket: s.bucket(), known: true,
		candidate: s.choice*s.c.cfg.GroupBuckets + s.examined}
}

func (s *search) bucket() int { return (s.first + s.examined) % s.c.cfg.GroupBuckets }

// examine examines the buckets of the group, in the order of candidates.
func (s *search) examine(group []uint64) verdict {
	c := s.c
	for s.examined < c.cfg.GroupBuckets {
		i := s.bucket()
		b := group[i*c.bucketWords:][:c.bucketWords]
		switch seal := atomic.LoadUint64(&b[0]); {
		case seal == empty:
			s.offer()
			return s.end()
		case seal == invalid:
			s.offer()
		case sameWords(c.keyIn(b), s.key):
			if v, done := s.match(b, seal); done {
				return v
			}
		}
		s.examined++
		s.tries = 0
	}
	last := s.first + c.cfg.GroupBuckets - 1
	if s.next() {
		return more
	}
	if s.kind == kindPut && !s.free.known { // the last candidate has to go
		s.free = spot{group: s.number, bucket: last % c.cfg.GroupBuckets, known: true,
			candidate: c.cfg.Choices*c.cfg.GroupBuckets - 1}
		s.result = Evicted
	}
	return s.end()
}

// offer notes the first candidate that may be taken.
func (s *search) offer() {
	if s.kind == kindPut && !s.free.known {
		s.free = s.here()
		s.result = Inserted
	}
}

// match deals with a bucket that has the key. done says that the rest of the group is not examined.
func (s *search) match(b []uint64, seal uint64) (v verdict, done bool) {
	switch {
	case s.kind == kindGet:
		if s.c.readValue(b, seal, s.hash, s.value) {
			s.matched, s.result = true, hit
			return over, true
		}
		s.mismatches++
		// mark: a reader finds a bucket that fails its checksum
		if s.tries < s.c.cfg.Retries {
			s.tries++
			s.retries++
			return again, true
		}
		// mark: a bucket fails its checksum each time
		s.mark(seal)
	case s.matched:
		// mark: a put finds its key twice
		s.mark(seal)
	case s.kind == kindRemove:
		s.matched = true
		s.mark(seal)
	default:
		s.matched = true
		s.used = s.here().candidate
		if seal != s.seal || !sameWords(s.c.valueIn(b), s.value) {
			s.write = s.here()
		}
	}
	return 0, false
}

// mark asks for the bucket that is examined to be made invalid.
func (s *search) mark(seal uint64) {
	s.marks[s.n] = erasure{bucket: s.bucket(), seal: seal}
	s.n++
}

// end decides where a put goes whose key was not found.
func (s *search) end() verdict {
	switch {
	case s.kind != kindPut:
	case s.matched:
		s.result = Updated
	case s.free.group == s.number:
		s.write, s.used = s.free, s.free.candidate
	default:
		s.late, s.used = s.free, s.free.candidate
	}
	return over
}

// settled forgets the effects once they have been applied.
func (s *search) settled() { s.write, s.n = spot{}, 0 }
