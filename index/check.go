package index

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/farhash/farhash/internal/core"
)

// CheckAll has every rank Check, and reports to every one whether all were clean. Collective.
func (x *Index) CheckAll(ctx context.Context) error {
	return core.CheckAll(ctx, x.t.job, "index", x.Check)
}

// Check walks this rank's memory, or its part of a file that is mapped, whose checksums it
// verifies as well, and reports what is broken: a record that belongs to
// another rank, or where no search for its key comes, records out of order, signatures,
// displacements and borders that are wrong, records missing. Every rank checks its own
// memory; nobody waits.
func (x *Index) Check(ctx context.Context) error {
	t := x.t
	if t.closed.Load() {
		return errClosed
	}
	return t.guarded(func() error {
		var errs []error
		for _, number := range t.ownSegments() {
			err := t.check(ctx, number)
			if t.image != nil {
				err = errors.Join(t.image.verify(ctx, t, number), err)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

// check checks a segment.
func (t *table) check(ctx context.Context, rank int) error {
	guides, err := t.guidesOf(ctx, rank)
	if err != nil {
		return err
	}
	c := checker{t: t, rank: rank, guide: guides[0], lastEmpty: -1, previous: -1,
		faults: core.Faults{Table: "index"}}
	for e, err := range t.entries(ctx, rank) {
		if err != nil {
			return err
		}
		c.entry(e)
	}
	if want := t.Segments[rank].Records; c.records != want {
		c.faults.Add("rank %d has %d records, and %d were given to it", rank, c.records, want)
	}
	return c.faults.Err()
}

// checker checks the entries of a rank.
type checker struct {
	t         *table
	rank      int
	guide     guide
	records   uint64
	lastEmpty int // the last slot without a record
	previous  int // the last slot with one
	home      uint64
	faults    core.Faults
}

func (c *checker) fault(e entry, format string, args ...any) {
	c.faults.Add(fmt.Sprintf("rank %d, slot %d: ", c.rank, e.slot)+format, args...)
}

// entry checks an entry.
func (c *checker) entry(e entry) {
	t := c.t
	c.records++
	if e.fault != "" {
		c.fault(e, "%s", e.fault)
		return
	}
	hash := hashKey(e.record.Key)
	rank, rest := place(hash, t.ranks)
	if rank != c.rank {
		c.fault(e, "its key belongs to rank %d", rank)
		return
	}
	if !t.inline() && e.signature != signatureOf(hash) {
		c.fault(e, "its signature is %d and should be %d", e.signature, signatureOf(hash))
	}
	c.slot(e, homeOf(rest, t.Homes))
}

func (c *checker) slot(e entry, home uint64) {
	if e.slot > c.previous+1 {
		c.lastEmpty = e.slot - 1
	}
	c.previous = e.slot
	switch {
	case int(home) > e.slot:
		c.fault(e, "its home %d is after it", home)
	case int(home) <= c.lastEmpty:
		c.fault(e, "slot %d is empty, and searches that begin at its home %d end there",
			c.lastEmpty, home)
	}
	if home < c.home {
		c.fault(e, "its home %d is before the home of a record in front of it, %d", home, c.home)
	}
	c.home = max(c.home, home)
	if want := saturated(uint64(e.slot), home); !c.t.inline() && e.displacement != want {
		c.fault(e, "its displacement is %d and should be %d", e.displacement, want)
	}
	switch at, bound, _ := c.guide.between(int(home), c.t.Slots); {
	case e.slot < at:
		c.fault(e, "it is before the border of its home %d", home)
	case e.slot >= bound:
		c.fault(e, "it is after the border after its home %d", home)
	}
}

// errBroken is the answer of a table whose memory makes no sense.
var errBroken = errors.New("index: the table is broken; Check says where")

// entry is a slot that is taken.
type entry struct {
	slot         int
	signature    byte // of a table with a heap
	displacement byte // of a table with a heap
	record       Record
	fault        string // why there is no record
}

// walker reads the entries of a rank.
type walker struct {
	t           *table
	slots, heap *view
}

// entries are the slots of a rank that are taken, in their order. They are valid until the
// loop continues.
func (t *table) entries(ctx context.Context, rank int) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		if t.closed.Load() {
			yield(entry{}, errClosed)
			return
		}
		w := walker{t: t}
		var err, err2 error
		w.slots, err = t.newView(rank)
		w.heap, err2 = t.newView(rank)
		defer func() { _ = errors.Join(w.slots.close(), w.heap.close()) }()
		if err = errors.Join(err, err2); err != nil {
			yield(entry{}, err)
			return
		}
		for slot := range t.Slots {
			e, taken, err := w.slot(ctx, slot)
			if err != nil {
				yield(entry{}, err)
				return
			}
			if taken && !yield(e, nil) {
				return
			}
		}
	}
}

// slot reads a slot. It returns false for an empty one.
func (w *walker) slot(ctx context.Context, number int) (e entry, taken bool, err error) {
	t := w.t
	at, words, skip := t.span(number, 1)
	memory, err := w.slots.read(ctx, at, words)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return e, false, err
	}
	e.slot = number
	slot := core.BytesOf(memory)[skip : skip+t.slotBytes]
	if t.inline() {
		e.record = Record{slot[:t.KeySize], slot[t.KeySize:]}
		return e, string(e.record.Key) != string(t.Marker), nil
	}
	taken, err = w.far(ctx, slot, &e)
	return e, taken, err
}

// far reads an entry of a table with a heap. It returns false for an empty slot.
func (w *walker) far(ctx context.Context, slot []byte, e *entry) (bool, error) {
	t := w.t
	e.signature, e.displacement = slot[0], slot[signatureBytes]
	if e.signature == 0 {
		return false, nil
	}
	if t.Storage == Hybrid {
		r, far, broken := t.inSlot(slot)
		if e.record = r; broken {
			e.fault = "its record is longer than a slot"
		}
		if !far {
			return true, nil
		}
	}
	ref := t.offset(slot[t.offsetAt:])
	least := t.form.wordsAt(0)
	if ref < 0 || ref > t.HeapWords-least {
		e.fault = "its record is outside the heap"
		return true, nil
	}
	first, err := w.heap.read(ctx, t.heapAt+ref, 1)
	if err != nil {
		return false, err
	}
	n := t.form.wordsAt(first[0])
	if n > t.form.maxWords() || ref > t.HeapWords-n {
		e.fault = "its record is too long"
		return true, nil
	}
	record, err := w.heap.read(ctx, t.heapAt+ref, n)
	if err == nil {
		e.record = t.form.decode(record)
	}
	return true, err
}

// view reads a segment from its beginning to its end, in blocks: from a file, from memory where
// that is addressable, or from a window.
type view struct {
	t     *table
	rank  int
	from  *core.Reader
	room  []uint64 // for a block of a file
	block []uint64 // that was read last
	at    int      // where it begins
}

const viewWords = 1 << 13

func (t *table) newView(rank int) (v *view, err error) {
	v = &view{t: t, rank: rank}
	switch {
	case t.image != nil:
		v.room = make([]uint64, viewWords)
	case t.words(rank) == nil:
		v.from, err = core.NewReader(t.job, t.window, new(core.Regions), viewWords)
	}
	return v, err
}

// get reads a block. A file is read and not the memory that it is mapped to, so that a page that
// is lost is an error.
func (v *view) get(ctx context.Context, at, n int) (words []uint64, err error) {
	t, m := v.t, v.t.image
	switch {
	case m != nil:
		words = v.room[:n]
		_, err = m.f.ReadAt(core.BytesOf(words), t.segmentAt(m.header, v.rank)+int64(at)*8)
		if err != nil {
			err = fmt.Errorf("index: reading %s: %w", m.path, err)
		}
	case v.from != nil:
		if words, err = v.from.Read(ctx, v.rank, at, n); err != nil {
			err = rankError(v.rank, err)
		}
	default:
		words = t.words(v.rank)[at : at+n]
	}
	return words, err
}

// read returns words of the segment, at most viewWords. They are valid until the next call.
func (v *view) read(ctx context.Context, at, n int) (words []uint64, err error) {
	if at < v.at || at+n > v.at+len(v.block) {
		v.at = at
		if v.block, err = v.get(ctx, at, min(viewWords, v.t.segment-at)); err != nil {
			return nil, err
		}
	}
	return v.block[at-v.at:][:n], nil
}

func (v *view) close() error { return v.from.Close() }
