package dedup

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/set"
)

// Config shapes a Filter.
type Config struct {
	// MemoryBytes is the most that the filter may store. 0 means 1 GiB.
	MemoryBytes uint64
	// Exact stores the bytes of every distinct record, and compares them.
	Exact bool
	// Count stores how often each record was seen, and its bytes, for Counts. It implies Exact.
	Count bool
}

// batchRecords is how many records are looked up together.
const batchRecords = 4096

// Filter says which records it has seen before. One goroutine at a time uses it.
type Filter struct {
	cfg    Config
	store  *store
	broken error // ends all further calls

	prints []byte
	refs   []set.Ref

	known   []uint64 // a bit for each fingerprint by its number, where bytes are not stored
	records records  // where they are

	distinct uint64
	print    func([]byte) xxh3.Uint128 // xxh3.Hash128 but in tests
}

// FullError says that a new record has no room. What was answered before is right.
type FullError struct {
	Distinct    uint64 // records that are stored
	MemoryBytes uint64 // the limit
	EnoughBytes uint64 // a limit with which twice as many records would fit
}

func (e *FullError) Error() string {
	return fmt.Sprintf("dedup: the memory of %s is full with %d distinct records; %s would hold "+
		"twice as many", memory.Format(e.MemoryBytes), e.Distinct, memory.Format(e.EnoughBytes))
}

// New makes an empty filter.
func New(cfg Config) (*Filter, error) {
	if cfg.MemoryBytes == 0 {
		cfg.MemoryBytes = 1 << 30
	}
	cfg.Exact = cfg.Exact || cfg.Count
	s, err := newStore(cfg.MemoryBytes)
	if err != nil {
		return nil, err
	}
	return &Filter{cfg: cfg, store: s, print: xxh3.Hash128,
		prints: make([]byte, batchRecords*printBytes), refs: make([]set.Ref, batchRecords)}, nil
}

// Close gives the memory back.
func (f *Filter) Close() error {
	if errors.Is(f.broken, errClosed) {
		return nil
	}
	f.broken = errClosed
	return f.store.close()
}

var errClosed = errors.New("dedup: the filter is closed")

// Seen reports whether record was seen before, and remembers it. The error is a *FullError where
// the record is new and has no room.
func (f *Filter) Seen(record []byte) (bool, error) {
	var seen [1]bool
	_, err := f.SeenBatch([][]byte{record}, seen[:])
	return seen[0], err
}

// SeenBatch is Seen for many records, one after the other: of equal ones in the batch the first is
// new. It returns how many it has answered, from the first on; all unless there is an error.
func (f *Filter) SeenBatch(records [][]byte, seen []bool) (int, error) {
	if len(records) != len(seen) {
		return 0, fmt.Errorf("dedup: %d records and %d answers; give as many", len(records),
			len(seen))
	}
	for done := 0; done < len(records); {
		end := min(done+batchRecords, len(records))
		n, err := f.batch(records[done:end], seen[done:end])
		done += n
		if err != nil {
			return done, err
		}
	}
	return len(records), nil
}

// batch is SeenBatch for up to batchRecords.
func (f *Filter) batch(records [][]byte, seen []bool) (int, error) {
	if f.broken != nil {
		return 0, f.broken
	}
	for i, r := range records {
		h := f.print(r)
		binary.LittleEndian.PutUint64(f.prints[i*printBytes:], h.Lo)
		binary.LittleEndian.PutUint64(f.prints[i*printBytes+8:], h.Hi>>2) // 126 bits
	}
	refs := f.refs[:len(records)]
	n, err := f.store.findOrPut(f.prints[:len(records)*printBytes], refs, f.records.sizeBytes())
	if err == nil && f.cfg.Exact {
		var kept int
		if kept, err = f.exact(records[:n], refs, seen); kept < n {
			return kept, err
		}
	} else if err == nil {
		for i, ref := range refs[:n] {
			seen[i] = f.mark(ref)
		}
	}
	if err == nil && n < len(records) {
		err = f.full()
	}
	return n, err
}

// mark sets the bit of a fingerprint, and reports whether it was set. The order of the records
// decides which of equal ones is the first, whatever order the set has inserted them in.
func (f *Filter) mark(ref set.Ref) bool {
	word, bit := uint64(ref)/64, uint64(1)<<(ref%64)
	if word >= uint64(len(f.known)) {
		f.known = append(f.known, make([]uint64, word+1-uint64(len(f.known)))...)
	}
	if f.known[word]&bit != 0 {
		return true
	}
	f.known[word] |= bit
	f.distinct++
	return false
}

