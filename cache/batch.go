package cache

import (
	"context"
	"fmt"
	"unsafe"
)

// GetBatch is Get for many keys, which lie one after the other in keys: found[i] reports
// whether the one at i*KeySize was found, and then its value is at i*ValueSize of values.
// For keys that are not found values holds nothing of use. The keys are worked on with many
// requests in flight, or by their owners, as [Config].Access says. When memory of some ranks is
// lost, keys of others are answered all the same, and the error names one rank.
func (c *Cache) GetBatch(keys, values []byte, found []bool) error {
	results := unsafe.Slice((*Result)(unsafe.Pointer(unsafe.SliceData(found))), len(found))
	return c.batch(call{kindGet, c.keys(keys), c.values(values), results})
}

// PutBatch is Put for many keys and values, laid out as in GetBatch. results[i] answers
// number i; it is 0 where there was an error. Of the values of a key that occurs twice
// either may stay.
func (c *Cache) PutBatch(keys, values []byte, results []Result) error {
	return c.batch(call{kindPut, c.keys(keys), c.values(values), results})
}

// call is operations as they are given: on bytes.
type call struct {
	kind    kind
	keys    items
	values  items
	results []Result // of gets: hit, which is the memory of a bool that is true
}

// items are byte strings of one size, each so many bytes behind the one before.
type items struct {
	bytes      []byte
	size, step int
}

func (c *Cache) keys(b []byte) items   { return items{b, c.cfg.KeySize, c.cfg.KeySize} }
func (c *Cache) values(b []byte) items { return items{b, c.cfg.ValueSize, c.cfg.ValueSize} }

func (it *items) at(i int) []byte { return it.bytes[i*it.step:][:it.size] }

// pack writes an item as whole words, filled up with zeros.
func (it *items) pack(to []uint64, i int) {
	to[len(to)-1] = 0
	copy(bytesOf(to), it.at(i))
}

// whole is all items as words, where they are that: whole, aligned, one behind the other.
func (it *items) whole() ([]uint64, bool) {
	if it.size%8 != 0 || it.step != it.size {
		return nil, false
	}
	return asWords(it.bytes)
}

// batch carries out the operations of a batch.
func (c *Cache) batch(o call) error {
	n := len(o.results)
	if len(o.keys.bytes) != n*c.cfg.KeySize || len(o.values.bytes) != n*c.cfg.ValueSize {
		return fmt.Errorf("cache: %d bytes of keys and %d of values for %d answers; this cache "+
			"has keys of %d bytes and values of %d", len(o.keys.bytes), len(o.values.bytes), n,
			c.cfg.KeySize, c.cfg.ValueSize)
	}
	s := c.take()
	defer s.give()
	s.begin(o)
	requests, err := c.batches.Run(context.Background(), n, s)
	s.counts.Queues.Add(requests)
	c.tally.Add(uint64(n), &s.counts)
	return err
}

// one carries out a single operation, which is not shipped.
func (c *Cache) one(k kind, key, value []byte) (outcome, error) {
	s := c.take()
	defer s.give()
	s.begin(call{k, c.keys(key), c.values(value), s.result[:]})
	keyWords := s.word(0)
	hash, err := hashKey(keyWords), error(nil)
	if c.addressable(hash) {
		single := search{c: c, kind: k, key: keyWords, value: s.value}
		if k == kindPut {
			s.values.pack(s.value, 0)
		}
		single.begin(hash)
		c.run(&single)
		s.settle(0, &single)
	} else {
		err = s.Queued(nil)
	}
	c.tally.Add(hash, &s.counts)
	return s.single, err
}

// outcome is what a single search has come to.
type outcome struct {
	matched bool
	result  Result
	rank    int
	bucket  uint64 // of the rank, where the pair is
}

// scratch is a call, a core.Ops, and what it needs for itself.
type scratch struct {
	call
	c      *Cache
	counts Counts
	key    []uint64 // room for one
	value  []uint64
	single outcome   // of the operation, where it is a single one
	result [1]Result // of it
	pipe   pipeline  // for direct memory
	piece  batch     // room for operations that are copied
	served []Result  // room for the answers to operations of another rank
}

