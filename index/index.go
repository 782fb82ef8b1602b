package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/plural"
)

// Index is a table of records over the memory of all ranks that is only read. It is safe
// for concurrent use; Close is not to run beside other calls.
type Index struct {
	*Reader // with Lookups{}
	t       *table
}

// Reader looks keys up and counts what that takes. It is safe for
// concurrent use.
type Reader struct {
	t        *table
	cfg      Lookups
	direct   bool
	quick    quick
	inFile   quick   // of a table in a file that is mapped, else nil; quick does nothing then
	alone    []int   // sizes of the reads of a single lookup, in slots; the last one is repeated
	many     []int   // of the reads of each lookup of a batch, likewise
	maxSlots int     // of a read
	guides   []guide // by rank; nil: there are none

	sessions core.Pool[*session]
	closed   atomic.Bool

	counters *core.Counters[Counts]
}

// Record is a key with a value, as it goes into a table and comes out of it.
type Record struct{ Key, Value []byte }

// Value is a value that was found. It is valid until the function that it was given to
// returns, or the loop continues; nobody may change it.
type Value []byte

// Info says what a table is like. All but PeakBytes is the same on every rank; [Index.Config] says
// the rest.
type Info struct {
	Records      uint64 // of all ranks
	SegmentBytes uint64 // of each rank: slots, heap and borders
	PeakBytes    uint64 // that building took on this rank
	Mapped       bool   // by Open: the table is in a file, and ranks are its segments
	NotMapped    error  // why Open has built the table instead of mapping its file, or nil
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
			"one is in a file that is mapped; Load it")
	}
	r := &Reader{t: x.t, cfg: l, quick: notQuick, direct: x.t.batches.Whole != nil && !l.OneSided,
		sessions: core.Pool[*session]{Closed: errClosed}, counters: core.NewCounters[Counts]()}
	if r.direct {
		if r.quick = x.t.quick(); x.t.image != nil {
			r.quick, r.inFile = notQuick, r.quick
		}
		return r, nil
	}
	if err := r.choose(); err != nil {
		return nil, err
	}
	if l.GuideBytes < 0 || x.t.guideBytes() > uint64(l.GuideBytes) {
		return r, nil
	}
	var err error
	if r.guides, err = x.t.guidesOf(context.Background(), x.t.segments()...); r.guides == nil {
		return nil, err
	}
	return r, nil // the keys of a rank that is lost cannot be looked up anyway, and others can
}

// Lookup finds the values of all records with a key, in no particular order. An error ends
// the loop: the key has the wrong size, or memory is lost; then there may be more.
func (r *Reader) Lookup(key []byte) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		if v, over := r.quick(r, key); v != nil {
			yield(v, nil)
		} else if !over {
			r.lookup(key, yield)
		}
	}
}

// Get appends the value of a record with a key to dst. ok is false when there is none. Where there
// are several, it is the value of any one.
func (r *Reader) Get(key, dst []byte) (value []byte, ok bool, err error) {
	v, over := r.quick(r, key)
	if v != nil {
		return append(dst, v...), true, nil
	}
	if r.inFile != nil {
		if v, over, err = r.getInFile(key, dst); v != nil || err != nil {
			return v, err == nil, err
		}
	}
	if !over {
		r.lookup(key, func(v Value, failed error) bool {
			if err = failed; err == nil {
				dst, ok = append(dst, v...), true
			}
			return false
		})
	}
	return dst, ok, err
}

// getInFile is Get by the quick way in a file that is mapped, where that is enough. The value is
// copied before the file is seen not to have been cut.
func (r *Reader) getInFile(key, dst []byte) (value []byte, over bool, err error) {
	defer r.t.recovered(debug.SetPanicOnFault(true), &err)
	value, over = r.inFile(r, key)
	if value != nil {
		value = append(dst, value...)
	}
	if r.t.image.cut() {
		err = r.t.image.lost()
	}
	return value, over, err
}

func (r *Reader) lookup(key []byte, yield func(Value, error) bool) {
	more := true
	err := r.open()
	if err == nil {
		err = r.t.form.checkKey(key)
	}
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

// LookupBatch looks up many keys of one size, which stand one after the other, with many requests
// in flight (LP Algorithm 1). found is called for each value of each key, i being the number
// of the key, in no particular order, by the goroutine that called LookupBatch; it must
// not use the reader. When memory of some ranks is lost, keys of others are answered all
// the same, and the error names one rank.
func (r *Reader) LookupBatch(keys []byte, found func(i int, v Value)) error {
	if len(keys) == 0 {
		return r.open()
	}
	err := r.open()
	switch size := r.t.KeySize; {
	case err != nil:
		return err
	case r.t.VariableKeys:
		return errors.New("index: keys have different sizes here, and LookupBatch is for keys of " +
			"one; use LookupKeys")
	case len(keys)%size != 0:
		return fmt.Errorf("index: %s for %s; this index has keys of %d",
			plural.Of(len(keys), "byte"), plural.Of(len(keys)/size, "key"), size)
	}
	b := batch{r: r, joined: keys, size: r.t.KeySize, found: always(found)}
	return b.run()
}

// LookupKeys is LookupBatch for keys each of which is a slice of its own: they may have different
// sizes, where the index allows it.
func (r *Reader) LookupKeys(keys [][]byte, found func(i int, v Value)) error {
	if err := r.open(); err != nil || len(keys) == 0 {
		return err
	}
	for _, key := range keys {
		if err := r.t.form.checkKey(key); err != nil {
			return err
		}
	}
	b := batch{r: r, list: keys, found: always(found)}
	return b.run()
}

// always is a function that wants all values.
func always(found func(i int, v Value)) func(i int, v Value) bool {
	return func(i int, v Value) bool {
		found(i, v)
		return true
	}
}

func (r *Reader) open() error {
	if r.t.closed.Load() || r.closed.Load() {
		return errClosed
	}
	return nil
}

// All are the records of all ranks. They are valid until the loop continues. An error ends the
// loop.
func (x *Index) All(ctx context.Context) iter.Seq2[Record, error] {
	return x.recordsIn(ctx, x.t.segments())
}

// Local is All for this rank's memory, or for its part of a file that is mapped.
func (x *Index) Local(ctx context.Context) iter.Seq2[Record, error] {
	return x.recordsIn(ctx, x.t.ownSegments())
}

// recordsIn are the records of some segments.
func (x *Index) recordsIn(ctx context.Context, segments []int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, number := range segments {
			for e, err := range x.t.entries(ctx, number) {
				if err == nil && e.fault != "" {
					err = errBroken
				}
				if !yield(e.record, err) || err != nil {
					return
				}
			}
		}
	}
}

// Info says what the table is like.
func (x *Index) Info() Info {
	t := x.t
	return Info{Records: t.Records, SegmentBytes: uint64(t.segment) * 8, PeakBytes: t.peakBytes,
		Mapped: t.image != nil, NotMapped: t.notMapped}
}

// Config is the configuration in force, with what was left to the index filled in.
func (x *Index) Config() Config { return x.t.Config }

// Len is the number of records of all ranks. It waits for nobody.
func (x *Index) Len(ctx context.Context) (uint64, error) {
	return x.t.Records, errors.Join(x.open(), ctx.Err())
}

// Close gives back the reader's queues. The table stays.
func (r *Reader) Close() error {
	r.closed.Store(true)
	return r.sessions.Close()
}

// Close gives this rank's memory back. The other ranks keep theirs.
func (x *Index) Close() error { return errors.Join(x.Reader.Close(), x.t.close()) }
