package set

import (
	"cmp"
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// Config shapes a Set. Every rank gives the same.
type Config struct {
	// Buckets of all ranks together; rounded up to a multiple of 8 per rank.
	Buckets uint64
	// Chunk is C, the buckets brought by one get: a multiple of 8, or Auto, which is 0.
	// It matters only where ranks are reached through queues.
	Chunk int
	// Chunks is M: C*M buckets are examined, then the answer is Full. 0 means
	// DefaultChunks. With Auto as many buckets are examined as with DefaultChunk.
	Chunks int
	// Home says where searches begin.
	Home Home
	// Kernel is the loop that searches batches where memory is direct. It may differ
	// between ranks.
	Kernel Kernel
	// Depth is how many operations of a batch are in flight on a queue. 0 means
	// DefaultDepth.
	Depth int
	// Access says how batches reach memory that this rank cannot address directly. It may
	// differ between ranks.
	Access ship.Access
}

// ElementsConfig shapes an Elements set. Every rank gives the same.
type ElementsConfig struct {
	Config
	// ElementBytes is the length of every element: 1 to MaxElementBytes.
	ElementBytes int
	// Capacity is how many elements the arenas hold at least while no more than two
	// goroutines of a rank insert at a time, the one included that answers other ranks;
	// each further one may hold 32 free slots. 0 means 15/16 of Buckets.
	Capacity uint64
}

func (c ElementsConfig) capacity() uint64 {
	return cmp.Or(c.Capacity, c.Buckets-c.Buckets/16)
}

// MaxElementBytes is the longest element.
const MaxElementBytes = 4096

// DefaultDepth is how many operations of a batch are in flight on a queue.
const DefaultDepth = 64

// Auto, as [Config].Chunk, has C follow the load of the table, which OP leaves as future
// work: a rank takes the C for which round trips times the cost of one is least. Then
// nearly all searches end in their first chunk, and no chunk is requested in advance.
const Auto = 0

// MaxWord is the largest word that a Set holds: 63 bits.
const MaxWord = occupied - 1

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