// take returns a scratch that no call uses. They are kept, so that calls do not allocate.
func (c *Cache) take() *scratch {
	if s, ok := c.scratch.Get().(*scratch); ok {
		return s
	}
	return &scratch{c: c, key: make([]uint64, c.keyWords), value: make([]uint64, c.valueWords)}
}

// give gives a scratch back, without what the call was given.
func (s *scratch) give() {
	s.call, s.pipe.batch = call{}, batch{}
	s.c.scratch.Put(s)
}

// begin readies the answers: false, or 0.
func (s *scratch) begin(o call) {
	s.call, s.counts, s.single = o, Counts{}, outcome{}
	clear(o.results)
}

// word is a key as whole words, which may be in s.key.
func (s *scratch) word(i int) []uint64 {
	if words, ok := asWords(s.keys.at(i)); ok {
		return words
	}
	s.keys.pack(s.key, i)
	return s.key
}

// Owners gives the ranks that have the candidates of the keys.
func (s *scratch) Owners(owners []int32) {
	for i := range owners {
		owners[i] = int32(s.c.rankOf(hashKey(s.word(i))))
	}
}

// pieceBytes is how much of the keys and values of a call is copied at a time.
const pieceBytes = 1 << 16

// Direct works on memory that this process addresses. The stages of the pipeline need the
// operations one behind the other as whole words, so they are copied unless they are that already.
func (s *scratch) Direct(at, left []int) ([]int, error) {
	c, n := s.c, len(s.results)
	if at == nil {
		keys, wholeKeys := s.keys.whole()
		values, wholeValues := s.values.whole()
		if wholeKeys && wholeValues {
			s.pipe.run(s, batch{keys, values, s.results})
			return left, nil
		}
	} else {
		n = len(at)
	}
	p := &s.piece
	if p.results == nil {
		size := max(1, pieceBytes/8/c.bucketWords)
		*p = batch{make([]uint64, size*c.keyWords), make([]uint64, size*c.valueWords),
			make([]Result, size)}
	}
	for from := 0; from < n; from += len(p.results) {
		s.copied(at, from, min(len(p.results), n-from))
	}
	return left, nil
}

// copied carries out n of the operations at, or of all for nil, by copying them.
func (s *scratch) copied(at []int, from, n int) {
	c, p := s.c, &s.piece
	number := func(j int) int {
		if at == nil {
			return from + j
		}
		return at[from+j]
	}
	for j := range n {
		s.keys.pack(p.keys[j*c.keyWords:][:c.keyWords], number(j))
		if s.kind == kindPut {
			s.values.pack(p.values[j*c.valueWords:][:c.valueWords], number(j))
		}
	}
	clear(p.results)
	s.pipe.run(s, batch{p.keys, p.values, p.results[:n]})
	for j, r := range p.results[:n] {
		i := number(j)
		if s.results[i] = r; s.kind == kindGet && r == hit {
			copy(s.values.at(i), bytesOf(p.values[j*c.valueWords:]))
		}
	}
}

// settle takes the answer of a search that has ended.
func (s *scratch) settle(i int, done *search) {
	s.counts.count(done)
	if s.results[i] = done.result; len(s.results) == 1 {
		s.single = outcome{done.matched, done.result, done.rank, done.place()}
	}
	if done.kind == kindGet && done.matched {
		copy(s.values.at(i), bytesOf(done.value))
	}
}

// batch is operations on whole words.
type batch struct {
	keys    []uint64
	values  []uint64
	results []Result
}

// asWords is the memory of bytes as words, where they are whole and aligned.
func asWords(b []byte) ([]uint64, bool) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b)%8 != 0 || uintptr(p)%8 != 0 {
		return nil, false
	}
	return unsafe.Slice((*uint64)(p), len(b)/8), true
}

// asWordPair is asWords of a key and of a value.
func asWordPair(key, value []byte) (k, v []uint64, ok bool) {
	if k, ok = asWords(key); ok {
		v, ok = asWords(value)
	}
	return k, v, ok
}