// exact answers for records with the given fingerprints by their bytes.
func (f *Filter) exact(records [][]byte, refs []set.Ref, seen []bool) (int, error) {
	for i, r := range records {
		id, found := f.records.find(refs[i], r)
		seen[i] = found
		if found {
			f.records.counts[id]++
			continue
		}
		if f.store.bytes()+f.records.sizeBytes()+uint64(len(r)) > f.cfg.MemoryBytes {
			// The fingerprint is stored without its bytes, so that this filter cannot go on.
			f.broken = f.full()
			return i, f.broken
		}
		f.records.add(refs[i], r)
		f.distinct++
	}
	return len(records), nil
}

func (f *Filter) full() error {
	return &FullError{Distinct: f.distinct, MemoryBytes: f.cfg.MemoryBytes,
		EnoughBytes: max(f.store.enoughBytes(), f.store.bytes()) + 2*f.records.sizeBytes()}
}

// Distinct is how many different records the filter has seen.
func (f *Filter) Distinct() uint64 { return f.distinct }

// MemoryBytes is how much memory the filter takes now.
func (f *Filter) MemoryBytes() uint64 {
	if f.broken != nil && errors.Is(f.broken, errClosed) {
		return 0
	}
	return f.store.bytes() + uint64(len(f.known))*8 + f.records.sizeBytes()
}

// Chance is a bound on the chance that any record was taken for another one: 0 where the filter is
// exact.
func (f *Filter) Chance() float64 {
	if f.cfg.Exact {
		return 0
	}
	return math.Ldexp(float64(f.distinct)*float64(f.distinct), -127)
}

// Unique is the first occurrences of the records of an iterator, in order. It ends with the first
// error. The iterator's bytes are used before it continues.
func (f *Filter) Unique(records iter.Seq[[]byte]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for r := range records {
			seen, err := f.Seen(r)
			if err != nil {
				yield(nil, err)
				return
			}
			if !seen && !yield(r, nil) {
				return
			}
		}
	}
}

// Counts is the distinct records with how often each was seen, in the order of their first
// occurrences. It needs Config.Count. The bytes must not be changed.
func (f *Filter) Counts() iter.Seq2[[]byte, uint64] {
	return func(yield func([]byte, uint64) bool) {
		for id, count := range f.records.counts {
			if !yield(f.records.bytes[id], count) {
				return
			}
		}
	}
}

// Save writes what was seen to a file, for Load. An exact filter cannot be saved.
func (f *Filter) Save(ctx context.Context, path string) error {
	if err := f.savable(); err != nil {
		return err
	}
	return f.store.save(ctx, path)
}

// Load adds what Save has written.
func (f *Filter) Load(ctx context.Context, path string) error {
	if err := f.savable(); err != nil {
		return err
	}
	return f.store.load(ctx, path, func(refs []set.Ref) {
		for _, ref := range refs {
			f.mark(ref)
		}
	})
}

func (f *Filter) savable() error {
	if f.cfg.Exact {
		return errors.New("dedup: files of what was seen have fingerprints only; use a filter " +
			"that is not exact")
	}
	return f.broken
}

// records are the bytes of distinct records, numbered in the order of their first occurrences.
type records struct {
	bytes  [][]byte // into chunks
	counts []uint64
	ids    []uint64          // a record's number plus one, by the number of its fingerprint
	others map[string]uint64 // records whose fingerprint another record has

	chunk     []byte // room for more bytes
	usedBytes uint64 // by chunks
}

const chunkBytes = 1 << 20

func (s *records) sizeBytes() uint64 {
	const header, count = 24, 8
	return s.usedBytes + uint64(cap(s.bytes))*header + uint64(cap(s.counts)+cap(s.ids))*count
}

// find is the number of a record, and whether there is one.
func (s *records) find(ref set.Ref, record []byte) (id uint64, found bool) {
	if uint64(ref) >= uint64(len(s.ids)) || s.ids[ref] == 0 {
		return 0, false
	}
	if id = s.ids[ref] - 1; bytes.Equal(s.bytes[id], record) {
		return id, true
	}
	id, found = s.others[string(record)]
	return id, found
}

// add stores a record that is new.
func (s *records) add(ref set.Ref, record []byte) {
	if len(record) > cap(s.chunk)-len(s.chunk) {
		size := max(chunkBytes, len(record))
		s.chunk = make([]byte, 0, size)
		s.usedBytes += uint64(size)
	}
	begin := len(s.chunk)
	s.chunk = append(s.chunk, record...)
	id := uint64(len(s.bytes))
	s.bytes = append(s.bytes, s.chunk[begin:len(s.chunk):len(s.chunk)])
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
	s.others[string(record)] = id
}
