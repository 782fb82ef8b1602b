package kv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// Config shapes a Map. Every rank gives the same.
type Config struct {
	// SlotsPerRank is how many slots each rank has at first: 1 to MaxSlots, rounded up to a
	// multiple of 8. A key takes one, also when it is deleted, until the table moves.
	SlotsPerRank uint64
	// MaxSlotsPerRank is how many slots each rank can have: SlotsPerRank to MaxSlots, rounded up
	// like SlotsPerRank. 0 means SlotsPerRank. Each time the table moves it may double, up to
	// this. Memory is reserved for twice as many slots.
	MaxSlotsPerRank uint64
	// BytesPerRank is the memory for items. Those of a rank hold what that rank puts, and what it
	// puts for others whose batches are shipped. With Auto it may put all of its own and be shipped
	// all keys of its slots, as each rank measures by itself. An item takes its key, its value and
	// 24 bytes, rounded up to 64 bytes times a power of two.
	BytesPerRank uint64
	// MaxKey and MaxValue are the longest key and value, in bytes: 1 to MaxSize, and 0 to
	// MaxSize.
	MaxKey, MaxValue int
	// Copies has slots of 32 bytes in place of 8, with copies of keys and values that are
	// together at most 16 bytes: they are found with one round trip.
	Copies bool
	// Chunk is how many slots a get brings: 0 means 64, or 16 with Copies.
	Chunk int
	// Depth is how many operations of a batch are in flight on a queue. 0 means 64. It may
	// differ between ranks.
	Depth int
	// Access is how batches reach memory that this process cannot address directly: see package
	// ship. Auto, the default, measures. It may differ between ranks.
	Access ship.Access
}

const (
	// MaxSize is the longest key, and the longest value.
	MaxSize = 1 << 16
	// MaxSlots is the maximum of slots of a rank.
	MaxSlots = 1 << 40
)

// Version identifies what was put under a key: each put gives another. 0 is the version of a key
// that is not there.
type Version uint64

// Map is a map of byte strings over the memory of all ranks. It is safe for concurrent use.
// Close is not to run beside other calls.
type Map struct {
	job    rma.Job
	cfg    Config
	slots  rma.Window // of two tables, one after the other
	items  rma.Window
	cells  *rma.Cells // of items
	arena  *arena
	ranks  uint64
	stride int // words of a slot
	chunk  int // slots of the first get of a search; later ones have more
	pool   core.Pool[*session]
	tally  *core.Counters[sums]

	control rma.Window
	states  *rma.Cells
	latest  atomic.Pointer[table]
	moves   progress
	direct  direct

	batches core.Batches
	room    atomic.Int64 // words for the value of a Get in an answer
	handler handler
}

