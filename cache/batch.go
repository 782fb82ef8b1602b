package cache

import (
	"fmt"
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
	clear(o.found)
	clear(o.results)
	s := c.scratch.take()
	defer c.scratch.give(s)
	s.call = o
	if !c.t.all && c.line.Worth(o.n) {
		return c.ship(s)
	}
	return c.work(s, nil)
}

// one is a batch of one, which is not shipped.
func (c *Cache) one(k kind, key, value []byte) (bool, Result, error) {
	s := c.scratch.take()
	defer c.scratch.give(s)
	s.found[0], s.results[0] = false, 0
	s.call = call{k, 1, c.keys(key), c.values(value), s.found[:], s.results[:]}
	err := c.work(s, nil)
	return s.found[0], s.results[0], err
}

// work carries out the operations that are chosen of the call, whose answers are false or 0. Keys
// and values that are whole words are worked on where they are, others in pieces that are
// copied.
func (c *Cache) work(s *scratch, chosen order) error {
	b, o := &s.batch, &s.call
	*b = batch{t: c.t, kind: o.kind, n: chosen.len(o.n), order: chosen, found: o.found,
		results: o.results, pipe: &s.pipe, near: &s.near}
	var err error
	var whole bool
	if b.keys, whole = o.keys.words(); whole {
		b.values, whole = o.values.words()
	}
	if whole {
		err = b.run()
	} else {
		err = s.piece.each(b, o, chosen, b.run)
	}
	c.tally.add(uint64(o.n), &b.counts)
	*b = batch{} // the batch is kept; what the caller gave is not
	return err
}

// order is the operations of a call that are to be carried out; nil: all of them.
type order []int

// len is how many they are, of n.
func (o order) len(n int) int {
	if o == nil {
		return n
	}
	return len(o)
}

// at is the operation that comes i-th.
func (o order) at(i int) int {
	if o == nil {
		return i
	}
	return o[i]
}

// batch is operations on whole words.
type batch struct {
	t       *table
	kind    kind
	n       int // operations to be carried out
	order   order
	keys    []uint64
	values  []uint64
	found   []bool          // get and remove
	results []Result        // put
	ended   func(s *search) // called with each search that has ended through a queue; may be nil
	counts  Stats
	pipe    *pipeline
	near    *near
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

// each carries out the operations that are chosen by copying them into b, which run carries
// out. The error is the first one.
func (p *piece) each(b *batch, o *call, chosen order, run func() error) (failed error) {
	p.reserve(b.t)
	for from, n := 0, chosen.len(o.n); from < n; from += b.n {
		b.n, b.order = min(len(p.found), n-from), nil
		b.keys, b.values, b.found, b.results = p.keys, p.values, p.found[:b.n], p.results[:b.n]
		clear(b.found)
		clear(b.results)
		for i := range b.n {
			o.keys.pack(b.key(i), chosen.at(from+i))
			if o.kind == kindPut {
				o.values.pack(b.value(i), chosen.at(from+i))
			}
		}
		if err := run(); err != nil && failed == nil {
			failed = err
		}
		for i := range b.n {
			o.answer(chosen.at(from+i), b, i)
		}
	}
	return failed
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

// scratch is what a call needs for itself.
type scratch struct {
	found   [1]bool
	results [1]Result
	call    call
	batch   batch
	piece   piece
	pipe    pipeline
	near    near
	ship    shipping
	update  []uint64 // a value
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
	s.call = call{}
	p.pool.Put(s)
}
