package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// Build makes an index of the records of all ranks. Each gives what it has, in any
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
	store, err := collect(ctx, job, &cfg, records)
	if err != nil {
		return nil, err
	}
	t := (&description{Config: cfg, Segments: make([]segment, job.Size())}).table(job)
	b := builder{store: store, t: t}
	if t.costs, err = core.GetCosts(ctx, job); err != nil {
		return nil, errors.Join(fmt.Errorf("index: %w", err), store.release())
	}
	if err = errors.Join(b.build(ctx), store.release()); err != nil {
		return nil, errors.Join(err, t.close())
	}
	x := &Index{t: t}
	x.Reader, err = x.NewReader(Lookups{})
	// No rank continues before all have what they need to begin.
	if err = rma.AllSucceeded(ctx, job, "index: opening", err); err == nil {
		err = t.batches.Open(ctx, job, t.window, core.Config{Access: cfg.Access,
			Messages: messagesOfLookup, Costs: rma.AccessCosts{GetCosts: t.costs},
			Answer: x.answer, Closed: errClosed})
		err = rma.AllSucceeded(ctx, job, "index: opening", err)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return x, nil
}

// builder makes a table of the records of a store.
type builder struct {
	store  *store
	t      *table
	marks  []mark
	copies int // the most records of a key; exact if MaxCopies limits them
}

func (b *builder) build(ctx context.Context) error {
	err := b.count(ctx)
	if err == nil {
		err = b.size(ctx)
	}
	if err != nil {
		return err
	}
	w, err := b.t.job.NewWindow(ctx, rma.Spec{Name: "index: table", Words: b.t.segment})
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
	b.t.findFar()
	return nil
}

// count finds the number of records; a key that no record has, for the empty slots of an inline
// table; and which records of a hybrid one are in slots.
func (b *builder) count(ctx context.Context) error {
	t := b.t
	mine := append([]uint64{b.store.records, b.store.values}, b.store.marked...)
	all, err := core.Gather(ctx, b.t.job, "index: counting records", mine, nil)
	if err != nil {
		return err
	}
	for rank, words := range all {
		t.Records += words[0]
		t.Segments[rank].Records = words[0]
		t.ValuesBytes += words[1]
	}
	switch t.Storage {
	case Hybrid:
		return b.divide(ctx)
	case Heap:
		return nil
	}
	for i := range uint32(markers) {
		taken := func(words []uint64) bool { return words[2:][i/64]>>(i%64)&1 != 0 }
		if !slices.ContainsFunc(all, taken) {
			t.Marker = make([]byte, t.KeySize)
			markerKey(i, t.Marker)
			return nil
		}
	}
	return fmt.Errorf("index: no key is left to mark empty slots with: all of the %d that were "+
		"tried have records; choose Heap, which needs none", markers)
}

// size decides how long a segment is, and finds out whether that is allowed.
func (b *builder) size(ctx context.Context) error {
	t, slots := b.t, uint64(0)
	heap := b.heapWords()
	homes := float64(t.Records) / (t.Load * float64(t.ranks))
	err := b.checkSlots(homes)
	if err == nil {
		t.Homes = ceil(homes)
		slots = b.slotsNeeded()
	}
	all, err := core.Gather(ctx, b.t.job, "index: sizing", []uint64{slots, heap}, err)
	if err != nil {
		return err
	}
	heap = 0
	for _, words := range all {
		slots, heap = max(slots, words[0]), max(heap, words[1])
	}
	if !t.inline() {
		t.OffsetBytes = offsetBytes(heap)
	}
	t.shape(int(slots), int(heap))
	return rma.AllSucceeded(ctx, b.t.job, "index: memory", b.checkMemory())
}

// maxSlots is more slots than a rank has memory for.
const maxSlots = min(1<<40, math.MaxInt/2)

// checkSlots refuses a load so low that there is no memory for the slots of a rank, before
// anything is made that grows with them.
func (b *builder) checkSlots(slots float64) error {
	err := fmt.Errorf("more than %d", uint64(maxSlots))
	if slots <= maxSlots {
		err = memory.Check(uint64(slots*float64(b.t.slotBytes)), "a rank")
	}
	if err != nil {
		return fmt.Errorf("index: Load %v makes %.4g slots on a rank: %w; choose a higher Load",
			b.t.Load, slots, err)
	}
	return nil
}

