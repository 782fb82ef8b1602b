package explore

import (
	"errors"

	"github.com/farhash/farhash/internal/memory"
)

// slabWords is how much is asked of the system at a time: a megabyte. What is not touched takes
// none.
const slabWords = 1 << 17

// slabs is memory outside the Go heap, which would let as much garbage gather as there is of it
// before it is collected. It is given back all at once.
type slabs struct {
	rest    []uint64
	release []func() error
}

// words returns zeroed words, at most slabWords.
func (s *slabs) words(n int) []uint64 {
	if len(s.rest) < n {
		slab, release, err := memory.Words(slabWords)
		if err != nil {
			return make([]uint64, n) // the system has no mapping to spare
		}
		s.rest, s.release = slab, append(s.release, release)
	}
	words := s.rest[:n:n]
	s.rest = s.rest[n:]
	return words
}

func (s *slabs) close() error {
	var err error
	for _, release := range s.release {
		err = errors.Join(err, release())
	}
	*s = slabs{}
	return err
}
