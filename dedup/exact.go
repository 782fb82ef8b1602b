package dedup

import (
	"bytes"

	"github.com/farhash/farhash/set"
)

// exact remembers records themselves, in the order of their first occurrences.
type exact struct {
	numbers *numbers
	records records

	prints []byte // of a batch
	refs   []set.Ref
}

func newExact(memoryBytes uint64) (*exact, error) {
	n, err := newNumbers(memoryBytes)
	if err != nil {
		return nil, err
	}
	return &exact{numbers: n, prints: make([]byte, batchRecords*printBytes),
		refs: make([]set.Ref, batchRecords)}, nil
}

func (e *exact) bytes() uint64 { return e.numbers.bytes() + e.records.sizeBytes() }

// enoughBytes is a limit with which twice as many records would fit.
func (e *exact) enoughBytes() uint64 {
	return max(e.numbers.enoughBytes(), e.numbers.bytes()) + 2*e.records.sizeBytes()
}

// records are the bytes of distinct records, numbered in the order of their first occurrences.
type records struct {
	keys   [][]byte // what is compared, in chunks
	whole  [][]byte // the records; where they are compared as a whole, the same bytes
	counts []uint64
	ids    []uint64          // a record's number plus one, by the number of its fingerprint
	others map[string]uint64 // records whose fingerprint another record has

	chunk     []byte // room for more bytes
	usedBytes uint64 // by chunks
}

const chunkBytes = 1 << 20

func (s *records) sizeBytes() uint64 {
	const header, count = 24, 8
	return s.usedBytes + uint64(cap(s.keys)+cap(s.whole))*header +
		uint64(cap(s.counts)+cap(s.ids))*count
}

// find is the number of the record with a key, and whether there is one.
func (s *records) find(ref set.Ref, key []byte) (id uint64, found bool) {
	if uint64(ref) >= uint64(len(s.ids)) || s.ids[ref] == 0 {
		return 0, false
	}
	if id = s.ids[ref] - 1; bytes.Equal(s.keys[id], key) {
		return id, true
	}
	id, found = s.others[string(key)]
	return id, found
}

// add stores a record whose key is new.
func (s *records) add(ref set.Ref, key, whole []byte) {
	id := uint64(len(s.keys))
	stored := s.store(key)
	s.keys = append(s.keys, stored)
	if len(key) != len(whole) || len(key) > 0 && &key[0] != &whole[0] {
		stored = s.store(whole)
	}
	s.whole = append(s.whole, stored)
	s.counts = append(s.counts, 1)
	if uint64(ref) >= uint64(len(s.ids)) {
		s.ids = append(s.ids, make([]uint64, uint64(ref)+1-uint64(len(s.ids)))...)
	}
	if s.ids[ref] == 0 {
		s.ids[ref] = id + 1
		return
	}
	if s.others == nil {
		s.others = map[string]uint64{}
	}
	s.others[string(key)] = id
}

// store copies bytes into a chunk.
func (s *records) store(data []byte) []byte {
	if len(data) > cap(s.chunk)-len(s.chunk) {
		size := max(chunkBytes, len(data))
		s.chunk = make([]byte, 0, size)
		s.usedBytes += uint64(size)
	}
	begin := len(s.chunk)
	s.chunk = append(s.chunk, data...)
	return s.chunk[begin:len(s.chunk):len(s.chunk)]
}