// ceil is at least 1.
func ceil(x float64) uint64 { return uint64(max(1, math.Ceil(x))) }

// offset4Words is how many words a heap may have whose offsets have 4 bytes. It is a
// variable so that a test need not fill 32 GiB.
var offset4Words = uint64(1) << 32

// offsetBytes is the size of an offset into the largest heap of a rank.
func offsetBytes(heap uint64) int {
	if heap > offset4Words {
		return 8
	}
	return 4
}

// checkMemory finds what building takes on this rank, and refuses more than is allowed.
func (b *builder) checkMemory() error {
	t := b.t
	peak := b.store.bytes + uint64(t.segment)*8 + uint64(t.borders) + 2*writerWords*8 +
		b.sortBytes()
	t.peakBytes = max(peak, b.store.bytes+exchangeBytes(&t.form, t.ranks))
	return b.store.allows(t.peakBytes)
}

// PeakBytes estimates the most bytes that building an index takes on a rank, for so many
// records of all ranks whose values have valueBytes in the mean, where hashes spread them
// evenly. A rank that owns a key with very many records takes more; MaxMemoryBytes then makes
// the build an error. It is 0 for a Config that Build refuses.
//
// What a rank takes is its records in whole words, the window in which records arrive, and
// the segment with the table; see DESIGN.md. All keys count as KeySize bytes.
func (c Config) PeakBytes(ranks int, records uint64, valueBytes float64) uint64 {
	if ranks < 1 || c.complete() != nil {
		return 0
	}
	if !c.Variable {
		valueBytes = float64(c.ValueSize)
	}
	if c.Storage == Hybrid && c.InlineBytes == 0 {
		c.InlineBytes = longestChosen
	}
	t := &table{description: description{Config: c, OffsetBytes: 8}, form: formOf(&c), ranks: ranks}
	mine := float64(records) / float64(ranks)
	mine += 6*math.Sqrt(mine) + 1 // more than that is rarer than 1e-9
	if mine > maxSlots || mine/c.Load > maxSlots {
		return math.MaxUint64
	}
	words := mine * float64(t.form.maxWords())
	if c.Variable { // a word is half full in the mean, and 4 of 5 words are
		words = mine * (float64(t.form.prefix+c.KeySize)/8 + valueBytes/8 + 1)
	}
	heap := words
	if c.Storage == Inline {
		heap = 0
	}
	store := 2*words*8 + partitions*firstChunkWords*8
	store = min(store, words*8*(1+float64(t.form.maxWords())/maxChunkWords)+storeSlackBytes)
	sum := store + 2*writerWords*8
	t.Homes = ceil(mine / c.Load)
	// The last run ends beyond the homes: 40 times the mean displacement is ample.
	t.shape(int(float64(t.Homes)+tail(c.Load, mine)), int(heap))
	part := mine/partitions + 6*math.Sqrt(mine/partitions) + 1
	sum += 1.25*(part*12+(mine/c.Load/partitions+1)*12) + float64(t.borders)
	return uint64(max(sum+float64(t.segment)*8, store+float64(exchangeBytes(&t.form, ranks)))) + 1
}

// tail is more slots beyond the homes than a rank ever needs: what spills over a border is
// larger by each 1/(2(1-load)) with a probability e times less.
func tail(load, records float64) float64 { return min(records, 20/(1-load)+20) }

// write lays out this rank's segment.
func (b *builder) write(ctx context.Context) error {
	t := b.t
	slots, heap := newWriter(t.job, t.window, 0), newWriter(t.job, t.window, t.heapAt)
	borders := newWriter(t.job, t.window, t.bordersAt)
	borders.write(ctx, b.lay(ctx, slots, heap))
	return errors.Join(slots.close(ctx), heap.close(ctx), borders.close(ctx))
}

