package set

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

const (
	// occupied marks a bucket that holds something. An empty bucket is zero.
	occupied = 1 << 63

	// closed is what an empty bucket becomes when its part of the table moves to the next one. No
	// bucket has another word without the occupied bit.
	closed = 1

	// lineBuckets is the number of buckets in a cache line.
	lineBuckets = 8

	// collectBuckets is the size from which the memory of a table is worth a garbage collection.
	collectBuckets = 1 << 17
)

// space is the memory of all tables that a set may have. It grows from one to the next: the
// windows of all are made at the start, when each is only addresses. Set and Bytes share it.
// Collect replaces it as a whole.
type space struct {
	items
	cfg    BytesConfig   // with the defaults filled in, except for Chunk and Capacity
	tables []tableMemory // by generation
	marks  *marks
	chunk  uint64                // C; with auto the largest, where there are queues
	auto   *auto                 // chooses C, nil if it is given or memory is direct
	oldest atomic.Pointer[table] // the first that this rank does not know to have moved
	kernel kernel                // searches batches
	tuning tuning                // of kernels in assembly

	sessions core.Pool[*session]
	batches  core.Batches
	shipped  batch // the request of another rank that is being answered

	shared rma.Shared // the job of a set that was opened by name, else nil
	fault  core.Fault
}

// tableMemory is the window of one table.
type tableMemory struct {
	window  rma.Window
	regions core.Regions
	buckets uint64
	commit  func(rank, off, words int) error // takes the memory of buckets; nil: all is taken
	close   func() error                     // of the window, once
}

// table is the array of buckets over all ranks, and the arithmetic of homes and owners. A rank
// makes one when it comes to it, and gives its memory back when no call uses it any more, which the
// garbage collector finds out.
type table struct {
	*space
	span         // all buckets, where all are directly addressable
	unit  uint64 // homes are multiples of it, in buckets
	units uint64 // n / unit
	// The span that the segment of a rank is in, by rank from spansFrom on; nil where only queues
	// reach it.
	spans     []*span
	spansFrom int
	first     firstLine
	single    bool // single calls may compare lines of elements

	gen         int // generation: 0 for the first table
	window      rma.Window
	regions     *core.Regions
	perRank     uint64 // k, buckets of each rank
	buckets     uint64 // n = k * ranks
	chunk       uint64 // C, the largest that fits
	directChunk uint64 // C as the statistics have it where memory is direct

	following atomic.Pointer[table] // the next table, nil until this rank comes to it
	progress  progress
}

// span is a run of buckets in directly addressable memory: of the whole table, or
// of adjacent ranks of one host.
type span struct {
	flat  []uint64 // the buckets; nil: not all of the table is directly addressable
	first uint64   // the number in the table of the first of them
	rank  int      // that owns it
	whole bool     // they are the whole table, and a search continues around its end
	last  bool     // no table follows
	limit uint64   // buckets examined in this table: min(C*M, n)
}

// newSpace makes the memory of all tables that cfg allows. Collective.
func newSpace(ctx context.Context, its items, cfg BytesConfig) (*space, error) {
	sp := &space{items: its, cfg: cfg, sessions: core.Pool[*session]{Closed: errClosed}}
	sp.shared, _ = its.job.(rma.Shared)
	sp.fault.Job = sp.shared
	for gen, buckets := range cfg.tableSizes(its.job.Size()) {
		w, err := its.job.NewWindow(ctx, rma.Spec{Name: "set: buckets", Key: fmt.Sprint(gen),
			Words: int(buckets) / its.job.Size(), Reserve: gen > 0})
		if err != nil {
			return nil, errors.Join(err, sp.close())
		}
		m := tableMemory{window: w, regions: core.NewRegions(w), buckets: buckets,
			close: sync.OnceValue(w.Close)}
		if c, ok := w.(rma.Committer); ok && gen > 0 {
			m.commit = c.Commit
		}
		sp.tables = append(sp.tables, m)
	}
	sp.batches.Regions, sp.batches.InOnePiece = sp.tables[0].regions, true
	sp.chunk = uint64(cfg.firstChunk())
	if cfg.Chunk == 0 && sp.batches.Whole == nil {
		sp.auto, sp.chunk = newAuto(), maxAutoChunk
	}
	var err error
	sp.tuning = thisProcessor()
	if sp.kernel, err = chooseKernel(&cfg); err == nil {
		sp.marks, err = newMarks(ctx, sp)
	}
	if err != nil {
		return nil, errors.Join(err, sp.close())
	}
	sp.oldest.Store(sp.newTable(0))
	sp.mayGrow(0, sp.bytes(0))
	return sp, nil
}

