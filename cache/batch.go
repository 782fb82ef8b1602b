package cache

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/internal/core"
)

// call is operations as they are given: on bytes.
type call struct {
	kind    kind
	keys    items
	values  items
	results []Result // of gets: hit, which is the memory of a bool that is true

	expiries expiries // of puts
}

// expiries are when pairs expire: one for all, or a word for each, so many words after the one
// before.
type expiries struct {
	all   uint64
	words []uint64 // nil: all expire at one time
	step  int
}

func (e *expiries) at(i int) uint64 {
	if e.words == nil {
		return e.all
	}
	return e.words[i*e.step]
}

// items are byte strings of one size, each so many bytes after the one before.
type items struct {
	bytes      []byte
	size, step int
}

func (c *Cache) keys(b []byte) items   { return items{b, c.cfg.KeySize, c.cfg.KeySize} }
func (c *Cache) values(b []byte) items { return items{b, c.cfg.ValueSize, c.cfg.ValueSize} }

func (it *items) at(i int) []byte { return it.bytes[i*it.step:][:it.size] }

// pack writes an item as whole words, filled up with zeros.
func (it *items) pack(to []uint64, i int) { pack(to, it.at(i)) }

// pack writes bytes as whole words, filled up with zeros.
func pack(to []uint64, bytes []byte) {
	to[len(to)-1] = 0
	copy(core.BytesOf(to), bytes)
}

// whole is all items as words, where they are whole, aligned and one after the other.
func (it *items) whole() ([]uint64, bool) {
	if it.size%8 != 0 || it.step != it.size {
		return nil, false
	}
	return asWords(it.bytes)
}

// scratch is a call, a core.Ops, and what it needs for itself.
type scratch struct {
	call
	c      *Cache
	counts Counts
	now    uint64   // when the call began
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

// begin sets the answers to false, or 0.
func (s *scratch) begin(o call) {
	s.call, s.counts, s.single, s.now = o, Counts{}, outcome{}, s.c.now()
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
// operations one after the other as whole words, so others are copied.
func (s *scratch) Direct(at, left []int) ([]int, error) {
	c, n := s.c, len(s.results)
	if at == nil {
		keys, wholeKeys := s.keys.whole()
		values, wholeValues := s.values.whole()
		if wholeKeys && wholeValues {
			s.pipe.run(s, batch{keys, values, s.results, s.expiries})
			return left, nil
		}
	} else {
		n = len(at)
	}
	p := &s.piece
	if p.results == nil {
		size := max(1, pieceBytes/8/c.bucketWords)
		*p = batch{make([]uint64, size*c.keyWords), make([]uint64, size*c.valueWords),
			make([]Result, size), expiries{words: make([]uint64, size), step: 1}}
	}
	for from := 0; from < n; from += len(p.results) {
		s.copied(at, from, min(len(p.results), n-from))
	}
	return left, nil
}

// copied does n of the operations at, or of all for nil, with copies of them.
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
			p.expiries.words[j] = s.expiries.at(number(j))
		}
	}
	clear(p.results)
	s.pipe.run(s, batch{p.keys, p.values, p.results[:n], p.expiries})
	for j, r := range p.results[:n] {
		i := number(j)
		if s.results[i] = r; s.kind == kindGet && r == hit {
			copy(s.values.at(i), core.BytesOf(p.values[j*c.valueWords:]))
		}
	}
}

// batch is operations on whole words.
type batch struct {
	keys     []uint64
	values   []uint64
	results  []Result
	expiries expiries
}

// A batch that is shipped is packed so, operation by operation:
//
//	get     request   key                 answer   0, or 1 and the value
//	put     request   key and value       answer   its result
//
// All are whole words. Where pairs expire, that word of a put follows its value. The owner of a key
// is its rank, which has all its candidates.

// Kind, Size, Pack and Unpack describe a request.
func (s *scratch) Kind() uint32 { return uint32(s.kind) }

func (s *scratch) Size(int) (request, answer int) {
	c := s.c
	if s.kind == kindPut {
		return c.putWords(), 1
	}
	return c.keyWords, 1 + c.valueWords
}

// putWords is the words of a put: its bucket without the checksum.
func (c *Cache) putWords() int { return c.bucketWords - 1 }

func (s *scratch) Pack(i int, to []uint64) {
	s.keys.pack(to[:s.c.keyWords], i)
	if s.kind == kindPut {
		s.values.pack(to[s.c.keyWords:][:s.c.valueWords], i)
		if s.c.clock != nil {
			to[s.c.keyWords+s.c.valueWords] = s.expiries.at(i)
		}
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
		copy(s.values.at(i), core.BytesOf(from[1:size]))
		return size, false, nil
	}
	return 0, false, core.ErrDisorder
}

// answer does operations that another rank has shipped here.
func (c *Cache) answer(k uint32, n int, request, answer []uint64) (words int, err error) {
	s := c.take()
	defer s.give()
	bytes := core.BytesOf(request)
	each, room := c.keyWords, 1+c.valueWords // words of an operation, and of its answer
	switch kind(k) {
	case kindGet:
	case kindPut:
		each, room = c.putWords(), 1
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
		values = items{core.BytesOf(answer[n : n*room]), c.valueWords * 8, c.valueWords * 8}
	}
	o := call{kind: kind(k), keys: items{bytes, c.keyWords * 8, each * 8}, values: values,
		results: s.served}
	if at := c.keyWords + c.valueWords; at < each && n > 0 {
		o.expiries = expiries{words: request[at:], step: each}
	}
	s.begin(o)
	s.counts.Served = uint64(n)
	err = c.batches.Own(n, s)
	c.tally.Add(uint64(n), &s.counts)
	if err != nil {
		return 0, err
	}
	for i, r := range s.served { // each value moves up to the one before
		answer[words] = uint64(r)
		if words++; kind(k) == kindGet && r == hit {
			words += copy(answer[words:], answer[n+i*c.valueWords:][:c.valueWords])
		}
	}
	return words, nil
}