// slotsNeeded is how many slots the records of a rank take, at least as many as there are
// homes: the largest number of a home and of records from there on. It examines only
// parts near the end, where that may be more than the homes.
func (b *builder) slotsNeeded() uint64 {
	need, after := b.t.Homes, uint64(0)
	s := sorter{t: b.t}
	for i := partitions - 1; i >= 0; i-- {
		p := &b.store.parts[i]
		_, high := s.bounds(i)
		if p.records == 0 || high+after+uint64(p.records) <= need {
			after += uint64(p.records)
			continue
		}
		s.count(p, i)
		for h := len(s.counts) - 1; h >= 0; h-- {
			if n := uint64(s.counts[h]); n > 0 {
				after += n
				need = max(need, s.low+uint64(h)+after)
			}
		}
	}
	return need
}

// sortBytes is what sorting takes: 12 bytes for a record of the largest part, 8 for each
// empty slot and 4 for each home, and a quarter more.
func (b *builder) sortBytes() uint64 {
	most := 0
	for i := range b.store.parts {
		most = max(most, b.store.parts[i].records)
	}
	homes := b.t.Homes/partitions + 1
	return (uint64(most)*12 + homes*12) * 5 / 4
}

// lay writes the slots and the heap, and returns the borders.
func (b *builder) lay(ctx context.Context, slots, heap *writer) []byte {
	t, s := b.t, &sorter{t: b.t}
	g := tracker{homes: t.borders, borders: make([]byte, 0, t.borders)}
	free := uint64(0)
	for i := range b.store.parts {
		p := &b.store.parts[i]
		s.count(p, i)
		base := free
		free = s.sort(base, g.home)
		if exact := t.MaxCopies > 0; exact || b.copies < 2 {
			b.copies = max(b.copies, s.copies(base, exact))
		}
		b.writeSlots(ctx, s, base, slots, heap)
	}
	for n := uint64(t.Slots) - free; n > 0; n-- {
		b.writeEmpty(ctx, slots)
	}
	g.finish(t.Homes, free)
	b.marks = g.marks
	return g.borders
}

func (b *builder) writeSlots(ctx context.Context, s *sorter, base uint64, slots, heap *writer) {
	t := b.t
	for i, ref := range s.refs {
		if ref == 0 {
			b.writeEmpty(ctx, slots)
			continue
		}
		record := s.record(ref)
		to := slots.next(ctx, t.slotBytes)
		if t.inline() {
			copy(to, core.BytesOf(record))
			continue
		}
		hash := hashKey(t.form.key(record))
		to[0] = signatureOf(hash)
		_, rest := place(hash, t.ranks)
		to[signatureBytes] = saturated(base+uint64(i), homeOf(rest, t.Homes))
		if t.Storage != Hybrid || !t.putInSlot(to, t.form.decode(record)) {
			t.putOffset(to[t.offsetAt:], b.writeHeap(ctx, heap, record))
		}
	}
}

// writeEmpty writes a slot without a record.
func (b *builder) writeEmpty(ctx context.Context, slots *writer) {
	to := slots.next(ctx, b.t.slotBytes)
	clear(to[copy(to, b.t.Marker):])
}

// writeHeap writes a record and returns its offset in words.
func (b *builder) writeHeap(ctx context.Context, heap *writer, record []uint64) int {
	offset := heap.place(b.t.heapAt) / 8
	copy(heap.next(ctx, len(record)*8), core.BytesOf(record))
	return offset
}

// shareMarks puts the marks of this rank where all can get them, if any rank has some. It also
// finds out whether a rank has a key with two records, or with too many. Collective.
func (b *builder) shareMarks(ctx context.Context, failed error) error {
	t := b.t
	if failed == nil && t.MaxCopies > 0 && b.copies > t.MaxCopies {
		failed = fmt.Errorf("index: a key has %d records, and this index takes %d of one; raise "+
			"MaxCopies, or leave it at 0", b.copies, t.MaxCopies)
	}
	mine := []uint64{uint64(len(b.marks)), uint64(b.copies)}
	all, err := core.Gather(ctx, t.job, "index: writing", mine, failed)
	if err != nil {
		return err
	}
	most := uint64(0)
	t.Unique = true
	for rank, words := range all {
		t.Unique = t.Unique && words[1] < 2
		t.Segments[rank].Marks = int(words[0])
		most = max(most, words[0])
	}
	if most == 0 {
		return nil
	}
	t.peakBytes += most*markBytes + uint64(len(b.marks))*markBytes
	t.marked, err = t.job.NewWindow(ctx, rma.Spec{Name: "index: marks",
		Words: int(most) * markBytes / 8})
	if err != nil {
		return err
	}
	w := newWriter(t.job, t.marked, 0)
	for _, m := range b.marks {
		m.put(w.next(ctx, markBytes))
	}
	return rma.AllSucceeded(ctx, t.job, "index: marks", w.close(ctx))
}

