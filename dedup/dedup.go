package dedup

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// Config shapes a Filter.
type Config struct {
	// MemoryBytes is the most that the filter may store. 0 means 1 GiB.
	MemoryBytes uint64
	// Records is how many distinct records there are at most, as a guess by which tables are sized,
	// 0 for none. More may come. Exact, Count and NewShared leave it out.
	Records uint64
	// Exact stores the bytes of every distinct record, and compares them.
	Exact bool
	// Compared names the part of a line that is a record, as Format.Compared does. Save writes it
	// into the file, and Load refuses a file with another one.
	Compared string
	// Count stores how often each record was seen, and its bytes, for Counts. It implies Exact.
	Count bool
}

// batchRecords is how many records are looked up together.
const batchRecords = 4096

// Filter says which records it has seen before. One goroutine at a time uses it.
type Filter struct {
	cfg    Config
	broken error   // ends all further calls
	shared bool    // by several ranks
	prints *prints // nil: the filter is exact
	exact  *exact

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
		"twice as many", memory.Format(e.MemoryBytes), e.Distinct, memory.FormatUp(e.EnoughBytes))
}

// New makes an empty filter.
func New(cfg Config) (*Filter, error) {
	if cfg.MemoryBytes == 0 {
		cfg.MemoryBytes = 1 << 30
	}
	cfg.Exact = cfg.Exact || cfg.Count
	f := &Filter{cfg: cfg, print: xxh3.Hash128}
	var err error
	if cfg.Exact {
		f.exact, err = newExact(context.Background(), nil, &cfg)
	} else {
		f.prints, err = newPrints(cfg.MemoryBytes, min(cfg.Records, cfg.MemoryBytes))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// NewShared makes an empty filter of the ranks of a job, which share what was seen: of equal
// records one is new, on any of the ranks that see them. Config.MemoryBytes, Distinct, MemoryBytes
// and Chance are of all ranks together; Config.MemoryBytes of 0 means 0.8 of the memory that the
// hosts have left. Count is refused. Exact takes records of less than 64 KiB, and is needed for
// Save and Load, which are collective then. Collective.
func NewShared(ctx context.Context, job rma.Job, cfg Config) (f *Filter, err error) {
	f = &Filter{cfg: cfg, shared: true, print: xxh3.Hash128}
	switch {
	case cfg.Count:
		err = errors.New("dedup: a filter of several ranks excludes Count")
	case cfg.Exact:
		f.exact, err = newExact(ctx, job, &cfg)
	default:
		f.prints, err = newSharedPrints(ctx, job, cfg.MemoryBytes)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Close gives this process's memory back.
func (f *Filter) Close() error {
	if errors.Is(f.broken, errClosed) {
		return nil
	}
	f.broken = errClosed
	if f.exact != nil {
		return f.exact.close()
	}
	return f.prints.close()
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
	switch {
	case f.broken != nil:
		return 0, f.broken
	case f.exact != nil:
		return f.exactBatch(records, records, seen)
	}
	f.prints.begin(len(records))
	for _, r := range records {
		f.prints.add(f.print(r))
	}
	return f.answer(seen)
}

// answer answers the batch of fingerprints.
func (f *Filter) answer(seen []bool) (int, error) {
	n, added, err := f.prints.answer(seen)
	f.distinct += uint64(added)
	if full := (*set.FullError)(nil); errors.As(err, &full) {
		return n, f.full(full.MaxBytes, full.EnoughBytes)
	}
	if err == nil && n < f.prints.n {
		err = f.full(f.cfg.MemoryBytes, f.prints.enoughBytes())
	}
	return n, err
}

// exactBatch is batch of an exact filter that compares keys. After an error the set may have
// records that were not answered, so that this filter cannot continue.
func (f *Filter) exactBatch(keys, records [][]byte, seen []bool) (int, error) {
	e := f.exact
	if limit := f.cfg.MemoryBytes; f.cfg.Count && e.bytes() > limit {
		f.broken = f.full(limit, 2*e.bytes())
		return 0, f.broken
	}
	n, added, err := e.answer(keys, records, seen)
	f.distinct += uint64(added)
	if full := (*set.FullError)(nil); errors.As(err, &full) {
		err = f.full(full.MaxBytes, full.EnoughBytes+2*e.counts.sizeBytes())
	}
	f.broken = err
	return n, err
}

func (f *Filter) full(memoryBytes, enoughBytes uint64) error {
	return &FullError{Distinct: f.Distinct(), MemoryBytes: memoryBytes,
		EnoughBytes: max(enoughBytes, memoryBytes+memoryBytes/8)}
}

// Distinct is how many different records the filter has seen.
func (f *Filter) Distinct() uint64 {
	switch {
	case !f.shared || errors.Is(f.broken, errClosed):
		return f.distinct
	case f.exact != nil:
		return f.exact.sharedLen()
	}
	return f.prints.sharedLen()
}

// MemoryBytes is how much memory the filter takes now.
func (f *Filter) MemoryBytes() uint64 {
	if f.broken != nil && errors.Is(f.broken, errClosed) {
		return 0
	}
	if f.exact != nil {
		return f.exact.bytes()
	}
	return f.prints.bytes()
}

// Chance is a bound on the chance that any record was taken for another one: 0 where the filter is
// exact.
func (f *Filter) Chance() float64 {
	if f.cfg.Exact {
		return 0
	}
	if f.shared {
		return sharedChance(f.Distinct())
	}
	return chance(f.distinct)
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
// occurrences. It needs Config.Count. Where a format compares a field or a value, the records with
// the same one are counted together, by the first of them. The bytes are valid until the loop
// continues, and the filter is used by nothing else until it ends.
func (f *Filter) Counts() iter.Seq2[[]byte, uint64] {
	return func(yield func([]byte, uint64) bool) {
		if f.cfg.Count {
			f.exact.all(yield)
		}
	}
}