// open prepares the space for operations. old is the one that this one replaces, or nil: what
// was measured for it holds here. Collective.
func (sp *space) open(ctx context.Context, old *space) error {
	t := sp.oldest.Load()
	if sp.shared != nil {
		t.learn() // what others have done
	}
	t.prepareSingles()
	cfg := core.Config{Access: sp.cfg.Access, Closed: errClosed,
		Messages: 1.5, // a chunk, and where the word is new a swap
		Answer:   sp.answer}
	if sp.arenas != nil {
		cfg.Messages = 2.5 // an element as well
	}
	if old != nil {
		cfg.Costs = old.batches.Access().Costs
	}
	if err := sp.price(ctx, old, &cfg.Costs.GetCosts); err != nil {
		return err
	}
	return sp.batches.Open(ctx, sp.job, sp.marks.window, cfg)
}

// price finds out what gets cost, where the set chooses C by that. Collective.
func (sp *space) price(ctx context.Context, old *space, costs *rma.GetCosts) (err error) {
	switch {
	case sp.auto == nil:
		return nil
	case old != nil:
		*costs = old.auto.costs
	default:
		if *costs, err = core.GetCosts(ctx, sp.job); err != nil {
			return fmt.Errorf("set: %w", err)
		}
	}
	return sp.auto.price(*costs)
}

// close gives back queues and buckets. A later call goes to the pool of sessions
// and finds it closed, before it can use memory that is unmapped.
func (sp *space) close() error {
	err := sp.batches.Close() // first: requests of other ranks are running
	for t := sp.oldest.Load(); t != nil; t = t.following.Load() {
		t.flat, t.spans, t.first, t.single = nil, nil, firstLine{}, false
	}
	err = errors.Join(err, sp.sessions.Close(), sp.marks.close())
	for _, m := range sp.tables {
		err = errors.Join(err, m.close())
	}
	return err
}

// bytes is the memory of the set when it has come to a table.
func (sp *space) bytes(gen int) uint64 {
	cfg := sp.cfg
	cfg.Buckets = sp.tables[gen].buckets
	return cfg.Bytes()
}

// movingBytes is the memory of the set while the table before this one moves to it.
func (sp *space) movingBytes(gen int) uint64 { return sp.bytes(gen) + sp.tables[gen-1].buckets*8 }

// mayGrow asks Config.MayGrow.
func (sp *space) mayGrow(from, to uint64) bool {
	return sp.cfg.MayGrow == nil || sp.cfg.MayGrow(from, to)
}

// newTable is a table of a generation.
func (sp *space) newTable(gen int) *table {
	m := &sp.tables[gen]
	t := &table{space: sp, gen: gen, window: m.window, regions: &m.regions,
		perRank: m.buckets / uint64(sp.job.Size()), buckets: m.buckets,
		chunk: min(sp.chunk, m.buckets), unit: lineBuckets}
	c := uint64(sp.cfg.firstChunk())
	t.directChunk, t.last = min(c, m.buckets), gen == len(sp.tables)-1
	t.limit = min(c*uint64(sp.cfg.Chunks), t.buckets)
	if sp.cfg.variant.WordHomes {
		t.unit = 1
	}
	t.units = t.buckets / t.unit
	t.findSpans()
	return t
}

// errClosedLast is the error of a search that has passed the last table.
var errClosedLast = errors.New("set: a bucket of the last table is closed, or damaged, and no " +
	"table follows: Check says which bucket")

// prepareSingles decides which single calls compare lines.
func (t *table) prepareSingles() {
	t.first = t.newFirstLine()
	t.single = t.flat != nil && t.unit == lineBuckets && t.arenas != nil &&
		t.arenas.regions.Whole != nil && t.limit >= lineBuckets
}

// next is the table that follows this one. Searches that insert nothing take no memory for it:
// nothing is in it before an insertion has taken some. The error is errNoMemory if it has none, and
// errClosedLast if no table follows: only a damaged bucket has a search go on after the last one.
func (t *table) next(insert bool) (*table, error) {
	if t.last {
		return nil, errClosedLast
	}
	if next := t.following.Load(); next != nil {
		return next, nil
	}
	steps := uint64(0)
	if insert {
		steps = math.MaxUint64
	}
	ready, err := t.prepare(steps)
	if err == nil && !ready {
		ready, err = t.prepareBegun()
	}
	switch {
	case err != nil:
		return nil, err
	case !ready:
		return nil, errNoMemory
	}
	next := t.newTable(t.gen + 1)
	next.prepareSingles()
	_ = t.marks.raise(t.job.Rank(), cellBegun, next.gen) // its own memory does not fail
	t.following.CompareAndSwap(nil, next)
	return t.following.Load(), nil
}

