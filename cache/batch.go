package cache

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// GetBatch is Get for many keys, which lie one after the other in keys: found[i] reports
// whether the one at i*KeySize was found, and then its value is at i*ValueSize of values.
// For keys that are not found values holds nothing of use. The keys are worked on with many
// requests in flight, or by their owners, as [Config].Access says. When memory of some ranks is
// lost, keys of others are answered all the same, and the error names one rank.
func (c *Cache) GetBatch(keys, values []byte, found []bool) error {
	if err := c.checkBatch(keys, values, len(found)); err != nil {
		return err
	}
	return c.batch(call{kind: kindGet, n: len(found), keys: c.keys(keys),
		values: c.values(values), found: found})
}

// PutBatch is Put for many keys and values, laid out as in GetBatch. results[i] answers
// number i; it is 0 where there was an error. Of the values of a key that occurs twice
// either may stay.
func (c *Cache) PutBatch(keys, values []byte, results []Result) error {
	if err := c.checkBatch(keys, values, len(results)); err != nil {
		return err
	}
	return c.batch(call{kind: kindPut, n: len(results), keys: c.keys(keys),
		values: c.values(values), results: results})
}

func (c *Cache) checkBatch(keys, values []byte, n int) error {
	if len(keys) != n*c.cfg.KeySize || len(values) != n*c.cfg.ValueSize {
		return fmt.Errorf("cache: %d bytes of keys and %d of values for %d answers; this cache "+
			"has keys of %d bytes and values of %d", len(keys), len(values), n, c.cfg.KeySize,
			c.cfg.ValueSize)
	}
	return nil
}