// tracker collects borders and marks while homes go by in their order.
type tracker struct {
	homes   int // borders wanted
	borders []byte
	marks   []mark
	last    mark // the home before, and where its records begin
	begun   bool
}

// home takes a home before which the slots up to free are taken: all homes with a border,
// with many records, and the homes after them.
func (g *tracker) home(home, free uint64) {
	if g.begun && home == g.last.home {
		return // parts share it, and its records of the first one come after this
	}
	slot := max(home, free)
	if g.begun && g.last.home+1 == home && free >= g.last.slot+runMarked {
		g.mark(g.last)
		g.mark(mark{home, slot})
	}
	if home%borderHomes == 0 && len(g.borders) < g.homes {
		g.borders = append(g.borders, saturated(free, home))
		if slot-home >= maxDisplacement {
			g.mark(mark{home, slot})
		}
	}
	g.last, g.begun = mark{home, slot}, true
}

func (g *tracker) mark(m mark) {
	if n := len(g.marks); n == 0 || g.marks[n-1].home < m.home {
		g.marks = append(g.marks, m)
	}
}

// finish takes the slot after all records.
func (g *tracker) finish(homes, free uint64) {
	g.home(homes, free)
	if free >= homes+maxDisplacement {
		g.mark(mark{homes, free})
	}
	for len(g.borders) < g.homes {
		g.borders = append(g.borders, saturated(free, uint64(len(g.borders)*borderHomes)))
	}
}

// A record of the store is named by its chunk within a part, and its word there; refs
// have 1 added, so that 0 is none.
const refShift = 32

// sorter brings the records of a part into the order of their homes, by counting.
type sorter struct {
	t      *table
	chunks [][]uint64
	low    uint64   // the first home of the part
	counts []uint32 // records by home, and then where they begin
	home   []uint32 // of each record, less low
	refs   []uint64 // by slot
	hashes []uint64 // of the records of a home
}

// bounds are the first and the last home of a part. A home on the border of two
// parts belongs to both.
func (s *sorter) bounds(part int) (low, high uint64) {
	const width = 1 << (64 - partitionBits)
	from := uint64(part) * width
	return homeOf(from, s.t.Homes), homeOf(from+(width-1), s.t.Homes)
}

// count finds the homes of the records of a part.
func (s *sorter) count(p *part, number int) {
	low, high := s.bounds(number)
	s.low, s.chunks = low, p.chunks()
	s.counts = zeros(s.counts, int(high-low+1))
	s.home = s.home[:0]
	for _, chunk := range s.chunks {
		for at := 0; at < len(chunk); {
			n := s.t.form.wordsAt(chunk[at])
			_, rest := place(hashKey(s.t.form.key(chunk[at:at+n])), s.t.ranks)
			h := uint32(homeOf(rest, s.t.Homes) - low)
			s.home = append(s.home, h)
			s.counts[h]++
			at += n
		}
	}
}

// sort decides the slots of the records counted last, given the first slot that is free,
// and returns the slot after them. refs then has what is in the slots from base on. border
// is called with each home that may need a border or a mark, and with the next free slot before
// it.
func (s *sorter) sort(base uint64, border func(home, free uint64)) (free uint64) {
	free = base
	before := true // the home before may have many records
	for i, n := range s.counts {
		home := s.low + uint64(i)
		// Other parts may have records of the first home and of the last one.
		many := n >= runMarked || i == 0 || i == len(s.counts)-1
		if before || many || home%borderHomes == 0 {
			border(home, free)
		}
		before = many
		start := max(home, free)
		s.counts[i] = uint32(start - base)
		if n > 0 {
			free = start + uint64(n)
		}
	}
	s.refs = zeros(s.refs, int(free-base))
	i := 0
	for c, chunk := range s.chunks {
		for at := 0; at < len(chunk); i++ {
			h := s.home[i]
			s.refs[s.counts[h]] = uint64(c)<<refShift + uint64(at) + 1
			s.counts[h]++
			at += s.t.form.wordsAt(chunk[at])
		}
	}
	return free
}