// advance has searches begin at a table: all before it have moved.
func (sp *space) advance(gen int) {
	for t := sp.oldest.Load(); t.gen < gen; t = sp.oldest.Load() {
		next, err := t.next(false)
		if err != nil {
			return
		}
		if sp.oldest.CompareAndSwap(t, next) {
			sp.mayGrow(sp.movingBytes(next.gen), sp.bytes(next.gen))
			runtime.AddCleanup(t, func(close func() error) { _ = close() }, sp.tables[t.gen].close)
			if t.buckets >= collectBuckets {
				go runtime.GC() // nothing else may call for it for long
			}
		}
	}
}

// newest is the last table that this rank has come to.
func (sp *space) newest() *table {
	t := sp.oldest.Load()
	for next := t; next != nil; next = next.following.Load() {
		t = next
	}
	return t
}

// findSpans finds the buckets that are directly addressable.
func (t *table) findSpans() {
	t.spansFrom = t.regions.Segments.First
	t.spans = make([]*span, len(t.regions.Segments.Words))
	v := span{limit: t.limit, last: t.last}
	for i := range t.spans {
		rank := t.spansFrom + i
		r := t.regions.At(rank)
		switch {
		case r == nil:
		case r == t.regions.Whole:
			t.flat, t.whole = r.Words, true
			t.spans[i] = &t.span
		case rank == r.First:
			v.flat, v.first, v.rank = r.Words, uint64(rank)*t.perRank, rank
			t.spans[i] = new(span)
			*t.spans[i] = v
		default:
			t.spans[i] = t.spans[r.First-t.spansFrom]
		}
	}
}

// spanOf is the span that has a bucket, nil where only queues reach it.
func (t *table) spanOf(bucket uint64) *span {
	if t.flat != nil {
		return &t.span
	}
	return t.spanAt(int(bucket / t.perRank))
}

// spanAt is the span that has the segment of a rank.
func (t *table) spanAt(rank int) *span {
	if i := uint(rank - t.spansFrom); i < uint(len(t.spans)) {
		return t.spans[i]
	}
	return nil
}

// home is the bucket where the search for a hash begins: the hash scaled to the
// table, so that any number of buckets will do.
func (t *table) home(hash uint64) uint64 {
	unit, _ := bits.Mul64(hash, t.units)
	return unit * t.unit
}

// owner is the rank of the bucket that home gives.
func (t *table) owner(hash uint64) int {
	rank, _ := bits.Mul64(hash, uint64(t.window.Size()))
	return int(rank)
}

// place is the rank and offset of a bucket.
func (t *table) place(bucket uint64) (rank, off int) {
	return int(bucket / t.perRank), int(bucket % t.perRank)
}

// pieces is the number of gets that a chunk may take: one for each segment that has a part
// of it.
func (sp *space) pieces() (most uint64) {
	for _, m := range sp.tables {
		perRank := m.buckets / uint64(sp.job.Size())
		most = max(most, (min(sp.chunk, m.buckets)-2)/perRank+2)
	}
	return most
}

// distance is how far bucket comes after home, around the end of the table.
func (t *table) distance(home, bucket uint64) uint64 {
	return (bucket + t.buckets - home) % t.buckets
}

// items is what a set holds, and keeps when it gets another table. An item is a word, or an
// element as it is in an arena.
type items struct {
	job    rma.Job
	size   int     // bytes of an element; 0: the items are words, or have any length
	width  int     // words of an item; of a string, at least
	begins []int   // of a batch of one string: 0; nil where all items have the same width
	mask   uint64  // bits of a bucket that have an item's key
	arenas *arenas // of elements; nil for words
	tally  *tally
}

// isStrings reports whether each item has a length of its own.
func (its *items) isStrings() bool { return its.begins != nil }

// pieceWords is how many words of an element a buffer of a queue has.
func (its *items) pieceWords() int {
	if its.isStrings() {
		return pieceWords
	}
	return its.width
}

func (its *items) hash(item []uint64) uint64 {
	switch {
	case its.arenas == nil:
		return hashWord(item[0])
	case its.arenas.strings:
		return hashHead(item[0])
	}
	return hashElement(item)
}

// key is what a bucket has, in the bits of mask, that may hold an item.
func (its *items) key(item []uint64, hash uint64) uint64 {
	if its.arenas == nil {
		return item[0] | occupied
	}
	return fingerprintKey(hash)
}

// hashWord spreads a 63-bit word over 64 bits. It is a bijection: two odd
// multiplications, each after a shift. A multiplication carries upward only. Without the
// first shift the hashes of words that differ in their high bits alone would form a
// lattice, and some such words would have homes close to each other.
func hashWord(word uint64) uint64 {
	word ^= word >> 32
	word *= hashFactor
	word ^= word >> 32
	return word * hashFactor
}

const hashFactor = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio

// shortWords is the length up to which elements are hashed here: xxh3 takes more than
// twice the time for so few words.
const shortWords = 8

