package set

import "sync/atomic"

// elementSearch is find-or-put, or only find, of one element over direct memory. The
// element goes into an arena before the bucket that refers to it is claimed.
type elementSearch struct {
	v       *span
	held    heldSlots
	element []uint64
	key     uint64 // occupied bit and fingerprint
	home    uint64 // in v

	examined uint64 // buckets, from home on
	lost     uint64 // compare-and-swaps
	ref      Ref    // the element that was found or inserted
	mine     Ref    // the slot that the element was stored in
	stored   bool   // there is such a slot
}

// run examines buckets, from the first that has not been, until the search ends.
func (s *elementSearch) run(insert bool) (Result, error) {
	r, err := s.search(insert)
	if s.stored && r != Inserted {
		s.held.takeBack(s.mine)
	}
	return r, err
}

func (s *elementSearch) search(insert bool) (Result, error) {
	v := s.v
	n := uint64(len(v.flat))
	at := s.home + s.examined
	if at >= n && v.whole {
		at -= n
	}
	for s.examined < v.limit {
		if at == n {
			if !v.whole {
				return unfinished, nil
			}
			at = 0
		}
		s.examined++
		p := &v.flat[at]
		seen := atomic.LoadUint64(p)
		d := decide(seen, s.key, ^uint64(refMask), insert)
		if d == vacant {
			if ok, err := s.store(); !ok || err != nil {
				if v.whole {
					return Full, err
				}
				return unfinished, err
			}
			// mark: elementSearch is about to claim a bucket
			if atomic.CompareAndSwapUint64(p, 0, s.key|uint64(s.mine)) {
				s.ref = s.mine
				return Inserted, nil
			}
			// mark: elementSearch loses its bucket
			s.lost++
			seen = atomic.LoadUint64(p) // a bucket changes once, so this is who won
			d = decide(seen, s.key, ^uint64(refMask), insert)
		}
		switch d {
		case same:
			words := s.held.arenas.words(Ref(seen & refMask))
			if words == nil { // it is not directly addressable
				return unfinished, nil
			}
			if equal(words, s.element) {
				s.ref = Ref(seen & refMask)
				return Found, nil
			}
		case absent:
			return NotFound, nil
		}
		at++
	}
	return exhausted(insert), nil
}

// store makes sure that the element lies in a slot. ok is false when there is none.
func (s *elementSearch) store() (ok bool, err error) {
	if s.stored {
		return true, nil
	}
	if s.mine, s.stored, err = s.held.next(); err != nil || !s.stored {
		return false, err
	}
	copy(s.held.arenas.words(s.mine), s.element)
	return true, nil
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
