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
	t := s.c.t
	if s.kind == kindPut {
		return t.keyWords + t.valueWords, 1
	}
	return t.keyWords, 1 + t.valueWords
}

func (s *scratch) Pack(i int, to []uint64) {
	s.keys.pack(to[:s.c.t.keyWords], i)
	if s.kind == kindPut {
		s.values.pack(to[s.c.t.keyWords:], i)
	}
}

func (s *scratch) Unpack(_, i int, from []uint64) (words int, again bool, err error) {
	size := 1 + s.c.t.valueWords
	switch {
	case s.kind == kindPut && from[0]-1 < uint64(Evicted):
		s.results[i] = Result(from[0])
		return 1, false, nil
	case s.kind == kindGet && from[0] == 0:
		return 1, false, nil
	case len(from) >= size && s.kind == kindGet && from[0] == 1:
		s.found[i] = true
		copy(s.values.at(i), bytesOf(from[1:size]))
		return size, false, nil
	}
	return 0, false, core.ErrDisorder
}

// shipping is the answers of operations that another rank has shipped here.
type shipping struct {
	found   []bool
	results []Result
}

// answer carries out operations that another rank has shipped here.
func (c *Cache) answer(k uint32, n int, request, answer []uint64) (words int, err error) {
	s := c.scratch.take()
	defer c.scratch.give(s)
	switch k {
	case uint32(kindGet):
		return c.answerGets(s, n, request, answer)
	case uint32(kindPut):
		return c.answerPuts(s, n, request, answer)
	}
	return 0, fmt.Errorf("cache: a request of kind %d", k)
}

// serve carries out a call that has come.
func (c *Cache) serve(s *scratch, o call) error {
	s.begin(c, o)
	s.counts.Served = uint64(o.n)
	return c.own(s)
}

// answerGets has the values brought to the end of the answer, from where they move up behind
// those before them.
func (c *Cache) answerGets(s *scratch, n int, request, answer []uint64) (words int, err error) {
	t, sh := c.t, &s.serving
	if n < 0 || len(request) != n*t.keyWords || len(answer) < n*(1+t.valueWords) {
		return 0, badRequest(n, request, answer)
	}
	sh.found = slices.Grow(sh.found[:0], n)[:n]
	values := answer[n : n*(1+t.valueWords)]
	err = c.serve(s, call{kind: kindGet, n: n, found: sh.found,
		keys: wordItems(request, t.keyWords), values: wordItems(values, t.valueWords)})
	if err != nil {
		return 0, err
	}
	for i, found := range sh.found {
		answer[words] = 0
		if found {
			answer[words] = 1
			words += copy(answer[words+1:], values[i*t.valueWords:(i+1)*t.valueWords])
		}
		words++
	}
	return words, nil
}

func (c *Cache) answerPuts(s *scratch, n int, request, answer []uint64) (words int, err error) {
	t, sh := c.t, &s.serving
	each := t.keyWords + t.valueWords
	if n < 0 || len(request) != n*each || len(answer) < n {
		return 0, badRequest(n, request, answer)
	}
	sh.results = slices.Grow(sh.results[:0], n)[:n]
	bytes := bytesOf(request)
	err = c.serve(s, call{kind: kindPut, n: n, results: sh.results,
		keys:   items{bytes, t.keyWords * 8, each * 8},
		values: items{bytes[min(t.keyWords*8, len(bytes)):], t.valueWords * 8, each * 8}})
	if err != nil {
		return 0, err
	}
	for i, r := range sh.results {
		answer[i] = uint64(r)
	}
	return n, nil
}

// wordItems are items of so many words, one behind the other.
func wordItems(words []uint64, each int) items { return items{bytesOf(words), each * 8, each * 8} }

func badRequest(n int, request, answer []uint64) error {
	return fmt.Errorf("cache: a request of %d operations has %d words, with room for an answer "+
		"of %d; run the same program on every rank", n, len(request), len(answer))
}
