package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// Protocol says how the map works.
type Protocol int

const (
	// Default is the protocol of this package: see the package comment.
	Default Protocol = iota
)

// Config shapes a Map. Every rank gives the same.
type Config struct {
	// SlotsPerRank is rounded up to a multiple of 8: 1 to MaxSlots. A key takes one for good,
	// also when it is deleted.
	SlotsPerRank uint64
	// BytesPerRank is the memory for items: those of a rank hold what that rank puts. An item
	// takes its key and value, 24 bytes, and is rounded up to 64 bytes times a power of two.
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
	// Protocol is Default.
	Protocol Protocol
}

const (
	// MaxSize is the longest key, and the longest value.
	MaxSize = 1 << 16
	// MaxSlots is the most that a rank can have.
	MaxSlots = 1 << 40
)

// Version names what was put under a key: each put gives another. 0 is the version of a key
// that is not there.
type Version uint64

// Map is a map of byte strings over the memory of all ranks. It is safe for concurrent use.
// Close is not to run beside other calls.
type Map struct {
	job    rma.Job
	cfg    Config
	slots  rma.Window
	items  rma.Window
	cells  *rma.Cells
	arena  arena
	ranks  uint64
	total  uint64 // slots of all ranks
	stride int    // words of a slot
	pool   rma.Pool[*session]
	tally  tally
}

// New makes an empty map. Collective: every rank calls it with the same Config.
func New(ctx context.Context, job rma.Job, cfg Config) (*Map, error) {
	copies := uint64(0)
	if cfg.Copies {
		copies = 1
	}
	err := rma.Agree(ctx, job, "kv",
		rma.Field{Name: "slots per rank", Value: cfg.SlotsPerRank},
		rma.Field{Name: "bytes per rank", Value: cfg.BytesPerRank},
		rma.Field{Name: "bytes of the longest key", Value: uint64(cfg.MaxKey)},
		rma.Field{Name: "bytes of the longest value", Value: uint64(cfg.MaxValue)},
		rma.Field{Name: "slots with copies", Value: copies},
		rma.Field{Name: "slots per chunk", Value: uint64(cfg.Chunk)},
		rma.Field{Name: "protocols", Value: uint64(cfg.Protocol)})
	if err == nil {
		err = cfg.complete(job.Size())
	}
	if err != nil {
		return nil, err
	}
	m := &Map{job: job, cfg: cfg, ranks: uint64(job.Size()), stride: 1,
		pool: rma.Pool[*session]{Closed: errClosed}}
	if cfg.Copies {
		m.stride += copyWords
	}
	m.total = cfg.SlotsPerRank * m.ranks
	words := int(cfg.SlotsPerRank) * m.stride
	if m.slots, err = job.NewWindow(ctx, rma.Spec{Name: "kv: slots", Words: words}); err != nil {
		return nil, err
	}
	units := cfg.BytesPerRank / (8 * unitWords)
	m.items, err = job.NewWindow(ctx, rma.Spec{Name: "kv: items", Words: int(units) * unitWords})
	if err != nil {
		return nil, errors.Join(err, m.slots.Close())
	}
	if m.cells, err = rma.NewCells(job, m.items); err != nil {
		return nil, errors.Join(err, m.slots.Close(), m.items.Close())
	}
	first := uint64(job.Rank()) * units
	m.arena = arena{window: m.items, cells: m.cells, first: first, units: units}
	return m, nil
}

// complete checks a configuration and fills in what is left to it.
func (c *Config) complete(ranks int) error {
	switch {
	case c.SlotsPerRank < 1 || c.SlotsPerRank > MaxSlots:
		return fmt.Errorf("kv: SlotsPerRank must be 1 to 2^40, not %d", c.SlotsPerRank)
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
	case c.Protocol != Default:
		return fmt.Errorf("kv: Protocol must be Default, not %d", c.Protocol)
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
	c.SlotsPerRank = (c.SlotsPerRank + 7) / 8 * 8
	return nil
}

// largest is the class of the largest item.
func (c *Config) largest() int { return classFor(itemWords(c.MaxKey, c.MaxValue)) }

// Config is the configuration in force, with what was left to the map filled in.
func (m *Map) Config() Config { return m.cfg }

// Slots is the number of slots of all ranks.
func (m *Map) Slots() uint64 { return m.total }

// Close gives this rank's memory back. The other ranks keep theirs.
func (m *Map) Close() error {
	return errors.Join(m.pool.Close(), m.cells.Close(), m.slots.Close(), m.items.Close())
}

// FullError says that nothing can be put: no slot is free for a new key, or no item of this
// rank.
type FullError struct {
	Items bool   // no item is free; else no slot
	Slots uint64 // of all ranks
}

func (e *FullError) Error() string {
	if e.Items {
		return "kv: this rank has no free item of that size; make BytesPerRank larger"
	}
	return fmt.Sprintf("kv: all %d slots are taken by keys, deleted ones included; "+
		"make SlotsPerRank larger", e.Slots)
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
	calls := [1]Call{*c}
	err := m.Batch(calls[:])
	*c = calls[0]
	return err
}
