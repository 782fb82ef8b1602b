package set

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

const (
	// occupied marks a bucket that holds something. An empty bucket is zero.
	occupied = 1 << 63

	// lineBuckets is the number of buckets in a cache line.
	lineBuckets = 8

	// DefaultChunk is the C that Auto begins with, and that statistics go by where
	// memory is direct and there are no chunks. 64 buckets are 512 bytes; at load 0.9
	// a search takes 1.37 round trips (OP Table 1).
	DefaultChunk = 64

	// DefaultChunks is M, the chunks that an operation examines before it says
	// Full. C*M = 8192 buckets: the chance that a search at load 0.9 is longer
	// is about exp(-0.0054*8192) = 1e-19, so Full does not come before that load.
	// OP's M of 32 with C of 8 would say Full near load 0.74 in a table of 2^28, by the formula.
	DefaultChunks = 128

	// MaxBuckets is the largest table.
	MaxBuckets = 1 << 44
)

// table is the array of buckets over all ranks, and the arithmetic of homes and owners. Set
// and Elements share it. Growth replaces it as a whole.
type table struct {
	span          // all buckets, where all are directly addressable
	unit  uint64  // homes are multiples of it, in buckets
	units uint64  // n / unit
	spans []*span // by rank: the span that its segment is in, nil where only queues reach it

	items
	geometry    geometry
	window      rma.Window
	perRank     uint64 // k, buckets of each rank
	buckets     uint64 // n = k * ranks
	chunk       uint64 // C; with auto the largest, where there are queues
	directChunk uint64 // C as the statistics have it where memory is direct
	auto        *auto  // chooses C, nil if it is given or memory is direct
	kernel      Kernel // searches batches; chosen, not KernelAuto
	first       firstLine

	sessions core.Pool[*session]
	batches  core.Batches
	shipped  batch // the request of another rank that is being answered
}

// items is what a set holds, and keeps when it gets another table. An item is a word, or an
// element as it lies in an arena.
type items struct {
	job    rma.Job
	size   int     // bytes of an element; 0: the items are words
	width  int     // words of an item
	mask   uint64  // bits of a bucket that are those of an item's key
	arenas *arenas // of elements; nil for words
	tally  *tally
}

func (its *items) hash(item []uint64) uint64 {
	if its.arenas == nil {
		return hashWord(item[0])
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

// Home says where a search may begin.
type Home int

const (
	// HomeLine begins searches at a cache line of 8 buckets: the default.
	HomeLine Home = iota
	// HomeWord begins them at any bucket, as OP does.
	HomeWord
)

// geometry is a Config whose defaults are filled in, but for Chunk and Kernel.
type geometry struct {
	Config
	chunk int // C, or with Auto the one to begin with
}

// newGeometry makes sure that every rank has the same configuration, and that it is legal.
// refusal is an error with it, or nil. Collective.
func newGeometry(ctx context.Context, job rma.Job, cfg ElementsConfig, refusal error) (geometry,
	error) {
	fields := []rma.Field{{Name: "buckets", Value: cfg.Buckets},
		{Name: "buckets per chunk", Value: uint64(cfg.Chunk)},
		{Name: "chunks", Value: uint64(cfg.Chunks)},
		{Name: "kinds of home", Value: uint64(cfg.Home)},
		{Name: "bytes per element", Value: uint64(cfg.ElementBytes)},
		{Name: "elements", Value: cfg.Capacity}}
	g := geometry{Config: cfg.Config, chunk: cmp.Or(cfg.Chunk, DefaultChunk)}
	g.Chunks, g.Depth = cmp.Or(g.Chunks, DefaultChunks), cmp.Or(g.Depth, DefaultDepth)
	switch {
	case g.Buckets < 1 || g.Buckets > MaxBuckets:
		refusal = fmt.Errorf("set: Buckets must be 1 to 2^44, not %d", g.Buckets)
	case g.chunk < 0 || g.chunk%lineBuckets != 0 || g.chunk > 1<<16:
		refusal = fmt.Errorf("set: Chunk must be a multiple of %d up to 65536, not %d",
			lineBuckets, g.chunk)
	case g.Chunks < 0 || g.Chunks > 1<<24:
		refusal = fmt.Errorf("set: Chunks must be 1 to 2^24, not %d", g.Chunks)
	case g.Home != HomeLine && g.Home != HomeWord:
		refusal = fmt.Errorf("set: Home must be HomeLine or HomeWord, not %d", g.Home)
	case g.Depth < 0 || g.Depth > 1<<16:
		refusal = fmt.Errorf("set: Depth must be 0 to 65536, not %d", g.Depth)
	}
	line := uint64(job.Size()) * lineBuckets
	g.Buckets = (g.Buckets + line - 1) / line * line
	return g, rma.Agree(ctx, job, "set", refusal, fields...)
}

// newTable makes the buckets of a set. Collective.
func newTable(ctx context.Context, its items, g geometry) (*table, error) {
	t := &table{items: its, geometry: g, perRank: g.Buckets / uint64(its.job.Size()),
		buckets: g.Buckets, chunk: min(uint64(g.chunk), g.Buckets), unit: 1,
		sessions: core.Pool[*session]{Closed: errClosed}}
	t.limit = min(uint64(g.chunk)*uint64(g.Chunks), t.buckets)
	if g.Home == HomeLine {
		t.unit = lineBuckets
	}
	t.units = t.buckets / t.unit
	var err error
	if t.kernel, err = g.Kernel.choose(t); err != nil {
		return nil, err
	}
	t.window, err = t.job.NewWindow(ctx, rma.Spec{Name: "set: buckets",
		Words: core.Segment(t.perRank, 1)})
	if err != nil {
		return nil, err
	}
	t.batches.Regions, t.batches.InOnePiece = core.NewRegions(t.window), true
	t.findSpans()
	t.directChunk = t.chunk
	if g.Chunk == Auto && t.flat == nil {
		t.auto, t.chunk = newAuto(), min(maxAutoChunk, g.Buckets)
	}
	return t, nil
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
func (t *table) pieces() uint64 { return (t.chunk-2)/t.perRank + 2 }

// distance is how far bucket lies behind home, around the end of the table.
func (t *table) distance(home, bucket uint64) uint64 {
	return (bucket + t.buckets - home) % t.buckets
}

// errClosed is the answer of a set that has been closed.
var errClosed = fmt.Errorf("set: the set is %w", rma.ErrClosed)

// close gives back queues and buckets. A later call goes to the pool of sessions
// and finds it closed, before it can use memory that is unmapped.
func (t *table) close() error {
	err := t.batches.Close() // first: requests of other ranks are being carried out
	t.flat, t.spans, t.first = nil, nil, firstLine{}
	return errors.Join(err, t.sessions.Close(), t.window.Close())
}

// cells are words in a window of their own.
type cells struct {
	*rma.Cells
	window rma.Window
}

// newCells makes so many words on each rank. Collective.
func newCells(ctx context.Context, job rma.Job, name string, words int) (cells, error) {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "set: " + name, Words: words})
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
