package index

import (
	"cmp"
	"errors"
	"slices"

	"github.com/farhash/farhash/internal/memory"
)

// store keeps the records of a rank while the table is built, divided by the high bits of
// what a hash says of the place on the rank. So the parts are in the order of homes, and
// each is small enough to be sorted in a processor's cache.
type store struct {
	form    form
	ranks   int
	parts   [partitions]part
	records uint64
	words   uint64 // of records
	values  uint64 // bytes of values

	slab     []uint64 // that chunks are cut from
	slabNext int
	releases []func() error
	bytes    uint64 // taken from the system
	marked   []uint64
	failed   error // no more memory
}

const (
	partitionBits = 10
	partitions    = 1 << partitionBits

	firstChunkWords = 1 << 7 // words of the first chunk of a part that is not smaller than a record
	maxChunkWords   = 1 << 12
	firstSlabWords  = 1 << 13
	maxSlabWords    = 1 << 20
)

// part is some of the records, in chunks of whole records.
type part struct {
	open    []uint64 // the chunk that is being filled
	full    [][]uint64
	records int
}

func newStore(c *Config, ranks int) *store {
	return &store{form: formOf(c), ranks: ranks, slabNext: firstSlabWords,
		marked: make([]uint64, markers/64)}
}

// add copies a record whose place on this rank is known.
func (s *store) add(rest uint64, key, value []byte) {
	to := s.room(rest, s.form.words(len(value)))
	if to != nil {
		s.form.encode(to, key, value)
		s.mark(key)
		s.values += uint64(len(value))
	}
}

// addWords copies records that are encoded already.
func (s *store) addWords(words []uint64) {
	for len(words) > 0 {
		n := s.form.wordsAt(words[0])
		key := s.form.key(words[:n])
		_, rest := place(hashKey(key), s.ranks)
		if to := s.room(rest, n); to != nil {
			copy(to, words[:n])
			s.mark(key)
			s.values += uint64(s.form.valueSizeAt(words[0]))
		}
		words = words[n:]
	}
}

// mark notes a key that is one of those which may mark empty slots.
func (s *store) mark(key []byte) {
	if i := markerNumber(key); i < markers {
		s.marked[i/64] |= 1 << (i % 64)
	}
}

// room is place for a record of n words, nil when the memory has failed.
func (s *store) room(rest uint64, n int) []uint64 {
	p := &s.parts[rest>>(64-partitionBits)]
	used := len(p.open)
	if used+n > cap(p.open) {
		if !s.grow(p, n) {
			return nil
		}
		used = 0
	}
	p.open = p.open[:used+n]
	p.records++
	s.records++
	s.words += uint64(n)
	return p.open[used : used+n]
}

// grow gives a part a new chunk, twice as large as the one before.
func (s *store) grow(p *part, least int) bool {
	if s.failed != nil {
		return false
	}
	size := min(max(2*cap(p.open), firstChunkWords), maxChunkWords)
	for size < least {
		size *= 2
	}
	if len(s.slab) < size && !s.refill(size) {
		return false
	}
	if cap(p.open) > 0 {
		p.full = append(p.full, p.open)
	}
	p.open = s.slab[:0:size]
	s.slab = s.slab[size:]
	return true
}

func (s *store) refill(least int) bool {
	size := max(s.slabNext, least)
	slab, release, err := memory.Words(size)
	if err != nil {
		s.failed = err
		return false
	}
	s.slab, s.slabNext = slab, min(2*size, maxSlabWords)
	s.releases = append(s.releases, release)
	s.bytes += uint64(size) * 8
	return true
}

// storeSlackBytes is the most that a store takes beyond twice its records, or beyond them
// where they are many: chunks and a slab that are not full.
const storeSlackBytes = partitions*maxChunkWords*8/2 + maxSlabWords*8

// chunks are the chunks of a part, in the order in which they were filled.
func (p *part) chunks() [][]uint64 {
	if len(p.open) == 0 {
		return p.full
	}
	return append(p.full[:len(p.full):len(p.full)], p.open)
}

// copies is the largest number of records with the same key. It needs a word for each
// record of a part.
func (s *store) copies() (most uint64) {
	var hashes []uint64
	for i := range s.parts {
		hashes = hashes[:0]
		for _, chunk := range s.parts[i].chunks() {
			for len(chunk) > 0 {
				n := s.form.wordsAt(chunk[0])
				hashes = append(hashes, hashKey(s.form.key(chunk[:n])))
				chunk = chunk[n:]
			}
		}
		slices.SortFunc(hashes, cmp.Compare)
		same := uint64(0)
		for j, hash := range hashes {
			if j > 0 && hash != hashes[j-1] {
				same = 0
			}
			same++
			most = max(most, same)
		}
	}
	return most
}

// release gives the memory back.
func (s *store) release() error {
	var errs []error
	for _, release := range s.releases {
		errs = append(errs, release())
	}
	*s = store{}
	return errors.Join(errs...)
}