// zeros is a slice of n zeros, in the memory of s where that is enough.
func zeros[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n+n/4)[:n]
	}
	clear(s[:n])
	return s[:n]
}

// maxRepeatKeys is how many keys of a home are compared where no number is to be exact: more of
// them are taken to be equal.
const maxRepeatKeys = 64

// copies is the largest number of records that have one key, among those sorted last, from a slot
// on. Records of a key have one home, and are in one part.
func (s *sorter) copies(base uint64, exact bool) (most int) {
	begin, hashes := 0, s.hashes
	for i, n := range s.counts { // where the records of a home end
		end := int(n)
		begin = max(begin, int(s.low)+i-int(base))
		if n := end - begin; n < 2 || n > maxRepeatKeys && !exact {
			most, begin = max(most, n), end
			continue
		}
		hashes = hashes[:0]
		for _, ref := range s.refs[begin:end] {
			hashes = append(hashes, hashKey(s.t.form.key(s.record(ref))))
		}
		if len(hashes) > 2 {
			slices.Sort(hashes)
		}
		same := 1
		for j, hash := range hashes[1:] {
			if same++; hash != hashes[j] {
				same = 1
			}
			most = max(most, same)
		}
		begin = end
	}
	s.hashes = hashes
	return most
}

// record is the record of a ref that is not 0.
func (s *sorter) record(ref uint64) []uint64 {
	ref--
	chunk := s.chunks[ref>>refShift][ref&(1<<refShift-1):]
	return chunk[:s.t.form.wordsAt(chunk[0])]
}

// writer writes into this rank's own segment, from a word on, without gaps: directly where the
// segment is addressable, and else through a queue.
type writer struct {
	window rma.Window
	q      rma.Queue
	buf    rma.Buf
	bytes  []byte // of buf
	used   int    // bytes of it
	at     int    // word of the segment at which buf begins
	err    error
}

// writerWords is the length of the buffer: more than a slot or a record has.
const writerWords = 1 << 12

// newWriter makes a writer. What it cannot do is the error of close.
func newWriter(job rma.Job, window rma.Window, at int) *writer {
	w := &writer{window: window, at: at}
	if w.q, w.err = job.NewQueue(1); w.err == nil {
		w.buf, w.err = w.q.Alloc(writerWords)
	}
	if w.err != nil {
		w.buf = make(rma.Buf, writerWords) // nobody reads it
	}
	w.bytes = core.BytesOf(w.buf)
	return w
}

// write writes any number of bytes.
func (w *writer) write(ctx context.Context, b []byte) {
	for len(b) > 0 {
		b = b[copy(w.next(ctx, min(len(b), writerWords)), b):]
	}
}

// next is the place of the next n bytes, for the caller to fill.
func (w *writer) next(ctx context.Context, n int) []byte {
	if w.used+n > len(w.bytes) {
		w.flush(ctx)
	}
	from := w.used
	w.used += n
	return w.bytes[from:w.used]
}

// place is how many bytes have been written.
func (w *writer) place(begin int) int { return (w.at-begin)*8 + w.used }

// flush writes all whole words, and keeps the rest.
func (w *writer) flush(ctx context.Context) {
	n := w.used / 8
	if n > 0 && w.err == nil {
		if w.err = ctx.Err(); w.err == nil {
			w.err = w.put(ctx, w.buf[:n])
		}
	}
	copy(w.bytes, w.bytes[n*8:w.used])
	w.at, w.used = w.at+n, w.used-n*8
}

// put writes words.
func (w *writer) put(ctx context.Context, words rma.Buf) error {
	rank := w.window.Rank()
	if own := w.window.Words(rank); own != nil {
		copy(own[w.at:], words)
		return nil
	}
	return core.Await(ctx, w.q, w.q.Put(words, w.window, rank, w.at))
}

// close writes what is left, with zeros to the end of its word.
func (w *writer) close(ctx context.Context) error {
	if rest := w.used % 8; rest > 0 {
		clear(w.next(ctx, 8-rest))
	}
	w.flush(ctx)
	if w.q == nil {
		return w.err
	}
	return errors.Join(w.err, w.q.Close())
}