// New makes an empty map. Collective: every rank calls it with the same Config.
func New(ctx context.Context, job rma.Job, cfg Config) (*Map, error) {
	copies := uint64(0)
	if cfg.Copies {
		copies = 1
	}
	fields := []rma.Field{{Name: "slots per rank", Value: cfg.SlotsPerRank},
		{Name: "maximum slots per rank", Value: cfg.MaxSlotsPerRank},
		{Name: "bytes per rank", Value: cfg.BytesPerRank},
		{Name: "bytes of the longest key", Value: uint64(cfg.MaxKey)},
		{Name: "bytes of the longest value", Value: uint64(cfg.MaxValue)},
		{Name: "slots with copies", Value: copies},
		{Name: "slots per chunk", Value: uint64(cfg.Chunk)}}
	err := rma.Agree(ctx, job, "kv", cfg.complete(job.Size()), fields...)
	if err != nil {
		return nil, err
	}
	m := &Map{job: job, cfg: cfg, ranks: uint64(job.Size()), stride: 1, chunk: cfg.Chunk,
		pool: core.Pool[*session]{Closed: errClosed}, tally: core.NewCounters[sums]()}
	if cfg.Copies {
		m.stride += copyWords
	}
	first := m.table(1, 0)
	m.latest.Store(&first)
	if err := m.allocate(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.findDirect()
	if err := m.openBatches(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// allocate makes the windows. Collective.
func (m *Map) allocate(ctx context.Context) (err error) {
	units := m.cfg.BytesPerRank / (8 * unitWords)
	windows := []struct {
		made *rma.Window
		spec rma.Spec
	}{{&m.slots, rma.Spec{Name: "kv: slots",
		Words: core.Segment(2*m.cfg.MaxSlotsPerRank, uint64(m.stride))}},
		{&m.items, rma.Spec{Name: "kv: items", Words: core.Segment(units, unitWords)}},
		{&m.control, rma.Spec{Name: "kv: control", Words: 1}}}
	for _, w := range windows {
		if *w.made, err = m.job.NewWindow(ctx, w.spec); err != nil {
			return err
		}
	}
	if m.cells, err = rma.NewCells(m.job, m.items); err != nil {
		return err
	}
	m.arena = newArena(m.cells, m.job.Rank(), units)
	m.states, err = rma.NewCells(m.job, m.control)
	return err
}

// complete checks a configuration and fills in the defaults.
func (c *Config) complete(ranks int) error {
	switch {
	case c.SlotsPerRank < 1 || c.SlotsPerRank > MaxSlots:
		return fmt.Errorf("kv: SlotsPerRank must be 1 to 2^40, not %d", c.SlotsPerRank)
	case c.MaxSlotsPerRank != 0 &&
		(c.MaxSlotsPerRank < c.SlotsPerRank || c.MaxSlotsPerRank > MaxSlots):
		return fmt.Errorf("kv: MaxSlotsPerRank must be 0, or %d (SlotsPerRank) to 2^40, not %d",
			c.SlotsPerRank, c.MaxSlotsPerRank)
	case c.MaxKey < 1 || c.MaxKey > MaxSize || c.MaxValue < 0 || c.MaxValue > MaxSize:
		return fmt.Errorf("kv: MaxKey %d must be 1 to %d, and MaxValue %d 0 to %d", c.MaxKey,
			MaxSize, c.MaxValue, MaxSize)
	case c.BytesPerRank/(8*unitWords) > (itemMask+1)/uint64(ranks):
		return fmt.Errorf("kv: %d bytes of items on each of %d ranks are more than the 2^38 "+
			"that can be numbered", c.BytesPerRank, ranks)
	case c.BytesPerRank < uint64(classWords(c.largest()))*8:
		return fmt.Errorf("kv: BytesPerRank must be at least %d, the largest item, not %d",
			classWords(c.largest())*8, c.BytesPerRank)
	case c.Chunk < 0 || c.Chunk > 1<<12:
		return fmt.Errorf("kv: Chunk must be 0 to 4096, not %d", c.Chunk)
	case c.Depth < 0 || c.Depth > 1<<16:
		return fmt.Errorf("kv: Depth must be 0 to 65536, not %d", c.Depth)
	}
	if c.Chunk == 0 {
		c.Chunk = 64
		if c.Copies {
			c.Chunk = 16
		}
	}
	if c.Depth == 0 {
		c.Depth = 64
	}
	if c.MaxSlotsPerRank == 0 {
		c.MaxSlotsPerRank = c.SlotsPerRank
	}
	c.SlotsPerRank = (c.SlotsPerRank + 7) / 8 * 8
	c.MaxSlotsPerRank = (c.MaxSlotsPerRank + 7) / 8 * 8
	return nil
}

// largest is the class of the largest item.
func (c *Config) largest() int { return classFor(itemWords(c.MaxKey, c.MaxValue)) }

// Config is the configuration in force, with the defaults filled in.
func (m *Map) Config() Config { return m.cfg }

// Slots is the number of slots of all ranks, in the latest table that this rank knows.
func (m *Map) Slots() uint64 {
	return m.latestTable().slots
}

// Close gives this rank's memory back. The other ranks keep theirs.
func (m *Map) Close() error {
	err := m.batches.Close() // first: requests of other ranks are being carried out
	m.direct.items, m.direct.flat = core.Regions{}, nil
	err = errors.Join(err, m.pool.Close())
	for _, c := range []*rma.Cells{m.cells, m.states} {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	for _, w := range []rma.Window{m.slots, m.items, m.control} {
		if w != nil {
			err = errors.Join(err, w.Close())
		}
	}
	return err
}

// FullError says that nothing can be put: no slot is free for a new key, the table cannot grow
// and few of its keys are deleted ones, or no item of this rank is free.
type FullError struct {
	Items bool   // no item is free; else no slot
	Slots uint64 // of all ranks
}

func (e *FullError) Error() string {
	if e.Items {
		return "kv: this rank has no free item of that size; make BytesPerRank larger"
	}
	return fmt.Sprintf("kv: all %d slots are taken, fewer than one of %d by deleted keys; "+
		"make SlotsPerRank or MaxSlotsPerRank larger", e.Slots, shareDivisor)
}

// Get appends the value of key to dst. ok is false when the key is not there.
func (m *Map) Get(key, dst []byte) (value []byte, v Version, ok bool, err error) {
	c := Call{Kind: Get, Key: key, Value: dst}
	err = m.one(&c)
	return c.Value, c.Version, c.Done, err
}

// Put stores a value under a key.
func (m *Map) Put(key, value []byte) (Version, error) {
	c := Call{Kind: Put, Key: key, Value: value}
	err := m.one(&c)
	return c.Version, err
}

// Delete removes a key, and reports whether it was there.
func (m *Map) Delete(key []byte) (bool, error) {
	c := Call{Kind: Delete, Key: key}
	err := m.one(&c)
	return c.Done, err
}

// PutIfAbsent stores a value under a key that is not there, and reports whether it did. The
// version is that of what is there now.
func (m *Map) PutIfAbsent(key, value []byte) (Version, bool, error) {
	c := Call{Kind: PutIfAbsent, Key: key, Value: value}
	err := m.one(&c)
	return c.Version, c.Done, err
}

// CompareAndPut stores a value under a key whose version is v, 0 for a key that is not there,
// and reports whether it did. The version returned is that of what is there now.
func (m *Map) CompareAndPut(key, value []byte, v Version) (Version, bool, error) {
	c := Call{Kind: CompareAndPut, Key: key, Value: value, Version: v}
	err := m.one(&c)
	return c.Version, c.Done, err
}

func (m *Map) one(c *Call) error {
	if err := m.cfg.check(c); err != nil {
		return err
	}
	if m.batches.Any && m.tryDirect(c) {
		return nil
	}
	calls := [1]Call{*c}
	m.queued(calls[:], nil) // it is not shipped, and has its error
	*c = calls[0]
	return c.Err
}
