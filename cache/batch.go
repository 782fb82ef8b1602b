package cache

import (
	"fmt"
	"sync"
	"unsafe"
)

// GetBatch is Get for many keys, which lie one after the other in keys: found[i] tells
// whether the one at i*KeySize was found, and then its value is at i*ValueSize of values.
// What stands there for other keys is of no use. The keys are worked on with many
// requests in flight. When memory of some ranks is lost, keys of others are
// answered all the same, and the error names one rank.
func (c *Cache) GetBatch(keys, values []byte, found []bool) error {
	if err := c.checkBatch(keys, values, len(found)); err != nil {
		return err
	}
	s := c.scratch.take()
	defer c.scratch.give(s)
	return c.work(s, kindGet, keys, values, found, nil)
}

// PutBatch is Put for many keys and values, laid out as in GetBatch. results[i] answers
// number i; it is 0 where there was an error. Of the values of a key that occurs twice
// either may stay.
func (c *Cache) PutBatch(keys, values []byte, results []Result) error {
	if err := c.checkBatch(keys, values, len(results)); err != nil {
		return err
	}
	s := c.scratch.take()
	defer c.scratch.give(s)
	return c.work(s, kindPut, keys, values, nil, results)
}

func (c *Cache) checkBatch(keys, values []byte, n int) error {
	if len(keys) != n*c.cfg.KeySize || len(values) != n*c.cfg.ValueSize {
		return fmt.Errorf("cache: %d bytes of keys and %d of values for %d answers; this cache "+
			"has keys of %d bytes and values of %d", len(keys), len(values), n, c.cfg.KeySize,
			c.cfg.ValueSize)
	}
	return nil
}

// batch is the operations of one call, on whole words.
type batch struct {
	t       *table
	kind    kind
	n       int
	keys    []uint64
	values  []uint64
	found   []bool          // get and remove
	results []Result        // put
	ended   func(s *search) // is shown a search that has ended, through a queue; may be nil
	counts  Stats
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

func (b *batch) run() error {
	if b.t.flat == nil {
		return b.t.queued(b)
	}
	b.direct(b.pipe)
	return nil
}

// one is a batch of one.
func (c *Cache) one(k kind, key, value []byte) (bool, Result, error) {
	s := c.scratch.take()
	defer c.scratch.give(s)
	err := c.work(s, k, key, value, s.found[:], s.results[:])
	return s.found[0], s.results[0], err
}

// work carries out operations. Keys and values that are whole words are worked on where
// they are, others in pieces that are copied.
func (c *Cache) work(s *scratch, k kind, keys, values []byte, found []bool,
	results []Result) error {
	clear(found)
	clear(results)
	b := &s.batch
	b.t, b.kind, b.counts, b.pipe = c.t, k, Stats{}, &s.pipe
	var err error
	var ok bool
	if b.keys, b.values, ok = c.view(keys, values); ok {
		b.n = len(b.keys) / c.t.keyWords
		b.found, b.results = found, results
		err = b.run()
	} else {
		err = c.copied(s, keys, values, found, results)
	}
	c.tally.add(uint64(len(keys)), &b.counts)
	*b = batch{}
	return err
}

// copied is work on keys and values that are no whole words, or lie at odd addresses.
func (c *Cache) copied(s *scratch, keys, values []byte, found []bool, results []Result) error {
	b, t := &s.batch, c.t
	s.reserve(t)
	var failed error
	for from, n := 0, len(keys)/c.cfg.KeySize; from < n; from += s.items {
		b.n = min(s.items, n-from)
		b.keys, b.values = s.keys, s.values
		pack(b.keys, keys[from*c.cfg.KeySize:], b.n, c.cfg.KeySize)
		switch b.kind {
		case kindGet:
			b.found = found[from : from+b.n]
		case kindPut:
			b.results = results[from : from+b.n]
			pack(b.values, values[from*c.cfg.ValueSize:], b.n, c.cfg.ValueSize)
		case kindRemove:
			b.found = found
		}
		if err := b.run(); err != nil && failed == nil {
			failed = err
		}
		for i := range b.n {
			if b.kind == kindGet && b.found[i] {
				value := values[(from+i)*c.cfg.ValueSize:][:c.cfg.ValueSize]
				copy(value, bytesOf(b.value(i)))
			}
		}
	}
	return failed
}

// pack lays n items into whole words, filled up with zeros.
func pack(words []uint64, items []byte, n, size int) {
	each := wordsOf(size)
	for i := range n {
		item := words[i*each : (i+1)*each]
		item[each-1] = 0
		copy(bytesOf(item), items[i*size:(i+1)*size])
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

// view is keys and values as words, where items are whole and aligned words.
func (c *Cache) view(keys, values []byte) (k, v []uint64, ok bool) {
	if c.cfg.KeySize%8 != 0 || c.cfg.ValueSize%8 != 0 {
		return nil, nil, false
	}
	if k, ok = asWords(keys); ok {
		v, ok = asWords(values)
	}
	return k, v, ok
}

// scratch is what a call needs for itself.
type scratch struct {
	found   [1]bool
	results [1]Result
	batch   batch
	keys    []uint64
	values  []uint64
	items   int      // of keys and values
	update  []uint64 // a value
	pipe    pipeline
}

// room is space for a value.
func (s *scratch) room(size int) []byte {
	if s.update == nil {
		s.update = make([]uint64, wordsOf(size))
	}
	return bytesOf(s.update)[:size]
}

// scratchBytes is how much of the keys and values of a batch is copied at a time.
const scratchBytes = 1 << 16

func (s *scratch) reserve(t *table) {
	if s.items == 0 {
		s.items = max(1, scratchBytes/8/t.bucketWords)
		s.keys = make([]uint64, s.items*t.keyWords)
		s.values = make([]uint64, s.items*t.valueWords)
	}
}

// scratchPool keeps them between calls, so that calls do not allocate.
type scratchPool struct{ pool sync.Pool }

func (p *scratchPool) take() *scratch {
	if s, ok := p.pool.Get().(*scratch); ok {
		return s
	}
	return new(scratch)
}

func (p *scratchPool) give(s *scratch) { p.pool.Put(s) }