// call is operations as they are given: on bytes.
type call struct {
	kind    kind
	n       int
	keys    items
	values  items
	found   []bool   // get and remove
	results []Result // put
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

// words is the items as words, where they are that: whole, aligned, one behind the other.
func (it *items) words() ([]uint64, bool) {
	if it.size%8 != 0 || it.step != it.size {
		return nil, false
	}
	return asWords(it.bytes)
}

// batch carries out the operations of a batch.
func (c *Cache) batch(o call) error {
	s := c.scratch.take()
	defer c.scratch.give(s)
	s.begin(c, o)
	requests, err := c.t.batches.Run(context.Background(), o.n, s)
	s.counts.Queues.Add(requests)
	c.tally.Add(uint64(o.n), &s.counts)
	return err
}

// one is a batch of one, which is not shipped.
func (c *Cache) one(k kind, key, value []byte) (bool, Result, error) {
	s := c.scratch.take()
	defer c.scratch.give(s)
	s.begin(c, call{k, 1, c.keys(key), c.values(value), s.foundOne[:], s.resultOne[:]})
	err := c.own(s)
	return s.foundOne[0], s.resultOne[0], err
}

// own carries out a call without shipping it.
func (c *Cache) own(s *scratch) error {
	err := c.t.batches.Own(s.n, s)
	c.tally.Add(uint64(s.n), &s.counts)
	return err
}

// scratch is a call, a core.Ops, and what it needs for itself.
type scratch struct {
	call
	c       *Cache
	counts  Counts
	whole   bool     // keys and values are whole words, and worked on where they are
	words   batch    // if whole: all operations
	copied  batch    // a piece of the operations
	piece   piece    // its memory
	pipe    pipeline // for direct memory
	key     []uint64 // room for one
	at      []int    // the operations of a piece
	serving shipping
	update  []uint64 // a value

	foundOne  [1]bool
	resultOne [1]Result
}

// begin readies the answers: false, or 0.
func (s *scratch) begin(c *Cache, o call) {
	s.c, s.call, s.counts = c, o, Counts{}
	clear(o.found)
	clear(o.results)
	s.words = batch{t: c.t, kind: o.kind, counts: &s.counts, pipe: &s.pipe}
	b := &s.words
	if b.keys, s.whole = o.keys.words(); s.whole {
		b.values, s.whole = o.values.words()
	}
	if b.n, b.found, b.results = o.n, o.found, o.results; !s.whole {
		s.piece.reserve(c.t)
	}
}

// hash is the hash of a key.
func (s *scratch) hash(i int) uint64 {
	if s.whole {
		return hashKey(s.words.key(i))
	}
	s.key = slices.Grow(s.key[:0], s.c.t.keyWords)[:s.c.t.keyWords]
	s.keys.pack(s.key, i)
	return hashKey(s.key)
}

// Owners gives the ranks that have the candidates of the keys.
func (s *scratch) Owners(owners []int32) {
	for i := range owners {
		owners[i] = int32(s.c.t.rankOf(s.hash(i)))
	}
}

// Direct works on memory that this process addresses. The stages of the pipeline need the
// operations one behind the other, so they are copied unless they are that already.
func (s *scratch) Direct(at, left []int) ([]int, error) {
	if at == nil && s.whole {
		s.words.direct(s.words.pipe)
		return left, nil
	}
	s.piece.reserve(s.c.t)
	return left, s.pieces(at, true)
}

// Queued works through a queue.
func (s *scratch) Queued(at []int) error {
	if s.whole {
		return s.c.t.queued(&s.words, at)
	}
	return s.pieces(at, false)
}

// pieces carries out the operations at, or all for nil, by copying them into a batch, which works
// on direct memory or through a queue. The error is the first one.
func (s *scratch) pieces(at []int, direct bool) (failed error) {
	p, n := &s.piece, len(at)
	if at == nil {
		n = s.n
	}
	b := &s.copied
	*b = batch{t: s.c.t, kind: s.kind, counts: &s.counts, pipe: &s.pipe}
	for from := 0; from < n; {
		s.at = s.at[:0]
		for ; from < n && len(s.at) < len(p.found); from++ {
			i := from
			if at != nil {
				i = at[from]
			}
			s.at = append(s.at, i)
		}
		b.n = len(s.at)
		b.keys, b.values, b.found, b.results = p.keys, p.values, p.found[:b.n], p.results[:b.n]
		clear(b.found)
		clear(b.results)
		for j, i := range s.at {
			s.keys.pack(b.key(j), i)
			if s.kind == kindPut {
				s.values.pack(b.value(j), i)
			}
		}
		if direct {
			b.direct(b.pipe)
		} else if err := b.t.queued(b, nil); failed == nil {
			failed = err
		}
		for j, i := range s.at {
			s.answer(i, b, j)
		}
	}
	return failed
}

// batch is operations on whole words.
type batch struct {
	t       *table
	kind    kind
	n       int
	keys    []uint64
	values  []uint64
	found   []bool          // get and remove
	results []Result        // put
	ended   func(s *search) // called with each search that has ended through a queue; may be nil
	counts  *Counts
	pipe    *pipeline
}

func (b *batch) key(i int) []uint64 { return b.keys[i*b.t.keyWords:][:b.t.keyWords] }

func (b *batch) value(i int) []uint64 {
	if b.kind == kindRemove {
		return nil
	}
	return b.values[i*b.t.valueWords:][:b.t.valueWords]
}

// settle takes the answer of a search.
func (b *batch) settle(i int, s *search) {
	b.counts.count(s)
	if b.ended != nil {
		b.ended(s)
	}
	if b.kind == kindPut {
		b.results[i] = s.result
	} else {
		b.found[i] = s.matched
	}
}

// piece is memory for some operations of a call, as whole words next to each other.
type piece struct {
	keys    []uint64
	values  []uint64
	found   []bool
	results []Result
}

// pieceBytes is how much of the keys and values of a call is copied at a time.
const pieceBytes = 1 << 16

func (p *piece) reserve(t *table) {
	if len(p.found) > 0 {
		return
	}
	n := max(1, pieceBytes/8/t.bucketWords)
	p.keys, p.values = make([]uint64, n*t.keyWords), make([]uint64, n*t.valueWords)
	p.found, p.results = make([]bool, n), make([]Result, n)
}

// answer gives operation i the answer of number j of a batch.
func (o *call) answer(i int, b *batch, j int) {
	switch {
	case o.kind == kindPut:
		o.results[i] = b.results[j]
	case b.found[j]:
		o.found[i] = true
		if o.kind == kindGet {
			copy(o.values.at(i), bytesOf(b.value(j)))
		}
	}
}

// asWords is the memory of bytes as words, where they are whole and aligned.
func asWords(b []byte) ([]uint64, bool) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b)%8 != 0 || uintptr(p)%8 != 0 {
		return nil, false
	}
	return unsafe.Slice((*uint64)(p), len(b)/8), true
}

// view is a key and a value as words, where they are whole and aligned words.
func (c *Cache) view(key, value []byte) (k, v []uint64, ok bool) {
	if k, ok = asWords(key); ok {
		v, ok = asWords(value)
	}
	return k, v, ok
}

// room is space for a value.
func (s *scratch) room(size int) []byte {
	if s.update == nil {
		s.update = make([]uint64, wordsOf(size))
	}
	return bytesOf(s.update)[:size]
}

// scratchPool keeps them between calls, so that calls do not allocate.
type scratchPool struct{ pool sync.Pool }

func (p *scratchPool) take() *scratch {
	if s, ok := p.pool.Get().(*scratch); ok {
		return s
	}
	return new(scratch)
}

// give takes one back, without what the call was given.
func (p *scratchPool) give(s *scratch) {
	s.call, s.words, s.copied, s.c = call{}, batch{}, batch{}, nil
	p.pool.Put(s)
}
