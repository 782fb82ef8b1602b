package set

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma"
)

// Config shapes a Set. Every rank gives the same, except for Access.
type Config struct {
	// Buckets of all ranks together to begin with: rounded up to a multiple of 8 per rank, 2^44 at
	// most. 0 means 2^16.
	Buckets uint64
	// MaxBytes is the memory that the set may take on all ranks together. While it grows that is
	// two tables, and the arenas of elements; a set by name keeps all tables. A set of strings that
	// has no name takes up to 160 KiB a rank more. 0 means that Buckets are kept where they are
	// given. Without Buckets, and for elements of any length, it means 0.8 of the memory that the
	// hosts have left, or a twentieth where the engine takes the memory of a window at once
	// ([rma.Reserves]).
	MaxBytes uint64
	// MayGrow, if it is not nil, decides whether the set takes more memory within MaxBytes, which
	// it may then share with others. It is told how many bytes the set has on all ranks and comes
	// to have, elements included: at first from 0; more before a larger table, which false refuses
	// until a later call asks again; less after a table has moved. All ranks tell the same, from
	// any goroutine.
	MayGrow func(from, to uint64) bool
	// Chunk is C, the buckets brought by one get: a multiple of 8. 0 lets C follow the load of the
	// table, which OP leaves as future work, and what gets cost here, as New measures it. Nearly
	// all searches then end in their first chunk, and no chunk is requested in advance. It matters
	// only where ranks are reached through queues.
	Chunk int
	// Chunks is M: C*M buckets are examined, then the answer is Full. 0 means 128. Where Chunk is 0
	// C counts as 64.
	Chunks int
	// Depth is how many operations of a batch are in flight on a queue. 0 means 64.
	Depth int
	// Access says how batches reach memory that this rank cannot address directly.
	Access rma.Access

	variant variant.Set
	byName  bool // a table that has moved keeps its memory
}

// WithVariant is c for another version of the set. It is for the experiments of this module.
func (c Config) WithVariant(v variant.Set) Config {
	c.variant = v
	return c
}

// BytesConfig shapes a set of byte strings. Every rank gives the same, except for Access.
type BytesConfig struct {
	Config
	// ElementBytes is the length of every element: 1 to MaxElementBytes. 0 means that elements have
	// any length from 0 to MaxStringBytes, which takes more memory and time.
	ElementBytes int
	// Capacity is how many elements the arenas hold at least while no more than two
	// goroutines of a rank insert at a time, the one included that answers other ranks;
	// each further one may hold 32 free slots. 0 means 15/16 of Buckets.
	Capacity uint64

	words bool // it shapes a Set
}

// anyLength reports whether elements have any length.
func (c *BytesConfig) anyLength() bool { return c.ElementBytes == 0 && !c.words }

const (
	// MaxElementBytes is the longest element of a set of elements of one length.
	MaxElementBytes = 4096

	// MaxStringBytes is the longest element of a set of any length: 64 KiB.
	MaxStringBytes = 1 << 16

	// meanStringBytes is what a string takes in an arena when memory is divided between tables and
	// arenas. Where they take half as much or more, 0.6 of MaxBytes at least is used before the set
	// is full.
	meanStringBytes = 32

	// MaxWord is the largest word that a Set holds: 63 bits.
	MaxWord = occupied - 1

	maxBuckets     = 1 << 44
	defaultBuckets = 1 << 16
	defaultDepth   = 64

	// littleShare is the part of MaxBytes up to which a table is four times as large as the one
	// before it: one in 16.
	littleShare = 16

	// defaultChunk is the C that a table begins with that chooses it, and that statistics go by
	// where memory is direct and there are no chunks. 64 buckets are 512 bytes; at load 0.9
	// a search takes 1.37 round trips (OP Table 1).
	defaultChunk = 64

	// defaultChunks is M. C*M = 8192 buckets: the chance that a search at load 0.9 is longer
	// is about exp(-0.0054*8192) = 1e-19, so Full does not come before that load.
	// OP's M of 32 with C of 8 would say Full near load 0.74 in a table of 2^28, by the formula.
	defaultChunks = 128
)

// Bytes is the memory of a set that keeps its Buckets. As MaxBytes it lets no set grow.
func (c Config) Bytes() uint64 { return c.Buckets * 8 }

// Bytes is the memory of a set that keeps its Buckets, with its arenas. As MaxBytes it lets no set
// grow.
func (c BytesConfig) Bytes() uint64 {
	slotBytes := uint64(c.ElementBytes+7) / 8 * 8
	slots := min(c.capacityFor(c.Buckets), refMask+1)
	if c.anyLength() {
		slotBytes, slots = meanStringBytes, c.capacityFor(c.Buckets)
	}
	return c.Config.Bytes() + slots*slotBytes
}

// firstChunk is C, or the one to begin with.
func (c *Config) firstChunk() int { return cmp.Or(c.Chunk, defaultChunk) }

// capacityFor is how many elements the arenas hold at least beside a table of so many buckets.
func (c *BytesConfig) capacityFor(buckets uint64) uint64 {
	switch {
	case c.words:
		return 0
	case c.Capacity > 0:
		return c.Capacity
	}
	return buckets - buckets/16
}

