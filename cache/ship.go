package cache

import (
	"context"
	"fmt"
	"slices"

	"github.com/farhash/farhash/ship"
)

// A batch that is shipped is packed so, operation by operation:
//
//	get     request   key                 answer   0, or 1 and the value
//	put     request   key and value       answer   its result
//
// All are whole words. The owner of a key is its rank, which has all its candidates.

// shipping is what a batch needs that is shipped, or that another rank has shipped here.
type shipping struct {
	ranks   []int // of the keys
	key     []uint64
	found   []bool
	results []Result
}

// trips is how many messages an operation takes one-sided, about: a get brings a group, and
// sometimes a second one; a put writes as well; a lock is taken and given back.
func (c *Config) trips() float64 {
	if c.Mode == LockFree {
		return 1.5
	}
	return 3.5
}

// open lets batches be shipped, if the engine can. Collective.
func (c *Cache) open(ctx context.Context) (err error) {
	c.line, err = ship.Open(ctx, c.job, c.t.window, ship.Config{Access: c.cfg.Access,
		Trips: c.cfg.trips(), Answer: c.answer})
	return err
}

// Access is how batches reach memory that is not addressable, and why.
func (c *Cache) Access() ship.Choice { return c.line.Choice() }

// ship ships a batch to the owners of its keys, save what is not worth a request.
func (c *Cache) ship(s *scratch) error {
	t, o, sh := c.t, &s.call, &s.ship
	if err := t.sessions.Open(); err != nil { // this error names the cache, and not the line
		return err
	}
	sh.ranks = slices.Grow(sh.ranks[:0], o.n)[:o.n]
	sh.key = slices.Grow(sh.key[:0], t.keyWords)[:t.keyWords]
	for i := range sh.ranks {
		o.keys.pack(sh.key, i)
		sh.ranks[i] = t.rankOf(hashKey(sh.key))
	}
	request, answer := t.keyWords, 1+t.valueWords
	if o.kind == kindPut {
		request, answer = t.keyWords+t.valueWords, 1
	}
	queues, err := c.line.Run(context.Background(), &ship.Batch{
		Kind:  uint32(o.kind),
		N:     o.n,
		Owner: func(i int) int { return sh.ranks[i] },
		Size:  func(int) (int, int) { return request, answer },
		Pack: func(i int, to []uint64) {
			o.keys.pack(to[:t.keyWords], i)
			if o.kind == kindPut {
				o.values.pack(to[t.keyWords:], i)
			}
		},
		Unpack: func(i int, from []uint64) (int, error) { return c.unpack(o, i, from) },
		Rest:   func(operations []int) error { return c.work(s, operations) },
	})
	c.tally.add(uint64(o.n), &Stats{Queues: queues})
	return err
}

// unpack takes the answer of an operation, and returns its words.
func (c *Cache) unpack(o *call, i int, from []uint64) (int, error) {
	size := 1 + c.t.valueWords
	switch {
	case o.kind == kindPut && from[0]-1 < uint64(Evicted):
		o.results[i] = Result(from[0])
		return 1, nil
	case o.kind == kindGet && from[0] == 0:
		return 1, nil
	case len(from) >= size && o.kind == kindGet && from[0] == 1:
		o.found[i] = true
		copy(o.values.at(i), bytesOf(from[1:size]))
		return size, nil
	}
	return 0, ship.ErrDisorder
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

// serve carries out the call that has come.
func (c *Cache) serve(s *scratch) error {
	c.tally.add(0, &Stats{Served: uint64(s.call.n)})
	return c.work(s, nil)
}

// answerGets has the values brought to the end of the answer, from where they move up behind
// those before them.
func (c *Cache) answerGets(s *scratch, n int, request, answer []uint64) (words int, err error) {
	t, sh := c.t, &s.ship
	if n < 0 || len(request) != n*t.keyWords || len(answer) < n*(1+t.valueWords) {
		return 0, badRequest(n, request, answer)
	}
	sh.found = slices.Grow(sh.found[:0], n)[:n]
	clear(sh.found)
	values := answer[n : n*(1+t.valueWords)]
	s.call = call{kind: kindGet, n: n, found: sh.found, keys: wordItems(request, t.keyWords),
		values: wordItems(values, t.valueWords)}
	if err := c.serve(s); err != nil {
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
	t, sh := c.t, &s.ship
	each := t.keyWords + t.valueWords
	if n < 0 || len(request) != n*each || len(answer) < n {
		return 0, badRequest(n, request, answer)
	}
	sh.results = slices.Grow(sh.results[:0], n)[:n]
	clear(sh.results)
	bytes := bytesOf(request)
	s.call = call{kind: kindPut, n: n, results: sh.results,
		keys:   items{bytes, t.keyWords * 8, each * 8},
		values: items{bytes[min(t.keyWords*8, len(bytes)):], t.valueWords * 8, each * 8}}
	if err := c.serve(s); err != nil {
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
