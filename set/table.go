package set

import (
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
	spans []*span // by rank: the span that its segment is in, nil where only queues reach it

	geometry    geometry
	job         rma.Job
	window      rma.Window
	perRank     uint64 // k, buckets of each rank
	buckets     uint64 // n = k * ranks
	chunk       uint64 // C; with auto the largest, where there are queues
	directChunk uint64 // C as the statistics have it where memory is direct
	auto        *auto  // chooses C, nil if it is given or memory is direct
	unit        uint64 // homes are multiples of it, in buckets
	units       uint64 // n / unit
	depth       int    // of a session; 0 for DefaultDepth

	kernel Kernel // searches batches; chosen, not KernelAuto

	sessions core.Pool[*session]
	known    *known // nil for none

	ops     itemOps
	batches core.Batches
}

// Home says where a search may begin.
type Home int

const (
	// HomeLine begins searches at a cache line of 8 buckets: the default.
	HomeLine Home = iota
	// HomeWord begins them at any bucket, as OP does.
	HomeWord
)

// geometry is the part of a Config that shapes the table of buckets.
type geometry struct {
	buckets uint64
	chunk   int
	chunks  int
	home    Home
	auto    bool
	depth   int
	known   uint64 // KnownWords
}

func (g *geometry) complete(ranks int) error {
	if g.auto = g.chunk == Auto; g.auto {
		g.chunk = DefaultChunk
	}
	if g.chunks == 0 {
		g.chunks = DefaultChunks
	}
	switch {
	case g.buckets < 1 || g.buckets > MaxBuckets:
		return fmt.Errorf("set: Buckets must be 1 to 2^44, not %d", g.buckets)
	case g.chunk < 0 || g.chunk%lineBuckets != 0 || g.chunk > 1<<16:
		return fmt.Errorf("set: Chunk must be a multiple of %d up to 65536, not %d",
			lineBuckets, g.chunk)
	case g.chunks < 0 || g.chunks > 1<<24:
		return fmt.Errorf("set: Chunks must be 1 to 2^24, not %d", g.chunks)
	case g.home != HomeLine && g.home != HomeWord:
		return fmt.Errorf("set: Home must be HomeLine or HomeWord, not %d", g.home)
	}
	line := uint64(ranks) * lineBuckets
	g.buckets = (g.buckets + line - 1) / line * line
	return nil
}

// newTable makes the buckets of a set. Collective.
func newTable(ctx context.Context, job rma.Job, g geometry) (*table, error) {
	perRank := g.buckets / uint64(job.Size())
	w, err := job.NewWindow(ctx, rma.Spec{Name: "set: buckets", Words: int(perRank)})
	if err != nil {
		return nil, err
	}
	t := &table{geometry: g, job: job, window: w, perRank: perRank, buckets: g.buckets,
		chunk: min(uint64(g.chunk), g.buckets), unit: 1, depth: g.depth,
		sessions: core.Pool[*session]{Closed: errClosed}}
	t.limit = min(uint64(g.chunk)*uint64(g.chunks), t.buckets)
	t.batches.Regions, t.batches.InOnePiece = core.NewRegions(w), true
	t.findSpans()
	if g.home == HomeLine {
		t.unit = lineBuckets
	}
	t.directChunk = t.chunk
	if g.auto && t.flat == nil {
		t.auto, t.chunk = newAuto(), min(maxAutoChunk, g.buckets)
	}
	t.units = t.buckets / t.unit
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
func (t *table) pieces() uint64 {
	if t.chunk < 2 {
		return 1
	}
	return (t.chunk-2)/t.perRank + 2
}

// distance is how far bucket lies behind home, around the end of the table.
func (t *table) distance(home, bucket uint64) uint64 {
	if bucket >= home {
		return bucket - home
	}
	return bucket + t.buckets - home
}

// errClosed is the answer of a set that has been closed.
var errClosed = errors.New("set: the set is closed")

// close gives back queues and buckets. A later call goes to the pool of sessions
// and finds it closed, before it can use memory that is unmapped.
func (t *table) close() error {
	err := t.batches.Close() // first: requests of other ranks are being carried out
	t.flat, t.spans = nil, nil
	return errors.Join(err, t.sessions.Close(), t.window.Close())
}
