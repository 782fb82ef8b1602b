package index

import (
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/ship"
)

// Reader looks keys up and counts what that takes. It is safe for
// concurrent use.
type Reader struct {
	t          *table
	cfg        Lookups
	direct     bool
	quickBytes int     // of keys that quick looks up
	sizes      []int   // of reads in slots, one after the other; the last one is repeated
	maxSlots   int     // of a read
	guides     []guide // by rank; nil: there are none

	sessions core.Pool[*session]
	closed   atomic.Bool

	counters *core.Counters[Counts]
}

// NewReader returns a Reader, for lookups in another way than by the index itself. No other
// rank needs to do the same.
func (x *Index) NewReader(l Lookups) (*Reader, error) {
	if x.t.closed.Load() {
		return nil, errClosed
	}
	if err := l.complete(); err != nil {
		return nil, err
	}
	if x.t.image != nil && l.OneSided {
		return nil, errors.New("index: OneSided is for tables in the memory of ranks, and this " +
			"one lies in a file that is mapped; Load it")
	}
	r := &Reader{t: x.t, cfg: l, direct: x.t.batches.Whole != nil && !l.OneSided,
		sessions: core.Pool[*session]{Closed: errClosed}, counters: core.NewCounters[Counts]()}
	if r.direct {
		if x.t.image == nil {
			r.quickBytes = x.t.numbers.keyBytes
		}
		return r, nil
	}
	if err := r.choose(); err != nil {
		return nil, err
	}
	if l.GuideBytes < 0 || x.t.guideBytes() > uint64(l.GuideBytes) {
		return r, nil
	}
	return r, r.fetchGuides()
}

// Lookup finds the values of all records with a key, in no particular order. An error ends
// the loop: the key has the wrong size, or memory is lost; then there may be more.
func (r *Reader) Lookup(key []byte) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		if !r.quick(key, yield) {
			r.lookup(key, yield)
		}
	}
}

func (r *Reader) lookup(key []byte, yield func(Value, error) bool) {
	more := true
	err := r.check(key, 1)
	switch {
	case err != nil:
	case r.direct:
		err = r.one(key, func(_ int, v Value) bool {
			more = yield(v, nil)
			return more
		})
	default:
		more, err = r.oneQueued(key, yield)
	}
	if err != nil && more {
		yield(nil, err)
	}
}

// LookupBatch looks up many keys, which lie one after the other, with many requests in
// flight (LP Algorithm 1). found is called for each value of each key, i being the number
// of the key, in no particular order, by the goroutine that called LookupBatch; it must
// not use the reader. When memory of some ranks is lost, keys of others are answered all
// the same, and the error names one rank.
func (r *Reader) LookupBatch(keys []byte, found func(i int, v Value)) error {
	if len(keys) == 0 {
		return r.open()
	}
	if err := r.check(keys, len(keys)/r.t.cfg.KeySize); err != nil {
		return err
	}
	b := batch{r: r, keys: keys, size: r.t.cfg.KeySize, found: func(i int, v Value) bool {
		found(i, v)
		return true
	}}
	return b.run()
}

func (r *Reader) open() error {
	if r.t.closed.Load() || r.closed.Load() {
		return errClosed
	}
	return nil
}

// check refuses keys of the wrong size.
func (r *Reader) check(keys []byte, n int) error {
	if err := r.open(); err != nil {
		return err
	}
	if len(keys) != n*r.t.cfg.KeySize {
		return fmt.Errorf("index: %s for %s; this index has keys of %d",
			plural.Of(len(keys), "byte"), plural.Of(n, "key"),
			r.t.cfg.KeySize)
	}
	return nil
}

// Close gives back the reader's queues. The table stays.
func (r *Reader) Close() error {
	r.closed.Store(true)
	return r.sessions.Close()
}

// Stats is what lookups took, since the reader was made or ResetStats. Over direct memory
// there are no requests; then only lookups and matches are counted.
type Stats struct {
	Counts
	// Access is how lookups reach memory that is not addressable, and why.
	Access ship.Choice
}

// Counts is what is counted for Stats.
type Counts struct {
	Lookups      uint64
	Matches      uint64 // records found
	Rounds       uint64 // times that a lookup waited for its requests
	Requests     uint64 // gets of slots
	Slots        uint64 // that they brought
	Bytes        uint64 // that they brought, in whole words
	HeapRequests uint64 // gets of records
	HeapBytes    uint64

	// Shipped is how many of Lookups their owners have answered, in ShippedRequests requests.
	Shipped         uint64
	ShippedRequests uint64
	// Served is how many lookups other ranks have shipped to this one, which they count.
	Served uint64
}

// Add adds t to s.
func (s *Counts) Add(t Counts) {
	a, b := core.Words(s), core.Words(&t)
	for i := range a {
		a[i] += b[i]
	}
}

// PerLookup is the mean of requests, slots and bytes of a lookup, without the heap's.
func (s *Counts) PerLookup() (requests, slots, bytes float64) {
	n := float64(max(s.Lookups, 1))
	return float64(s.Requests) / n, float64(s.Slots) / n, float64(s.Bytes) / n
}

// Stats returns what this rank's lookups took.
func (r *Reader) Stats() Stats { return Stats{r.counters.Sum(), r.t.batches.Access()} }

// ResetStats begins to count anew.
func (r *Reader) ResetStats() { r.counters.Reset() }
