package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
)

// builder makes a table of the records of a store.
type builder struct {
	job     rma.Job
	store   *store
	t       *table
	marks   []mark
	repeats bool // a key has two records
}

// Build makes an index of the records of all ranks. Each gives those that it has, in any
// order; a key may occur in several, with equal or different values, and all are kept. An
// error among them ends the build. Key and value are copied before the next is asked for.
//
// Collective: every rank calls it with the same Config. Either all get an index or none
// does; a rank whose own part was fine then gets a [rma.PeerError].
func Build(ctx context.Context, job rma.Job, cfg Config, records iter.Seq2[Record, error]) (
	*Index, error) {
	if err := cfg.agree(ctx, job); err != nil {
		return nil, err
	}
	if records == nil { // this rank has none
		records = func(func(Record, error) bool) {}
	}
	t, err := build(ctx, job, cfg, records)
	if err != nil {
		return nil, err
	}
	x := &Index{job: job, t: t}
	x.Reader, err = x.NewReader(Lookups{})
	// No rank goes on before all have what they need to begin.
	if err = rma.AllSucceeded(ctx, job, "index: opening", err); err == nil {
		err = t.batches.Open(ctx, job, t.window, core.Config{Access: cfg.Access,
			Messages: messagesOfLookup, Answer: x.answer, Closed: errClosed})
		err = rma.AllSucceeded(ctx, job, "index: opening", err)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return x, nil
}

func build(ctx context.Context, job rma.Job, cfg Config, records iter.Seq2[Record, error]) (
	*table, error) {
	store, err := collect(ctx, job, &cfg, records)
	if err != nil {
		return nil, err
	}
	b := &builder{job: job, store: store}
	b.t = &table{job: job, cfg: cfg, form: formOf(&cfg), ranks: job.Size()}
	err = b.build(ctx)
	if err = errors.Join(err, store.release()); err != nil {
		return nil, errors.Join(err, b.t.close())
	}
	return b.t, nil
}

func (b *builder) build(ctx context.Context) error {
	err := b.count(ctx)
	if err == nil {
		err = b.mark(ctx)
	}
	if err == nil {
		err = b.size(ctx)
	}
	if err != nil {
		return err
	}
	w, err := b.job.NewWindow(ctx, rma.Spec{Name: "index: table", Words: b.t.segment})
	if err != nil {
		return err
	}
	b.t.window = w
	b.t.address(core.NewRegions(w))
	// Nobody reads before all have written.
	if err := b.shareMarks(ctx, b.write(ctx)); err != nil {
		return err
	}
	b.t.findGuides()
	b.t.findNumbers()
	return nil
}

// count finds the number of records.
func (b *builder) count(ctx context.Context) (err error) {
	t, c := b.t, &b.t.cfg
	if c.MaxCopies > 0 {
		if copies := b.store.copies(); copies > uint64(c.MaxCopies) {
			err = fmt.Errorf("index: a key has %d records, and this index takes %d of one; raise "+
				"MaxCopies, or leave it at 0", copies, c.MaxCopies)
		}
	}
	all, err := gather(ctx, b.job, "counting records",
		[]uint64{b.store.records, b.store.values}, err)
	if err != nil {
		return err
	}
	t.mine = b.store.records
	for _, words := range all {
		t.records += words[0]
		t.owned = append(t.owned, words[0])
		t.valueBytes += words[1]
	}
	return nil
}

// mark finds a key that no record has, for the empty slots of an inline table.
func (b *builder) mark(ctx context.Context) error {
	t := b.t
	if !t.inline() {
		return nil
	}
	all, err := gather(ctx, b.job, "marking empty slots", b.store.marked, nil)
	if err != nil {
		return err
	}
	for i := range uint32(markers) {
		taken := false
		for _, words := range all {
			taken = taken || words[i/64]>>(i%64)&1 != 0
		}
		if !taken {
			t.marker = make([]byte, t.cfg.KeySize)
			markerKey(i, t.marker)
			return nil
		}
	}
	return fmt.Errorf("index: no key is left to mark empty slots with: all of the %d that were "+
		"tried have records; choose Heap, which needs none", markers)
}

// size decides how long a segment is, and finds out whether that is allowed.
func (b *builder) size(ctx context.Context) error {
	t, slots := b.t, uint64(0)
	heap := b.store.words
	if t.inline() {
		heap = 0
	}
	homes := float64(t.records) / (t.cfg.Load * float64(t.ranks))
	err := b.checkSlots(homes)
	if err == nil {
		t.homes = ceil(homes)
		slots = b.slotsNeeded()
	}
	all, err := gather(ctx, b.job, "sizing", []uint64{slots, heap}, err)
	if err != nil {
		return err
	}
	heap = 0
	for _, words := range all {
		slots, heap = max(slots, words[0]), max(heap, words[1])
	}
	if err := b.offsets(heap); err != nil {
		return err // the same on every rank
	}
	t.shape(int(slots), int(heap))
	t.chooseHeapFirst()
	return rma.AllSucceeded(ctx, b.job, "index: memory", b.checkMemory())
}

// maxSlots is more slots than a rank has memory for.
const maxSlots = min(1<<40, math.MaxInt/2)

// checkSlots refuses a load so low that there is no memory for the slots of a rank, before
// anything is made that grows with them.
func (b *builder) checkSlots(slots float64) error {
	c := &b.t.cfg
	slotBytes := float64(signatureBytes)
	if b.t.inline() {
		slotBytes = float64(c.KeySize + c.ValueSize)
	}
	err := error(nil)
	if slots > maxSlots {
		err = fmt.Errorf("more than %d", uint64(maxSlots))
	} else {
		err = memory.Check(uint64(slots*slotBytes), "a rank")
	}
	if err != nil {
		return fmt.Errorf("index: Load %v makes %.4g slots on a rank: %w; choose a higher Load",
			c.Load, slots, err)
	}
	return nil
}

// ceil is at least 1.
func ceil(x float64) uint64 { return uint64(max(1, math.Ceil(x))) }

// offset4Words is how many words a heap may have whose offsets have 4 bytes. It is a
// variable so that a test need not fill 32 GiB.
var offset4Words = uint64(1) << 32

// offsets decides the size of an offset into the heap.
func (b *builder) offsets(heap uint64) error {
	c := &b.t.cfg
	if b.t.inline() {
		return nil
	}
	if c.OffsetBytes == 4 && heap > offset4Words {
		return fmt.Errorf("index: the heap of a rank has %d words, and OffsetBytes 4 can number "+
			"%d; choose 8, or more ranks", heap, offset4Words)
	}
	if c.OffsetBytes == 0 {
		c.OffsetBytes = 4
		if heap > offset4Words {
			c.OffsetBytes = 8
		}
	}
	return nil
}

// checkMemory finds what building takes on this rank, and refuses more than is allowed.
func (b *builder) checkMemory() error {
	t := b.t
	peak := b.store.bytes + uint64(t.segment)*8 + uint64(t.borders) + 2*writerWords*8 +
		b.sortBytes()
	t.peakBytes = max(peak, b.store.bytes+exchangeBytes(t.ranks))
	if most := t.cfg.MaxMemoryBytes; most > 0 && t.peakBytes > most {
		return fmt.Errorf("index: building takes %d bytes on rank %d, which owns %d of %d "+
			"records, and MaxMemoryBytes is %d; PeakBytes says what a build needs", t.peakBytes,
			b.job.Rank(), b.store.records, t.records, most)
	}
	return nil
}

// write lays out this rank's segment.
func (b *builder) write(ctx context.Context) error {
	t := b.t
	slots, err := newWriter(b.job, t.window, 0)
	if err != nil {
		return err
	}
	heap, err := newWriter(b.job, t.window, t.heapAt)
	if err != nil {
		return errors.Join(err, slots.l.close())
	}
	borders := b.lay(ctx, slots, heap)
	if err = errors.Join(slots.close(ctx), heap.close(ctx)); err != nil {
		return err
	}
	w, err := newWriter(b.job, t.window, t.bordersAt)
	if err != nil {
		return err
	}
	for len(borders) > 0 {
		n := min(len(borders), writerWords)
		copy(w.next(ctx, n), borders[:n])
		borders = borders[n:]
	}
	return w.close(ctx)
}

// PeakBytes estimates the most bytes that building an index takes on a rank, for so many
// records of all ranks whose values have valueBytes in the mean, where hashes spread them
// evenly. A rank that owns a key with very many records takes more; MaxMemoryBytes then makes
// the build an error. It is 0 for a Config that Build refuses.
//
// What a rank takes is its records in whole words, the window in which records arrive, and
// the segment with the table; see doc.go.
func (c Config) PeakBytes(ranks int, records uint64, valueBytes float64) uint64 {
	if ranks < 1 || c.complete() != nil {
		return 0
	}
	if !c.Variable {
		valueBytes = float64(c.ValueSize)
	}
	t := &table{cfg: c, form: formOf(&c), ranks: ranks}
	mine := float64(records) / float64(ranks)
	mine += 6*math.Sqrt(mine) + 1 // more than that is rarer than 1e-9
	if mine > maxSlots || mine/c.Load > maxSlots {
		return math.MaxUint64
	}
	words := mine * float64(t.form.maxWords())
	if c.Variable { // a word is half full in the mean, and 4 of 5 words are
		words = mine * (float64(prefixBytes+c.KeySize)/8 + valueBytes/8 + 1)
	}
	heap := words
	if c.Storage == Inline {
		heap = 0
	}
	if t.cfg.OffsetBytes == 0 {
		t.cfg.OffsetBytes = 8
	}
	store := 2*words*8 + partitions*firstChunkWords*8
	store = min(store, words*8*(1+float64(t.form.maxWords())/maxChunkWords)+storeSlackBytes)
	sum := store + 2*writerWords*8
	t.homes = ceil(mine / c.Load)
	// The last run ends beyond the homes: 40 times the mean displacement is ample.
	t.shape(int(float64(t.homes)+tail(c.Load, mine)), int(heap))
	part := mine/partitions + 6*math.Sqrt(mine/partitions) + 1
	sum += 1.25*(part*12+(mine/c.Load/partitions+1)*12) + float64(t.borders)
	return uint64(max(sum+float64(t.segment)*8, store+float64(exchangeBytes(ranks)))) + 1
}

// tail is more slots beyond the homes than a rank ever needs: what spills over a border is
// larger by each 1/(2(1-load)) with a probability e times less.
func tail(load, records float64) float64 { return min(records, 20/(1-load)+20) }
