package cache

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/internal/core"
)

// A batch that is shipped is packed so, operation by operation:
//
//	get     request   key                 answer   0, or 1 and the value
//	put     request   key and value       answer   its result
//
// All are whole words. The owner of a key is its rank, which has all its candidates.

// messages is how many messages an operation takes one-sided, about: a get brings a group, and
// sometimes a second one; a put writes as well; a lock is taken and given back.
func (c *Config) messages() float64 {
	if c.Mode == LockFree {
		return 1.5
	}
	return 3.5
}

// Kind, Size, Pack and Unpack are those of a request.
func (s *scratch) Kind() uint32 { return uint32(s.kind) }

func (s *scratch) Size(int) (request, answer int) {
	c := s.c
	if s.kind == kindPut {
		return c.keyWords + c.valueWords, 1
	}
	return c.keyWords, 1 + c.valueWords
}

func (s *scratch) Pack(i int, to []uint64) {
	s.keys.pack(to[:s.c.keyWords], i)
	if s.kind == kindPut {
		s.values.pack(to[s.c.keyWords:], i)
	}
}

func (s *scratch) Unpack(_, i int, from []uint64) (words int, again bool, err error) {
	size := 1 + s.c.valueWords
	switch {
	case s.kind == kindPut && from[0]-1 < uint64(Evicted):
		s.results[i] = Result(from[0])
		return 1, false, nil
	case s.kind == kindGet && from[0] == 0:
		return 1, false, nil
	case len(from) >= size && s.kind == kindGet && from[0] == 1:
		s.results[i] = hit
		copy(s.values.at(i), bytesOf(from[1:size]))
		return size, false, nil
	}
	return 0, false, core.ErrDisorder
}

// answer carries out operations that another rank has shipped here.
func (c *Cache) answer(k uint32, n int, request, answer []uint64) (words int, err error) {
	s := c.take()
	defer s.give()
	bytes := bytesOf(request)
	each, room := c.keyWords, 1+c.valueWords // words of an operation, and of its answer
	switch kind(k) {
	case kindGet:
	case kindPut:
		each, room = c.keyWords+c.valueWords, 1
	default:
		return 0, fmt.Errorf("cache: a request of kind %d", k)
	}
	if n < 0 || len(request) != n*each || len(answer) < n*room {
		return 0, fmt.Errorf("cache: a request of %d operations has %d words, with room for an "+
			"answer of %d; run the same program on every rank", n, len(request), len(answer))
	}
	s.served = slices.Grow(s.served[:0], n)[:n]
	values := items{bytes[min(c.keyWords*8, len(bytes)):], c.valueWords * 8, each * 8}
	if kind(k) == kindGet { // the values are brought to the end of the answer
		values = items{bytesOf(answer[n : n*room]), c.valueWords * 8, c.valueWords * 8}
	}
	s.begin(call{kind(k), items{bytes, c.keyWords * 8, each * 8}, values, s.served})
	s.counts.Served = uint64(n)
	err = c.batches.Own(n, s)
	c.tally.Add(uint64(n), &s.counts)
	if err != nil {
		return 0, err
	}
	for i, r := range s.served { // values move up behind those before them
		answer[words] = uint64(r)
		if words++; kind(k) == kindGet && r == hit {
			words += copy(answer[words:], answer[n+i*c.valueWords:][:c.valueWords])
		}
	}
	return words, nil
}
