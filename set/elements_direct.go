package set

import "sync/atomic"

// elementSearch is find-or-put, or only find, of one element over direct memory. The
// element goes into an arena before the bucket that refers to it is claimed.
type elementSearch struct {
	e       *Elements
	h       hand
	element []uint64
	key     uint64 // occupied bit and fingerprint
	home    uint64

	examined uint64 // buckets, from home on
	lost     uint64 // compare-and-swaps
	ref      Ref    // the element that was found or inserted
	mine     Ref    // a slot with the element in it
	stored   bool   // there is such a slot
}

// run examines buckets, from the first that has not been, until the search ends.
func (s *elementSearch) run(insert bool) (Result, error) {
	r, err := s.search(insert)
	if s.stored && r != Inserted {
		s.h.keep(s.mine)
	}
	return r, err
}

func (s *elementSearch) search(insert bool) (Result, error) {
	t := s.e.t
	at := s.home + s.examined
	if at >= t.buckets {
		at -= t.buckets
	}
	for s.examined < t.limit {
		s.examined++
		p := &t.flat[at]
		seen := atomic.LoadUint64(p)
		if seen == 0 {
			if !insert {
				return NotFound, nil
			}
			if ok, err := s.store(); !ok || err != nil {
				return Full, err
			}
			claimsElement.Hit()
			if atomic.CompareAndSwapUint64(p, 0, s.key|uint64(s.mine)) {
				s.ref = s.mine
				return Inserted, nil
			}
			s.lost++
			seen = atomic.LoadUint64(p) // a bucket changes once, so this is who won
			if seen&^refMask == s.key {
				elementLosesEqual.Hit()
			} else {
				elementLosesOther.Hit()
			}
		}
		if seen&^refMask == s.key && s.same(seen) {
			return Found, nil
		}
		if at++; at == t.buckets {
			at = 0
		}
	}
	if !insert {
		return NotFound, nil
	}
	return Full, nil
}

// store makes sure that the element lies in a slot. ok is false when there is none.
func (s *elementSearch) store() (ok bool, err error) {
	if s.stored {
		return true, nil
	}
	if s.mine, s.stored, err = s.h.next(); err != nil || !s.stored {
		return false, err
	}
	copy(s.e.arenas.words(s.mine), s.element)
	return true, nil
}

// same reports whether a bucket refers to the element, and keeps its name then.
func (s *elementSearch) same(bucket uint64) bool {
	ref := Ref(bucket & refMask)
	if !equal(s.e.arenas.words(ref), s.element) {
		return false
	}
	s.ref = ref
	return true
}

// equal compares two elements of the same length.
func equal(a, b []uint64) bool {
	for i, word := range a {
		if word != b[i] {
			return false
		}
	}
	return true
}
