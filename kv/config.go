package kv

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
)

// Config shapes a Map. Every rank gives the same. Slots, MaxSlots, Bytes and MaxBytes are of all
// ranks together; each has the same share, so they are rounded up. None of them is needed.
type Config struct {
	// Slots is how many slots the map has at first: up to 2^40. A key takes one, also when it is
	// deleted, until the table moves. The share of a rank is a multiple of 8. 0 means 2^13.
	Slots uint64
	// MaxSlots is how many slots the map can have: Slots to 2^40. Each time the table moves it may
	// double, up to this, or grow fourfold while it is small and ranks on several hosts fill it.
	// Room is reserved for four tables of this size, and taken as they use it; an engine that takes
	// all memory at once has room for two. 0 means Slots where they are given without MaxBytes,
	// else as many as MaxBytes, or Bytes, allows: four for every three items of 64 bytes.
	MaxSlots uint64
	// Bytes is the memory for items, up to 2^38. The share of a rank holds what that rank puts,
	// and what it puts for others whose batches are shipped. With Auto it may put all of its own
	// and be shipped all keys of its slots, as each rank measures by itself. An item takes its
	// key and its value, each rounded up to 8 bytes, and 16 bytes, rounded up to a multiple of 64;
	// one of more than 1 KiB takes 8 bytes more, rounded up to 1.5, 2, 3, 4, 6 KiB and so on. 0
	// means what MaxBytes leaves beside the slots.
	Bytes uint64
	// MaxBytes is the memory that slots and items may take together, as the map grows. 0 means 0.8
	// of the memory that the hosts have left, or a twentieth where the engine takes the memory of
	// a window at once ([rma.Reserves]). It is not needed where Bytes is given.
	MaxBytes uint64
	// MaxKey and MaxValue are the longest key and value, in bytes. 0 means MaxSize.
	MaxKey, MaxValue int
	// Copies has slots of 32 bytes in place of 8, with copies of keys and values that are
	// together at most 16 bytes: a get through a queue finds them with one round trip. Calls on
	// memory that this process addresses gain nothing, and take longer.
	Copies bool
	// Chunk is how many slots a get brings: 0 means 64, or 16 with Copies.
	Chunk int
	// Depth is how many operations of a batch are in flight on a queue. 0 means 64. It may
	// differ between ranks.
	Depth int
	// Access is how batches reach memory that this process cannot address directly: see
	// [rma.Access]. Auto, the default, measures. It may differ between ranks.
	Access rma.Access
}

// MaxSize is the longest key, and the longest value.
const MaxSize = 1 << 16

const (
	maxSlots  = 1 << 40
	maxBytes  = (itemMask + 1) * unitBytes // as many items can be numbered
	unitBytes = 8 * unitWords

	firstSlots = 1 << 13

	minAreas = 2
	maxAreas = 4
	// itemShare is the bytes of items for each slot where the sizes follow from MaxBytes: three
	// smallest items for four slots, as more than 7 of 8 slots make searches long.
	itemShare = unitBytes * 3 / 4
	// leastDefault is what a rank has where nobody has set a limit, though no memory may be left.
	leastDefault = 4 << 20
)

// pairBytes is what a slot takes in the two areas that are used.
func (c *Config) pairBytes() uint64 {
	if c.Copies {
		return 2 * 8 * (1 + copyWords)
	}
	return 2 * 8
}

// areas is how many tables have room beside each other. Two are used in turn; the others are for
// when processes that have stopped hold these. They get no memory before, or are small.
func (c *Config) areas(inParts bool) uint64 {
	if inParts || c.MaxSlots <= firstSlots {
		return maxAreas
	}
	return minAreas
}

// complete checks a configuration, rounds it up and fills in the defaults. MaxBytes or Bytes is
// given.
func (c *Config) complete(ranks uint64) error {
	given, least := *c, ranks*uint64(classWords(c.largest()))*8
	c.divide(ranks)
	slots := roundUp(c.MaxSlots, lineSlots*ranks)
	needed := c.pairBytes()*slots + max(roundUp(c.Bytes, unitBytes*ranks), least)
	switch {
	case c.Slots > maxSlots:
		return fmt.Errorf("kv: Slots must be 0 to 2^40, not %d", c.Slots)
	case c.MaxSlots < c.Slots || c.MaxSlots > maxSlots:
		return fmt.Errorf("kv: MaxSlots must be 0, or %d (Slots) to 2^40, not %d", c.Slots,
			c.MaxSlots)
	case c.MaxKey < 0 || c.MaxKey > MaxSize || c.MaxValue < 0 || c.MaxValue > MaxSize:
		return fmt.Errorf("kv: MaxKey and MaxValue must be 0 to %d, not %d and %d", MaxSize,
			c.MaxKey, c.MaxValue)
	case c.Bytes > maxBytes || roundUp(c.Bytes, unitBytes*ranks) > maxBytes:
		return fmt.Errorf("kv: Bytes must be at most 2^38 when rounded up for %s, not %d",
			plural.Of(int(ranks), "rank"), c.Bytes)
	case c.MaxBytes > 0 && needed > c.MaxBytes:
		return fmt.Errorf("kv: MaxBytes must be at least %d, for %d slots and %d bytes of items, "+
			"not %d", needed, slots, needed-c.pairBytes()*slots, given.MaxBytes)
	case roundUp(c.Bytes, unitBytes*ranks) < least:
		return fmt.Errorf("kv: Bytes must be at least %d, a largest item for each of %s, not %d",
			least, plural.Of(int(ranks), "rank"), c.Bytes)
	case c.Chunk < 0 || c.Chunk > 1<<12:
		return fmt.Errorf("kv: Chunk must be 0 to 4096, not %d", c.Chunk)
	case c.Depth < 0 || c.Depth > 1<<16:
		return fmt.Errorf("kv: Depth must be 0 to 65536, not %d", c.Depth)
	}
	c.MaxKey, c.MaxValue = cmp.Or(c.MaxKey, MaxSize), cmp.Or(c.MaxValue, MaxSize)
	if c.Chunk == 0 {
		c.Chunk = 64
		if c.Copies {
			c.Chunk = 16
		}
	}
	c.Depth = cmp.Or(c.Depth, 64)
	c.Slots = roundUp(c.Slots, lineSlots*ranks)
	c.MaxSlots = max(c.Slots, roundUp(c.MaxSlots, lineSlots*ranks))
	c.Bytes = roundUp(c.Bytes, unitBytes*ranks)
	return nil
}