// tableSizes are the buckets of all tables that a set may have, one after the other. Each is twice
// as large as the one before it, or four times while the set takes little of MaxBytes and shares it
// with nothing: the fewer tables there are, the less is moved. The last one takes what MaxBytes
// leaves beside the one before it, or beside all of a set by name, if it is a quarter more at
// least. Every rank computes the same.
func (c *BytesConfig) tableSizes(ranks int) []uint64 {
	line, all, kept := uint64(ranks)*lineBuckets, []uint64{c.Buckets}, uint64(0)
	bytes := func(buckets uint64) uint64 {
		larger := *c
		larger.Buckets = buckets
		return larger.Bytes()
	}
	for {
		size := all[len(all)-1]
		next := size * 4
		if next > maxBuckets || bytes(next) > c.MaxBytes/littleShare || c.MayGrow != nil {
			next = line * uint64(sort.Search(int(size*2/line), func(n int) bool {
				more := uint64(n+1) * line
				return more > maxBuckets || kept+size*8+bytes(more) > c.MaxBytes
			}))
		}
		if next < size+size/4 {
			return all
		}
		if c.byName {
			kept += size * 8
		}
		all = append(all, next)
	}
}

// arenaRoom is how large the arenas are beside tables of these sizes.
func (c *BytesConfig) arenaRoom(tables []tableMemory) room {
	r := room{slots: c.capacityFor(tables[len(tables)-1].buckets), least: c.Capacity}
	if c.byName && c.MaxBytes > 0 {
		r.maxBytes = c.MaxBytes
		for _, t := range tables {
			r.maxBytes -= t.buckets * 8
		}
	}
	if c.anyLength() {
		r.slots *= meanStringBytes / 8
		r.least *= meanStringBytes / 8
	}
	return r
}

// agreed makes sure that every rank has the same configuration, and that it is legal. It fills in
// defaults, except for Chunk and Capacity. Collective.
func (c BytesConfig) agreed(ctx context.Context, job rma.Job) (BytesConfig, error) {
	if shared, ok := job.(rma.Shared); ok {
		if c.MayGrow != nil {
			return c, errors.New("set: MayGrow is of one process, and a set by name is of many; " +
				"leave it nil and give MaxBytes")
		}
		c.byName = true
		err := core.Recorded(shared, "set", c.fields, c.set, func() (err error) {
			c, err = c.settled(ctx, job)
			return err
		})
		return c, err
	}
	return c.settled(ctx, job)
}

// fields are the numbers that all ranks have alike.
func (c *BytesConfig) fields() []rma.Field {
	homes := uint64(0)
	if c.variant.WordHomes {
		homes = 1
	}
	return []rma.Field{{Name: "buckets", Value: c.Buckets},
		{Name: "buckets per chunk", Value: uint64(c.Chunk)},
		{Name: "chunks", Value: uint64(c.Chunks)},
		{Name: "kinds of home", Value: homes},
		{Name: "bytes per element", Value: uint64(c.ElementBytes)},
		{Name: "bytes at most", Value: c.MaxBytes},
		{Name: "elements", Value: c.Capacity}}
}

// set takes the values of fields.
func (c *BytesConfig) set(n []uint64) {
	c.Buckets, c.Chunk, c.Chunks, c.variant.WordHomes = n[0], int(n[1]), int(n[2]), n[3] == 1
	c.ElementBytes, c.MaxBytes, c.Capacity = int(n[4]), n[5], n[6]
}

// settled is agreed of the ranks of one job.
func (c BytesConfig) settled(ctx context.Context, job rma.Job) (_ BytesConfig, err error) {
	var refusal error
	fields, given := c.fields(), c.Buckets > 0
	c.Buckets = cmp.Or(c.Buckets, defaultBuckets)
	c.Chunks, c.Depth = cmp.Or(c.Chunks, defaultChunks), cmp.Or(c.Depth, defaultDepth)
	switch {
	case c.ElementBytes < 0 || c.ElementBytes > MaxElementBytes:
		refusal = fmt.Errorf("set: ElementBytes must be 1 to %d, or 0 for any length, not %d",
			MaxElementBytes, c.ElementBytes)
	case c.Buckets > maxBuckets:
		refusal = fmt.Errorf("set: Buckets must be 2^44 at most, not %d", c.Buckets)
	case c.Capacity > refMask+1:
		refusal = fmt.Errorf("set: Capacity must be 2^%d at most, not %d", refBits, c.Capacity)
	case c.MaxBytes > 0 && c.MaxBytes < c.Bytes():
		refusal = fmt.Errorf("set: MaxBytes is %d, and %d Buckets take %d", c.MaxBytes, c.Buckets,
			c.Bytes())
	case c.Chunk < 0 || c.Chunk%lineBuckets != 0 || c.Chunk > 1<<16:
		refusal = fmt.Errorf("set: Chunk must be a multiple of %d up to 65536, not %d",
			lineBuckets, c.Chunk)
	case c.Chunks < 0 || c.Chunks > 1<<24:
		refusal = fmt.Errorf("set: Chunks must be 1 to 2^24, not %d", c.Chunks)
	case c.Depth < 0 || c.Depth > 1<<16:
		refusal = fmt.Errorf("set: Depth must be 0 to 65536, not %d", c.Depth)
	}
	line := uint64(job.Size()) * lineBuckets
	c.Buckets = (c.Buckets + line - 1) / line * line
	if c.MaxBytes > 0 { // so that what is recorded is legal again
		c.MaxBytes = max(c.MaxBytes, c.Bytes())
	}
	err = rma.Agree(ctx, job, "set", refusal, fields...)
	if err == nil && c.MaxBytes == 0 && (!given || c.anyLength()) {
		c.MaxBytes, err = core.DefaultBytes(ctx, job)
		c.MaxBytes = max(c.MaxBytes, c.Bytes())
	}
	return c, err
}