// Digits of pi: constants that are not chosen for a purpose.
const (
	pi0 = 0x243F6A8885A308D3
	pi1 = 0x13198A2E03707344
	pi2 = 0xA4093822299F31D0
	pi3 = 0x082EFA98EC4E6C89
)

// hashElement hashes an element as it is in an arena: whole words, the last one
// filled up with zeros. Short ones are folded together by multiplications of 64 by 64
// bits, as wyhash and xxh3 do.
func hashElement(words []uint64) uint64 {
	if last := len(words) - 1; last >= shortWords {
		return hashLong(core.BytesOf(words[:last]), words[last])
	}
	hash := uint64(pi0)
	for ; len(words) >= 2; words = words[2:] {
		hash = core.Fold(words[0]^pi1, words[1]^hash)
	}
	if len(words) == 1 {
		hash = core.Fold(words[0]^pi1, hash^pi2)
	}
	return core.Fold(hash^pi2, pi3)
}

// hashBytes is hashElement of bytes that are not in whole words yet.
func hashBytes(b []byte) uint64 {
	if len(b) > 8*shortWords {
		last := (len(b) - 1) / 8 * 8
		return hashLong(b[:last], core.LastWord(b[last:]))
	}
	hash := uint64(pi0)
	for ; len(b) >= 16; b = b[16:] {
		hash = core.Fold(binary.NativeEndian.Uint64(b)^pi1, binary.NativeEndian.Uint64(b[8:])^hash)
	}
	switch {
	case len(b) > 8:
		hash = core.Fold(binary.NativeEndian.Uint64(b)^pi1, core.LastWord(b[8:])^hash)
	case len(b) > 0:
		hash = core.Fold(core.LastWord(b)^pi1, hash^pi2)
	}
	return core.Fold(hash^pi2, pi3)
}

// hashLong hashes a long element: its whole words, and its last word, filled up with zeros.
func hashLong(b []byte, last uint64) uint64 {
	hash := xxh3.Hash(b)
	return core.Fold(hash^pi1, last^pi2) ^ hash
}

// A string has whole words in an arena: its head, and its bytes. Zeros fill the last one up.
//
//	head  | hash (47) | length (17) |
//
// What is searched for, and whether most others are different, is known from the head alone.
const (
	lengthBits = 17
	lengthMask = 1<<lengthBits - 1

	// maxStringWords is the words of the longest string.
	maxStringWords = 1 + MaxStringBytes/8

	// pieceWords is how many words of a string are in a buffer of a queue. Longer strings are
	// compared and stored in pieces.
	pieceWords = 128
)

// appendString appends a string as it is in an arena.
func appendString(dst []uint64, s []byte) []uint64 {
	return appendWords(append(slices.Grow(dst, stringWords(uint64(len(s)))), headOf(s)), s)
}

// headOf is the head of a string: its hash and its length.
func headOf(s []byte) uint64 {
	length := uint64(len(s))
	return core.Fold(hashBytes(s)^pi3, length^pi1)&^lengthMask | length
}

// isString reports whether words are a string as it is in an arena, with its head.
func isString(words []uint64) bool {
	return words[0] == headOf(stringBytes(words))
}

// stringWords is the words of a string that has this head.
func stringWords(head uint64) int { return 1 + int(head&lengthMask+7)/8 }

// stringBytes is the bytes of a string.
func stringBytes(words []uint64) []byte { return core.BytesOf(words[1:])[:words[0]&lengthMask] }

// hashHead is the hash of a string: all bits of the head, as the length is no part of a home, and
// the low bits have to differ where the high ones are equal.
func hashHead(head uint64) uint64 { return head ^ head>>lengthBits }

// fingerprintKey is what a bucket that refers to an element with this hash has
// above its reference: the occupied bit and the low bits of the hash, where home
// takes the high ones.
func fingerprintKey(hash uint64) uint64 { return occupied | hash<<refBits&^occupied }

// cells are words in a window of their own.
type cells struct {
	*rma.Cells
	window rma.Window
}

// newCells makes so many words on each rank. Collective.
func newCells(ctx context.Context, job rma.Job, name string, words int) (cells, error) {
	return cellsOf(ctx, job, rma.Spec{Name: "set: " + name, Words: words})
}

// cellsOf makes a window with words. Collective.
func cellsOf(ctx context.Context, job rma.Job, spec rma.Spec) (cells, error) {
	w, err := job.NewWindow(ctx, spec)
	if err != nil {
		return cells{}, err
	}
	c, err := rma.NewCells(job, w)
	if err != nil {
		return cells{}, errors.Join(err, w.Close())
	}
	return cells{c, w}, nil
}

func (c cells) Close() error { return errors.Join(c.Cells.Close(), c.window.Close()) }