// divide fills in the sizes that are not given: of memory of MaxBytes, or beside Bytes. MaxBytes
// stays 0 where all are given. What is filled in is rounded down, so that it fits beside what is
// given and rounded up, also when the configuration is completed again.
func (c *Config) divide(ranks uint64) {
	pair, line, unit := c.pairBytes(), lineSlots*ranks, unitBytes*ranks
	slots := func(n uint64) uint64 {
		return max(min(n, maxSlots)/line*line, roundUp(max(c.Slots, 1), line))
	}
	switch {
	case c.MaxSlots > 0:
	case c.Slots > 0 && c.MaxBytes == 0:
		c.MaxSlots = c.Slots
	case c.MaxBytes == 0:
		c.MaxSlots = slots(c.Bytes / itemShare)
		c.MaxBytes = roundUp(c.Bytes, unit) + pair*c.MaxSlots
	case c.Bytes == 0:
		c.MaxSlots = slots(c.MaxBytes / (pair + itemShare))
	default:
		c.MaxSlots = slots((c.MaxBytes - min(c.MaxBytes, roundUp(c.Bytes, unit))) / pair)
	}
	c.Slots = cmp.Or(c.Slots, min(firstSlots, c.MaxSlots))
	if c.Bytes == 0 && c.MaxSlots <= maxSlots {
		slots := roundUp(c.MaxSlots, line)
		c.Bytes = min(c.MaxBytes-min(c.MaxBytes, pair*slots), maxBytes) / unit * unit
	}
}

// roundUp is the next multiple of a number.
func roundUp(n, of uint64) uint64 { return (n + of - 1) / of * of }

// agree completes a configuration, and makes sure that the ranks have the same. Collective.
func (c *Config) agree(ctx context.Context, job rma.Job) error {
	if shared, ok := job.(rma.Shared); ok {
		return core.Recorded(shared, "kv", c.fields, c.set,
			func() error { return c.settle(ctx, job) })
	}
	return c.settle(ctx, job)
}

// settle is agree of the ranks of one job.
func (c *Config) settle(ctx context.Context, job rma.Job) error {
	fields := c.fields()
	if c.MaxBytes == 0 && c.MaxSlots == 0 {
		c.MaxSlots = c.Slots
	}
	ranks, unlimited := uint64(job.Size()), c.Bytes == 0 && c.MaxBytes == 0
	trial := *c
	if unlimited {
		trial.MaxBytes = math.MaxInt64
	}
	err := rma.Agree(ctx, job, "kv", trial.complete(ranks), fields...)
	if err == nil && unlimited {
		c.MaxBytes, err = core.DefaultBytes(ctx, job)
		c.MaxBytes = max(c.MaxBytes, ranks*leastDefault)
	}
	if err != nil {
		return err
	}
	return c.complete(ranks)
}

// fields are the numbers that all ranks have alike.
func (c *Config) fields() []rma.Field {
	copies := uint64(0)
	if c.Copies {
		copies = 1
	}
	return []rma.Field{{Name: "slots", Value: c.Slots},
		{Name: "maximum of slots", Value: c.MaxSlots}, {Name: "bytes", Value: c.Bytes},
		{Name: "bytes at most", Value: c.MaxBytes},
		{Name: "bytes of the longest key", Value: longest(c.MaxKey)},
		{Name: "bytes of the longest value", Value: longest(c.MaxValue)},
		{Name: "slots with copies", Value: copies},
		{Name: "slots per chunk", Value: uint64(c.Chunk)}}
}

// longest is a longest key or value as a field. MaxSize, which is filled in, is 0: where it is
// given, there is a least size of Bytes.
func longest(size int) uint64 {
	if size == MaxSize {
		return 0
	}
	return uint64(size)
}

// set takes the values of fields.
func (c *Config) set(n []uint64) {
	c.Slots, c.MaxSlots, c.Bytes, c.MaxBytes = n[0], n[1], n[2], n[3]
	c.MaxKey, c.MaxValue, c.Copies, c.Chunk = int(n[4]), int(n[5]), n[6] == 1, int(n[7])
}

// largest is the class of the largest item.
func (c *Config) largest() int { return classFor(itemWords(c.MaxKey, c.MaxValue)) }

// check refuses calls that the map cannot make.
func (c *Config) check(call *Call) error {
	switch {
	case call.Kind >= kinds:
		return fmt.Errorf("kv: there is no %v", call.Kind)
	case len(call.Key) < 1 || len(call.Key) > c.MaxKey:
		return fmt.Errorf("kv: a key of %s; this map takes 1 to %d",
			plural.Of(len(call.Key), "byte"), c.MaxKey)
	case call.Kind.puts() && call.valueSize() > c.MaxValue:
		return fmt.Errorf("kv: a value of %s; this map takes up to %d",
			plural.Of(call.valueSize(), "byte"), c.MaxValue)
	}
	return nil
}
