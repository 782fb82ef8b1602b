package nessie

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// Config shapes a Table. Every rank gives the same; who makes the table sees to that.
type Config struct {
	SlotsPerRank     uint64 // at least 1, and 2 of all ranks
	ItemsPerRank     uint64 // at least 2, at most 2^32 of all ranks
	MaxKey, MaxValue int    // bytes
	// Attempts is how often an operation is tried before it returns a BusyError. 0 means 1000,
	// for which it pauses about a second.
	Attempts int
	// Literal follows NE 3 to the letter where it may be read in several ways: nothing is taken
	// back, a read checks nothing, empty slots have no version, and a migration takes any item.
	Literal bool
	// Transactions has the table use the protocol of NE 5.1, on engines whose ranks are goroutines
	// of one process. Both slots of a key are at one rank then, which needs 2 of them.
	Transactions bool
}

// ItemBytes is what an item takes of a rank's memory.
func (c Config) ItemBytes() int { return 8 * itemWords(c.MaxKey, c.MaxValue) }

// Table is a map of byte strings by NE's protocol. It is safe for concurrent use. Close is not
// to run beside other calls.
type Table struct {
	job   rma.Job
	cfg   Config
	slots rma.Window
	items rma.Window
	// shared has the slots where there are transactions. The window of the slots then only
	// takes the operations that stand for them. nil: no transactions.
	shared *sharedSlots
	cells  *rma.Cells
	arena  arena
	total  uint64 // slots of all ranks
	first  [kinds + 1]step
	pool   core.Pool[*session]
	tally  tally
}

var errClosed = errors.New("kv: the map is closed")

// New makes an empty table. Collective.
func New(ctx context.Context, job rma.Job, cfg Config) (*Table, error) {
	ranks := uint64(job.Size())
	switch {
	case cfg.Transactions && cfg.SlotsPerRank < 2:
		return nil, fmt.Errorf("kv: transactions need 2 slots on each rank, not %d",
			cfg.SlotsPerRank)
	case cfg.SlotsPerRank < 1 || cfg.SlotsPerRank*ranks < 2:
		return nil, fmt.Errorf("kv: protocol Paper needs at least 2 slots, not %d",
			cfg.SlotsPerRank*ranks)
	case cfg.ItemsPerRank < 2 || cfg.ItemsPerRank > (itemMask+1)/ranks:
		return nil, fmt.Errorf("kv: protocol Paper needs 2 to %d items on each of %d ranks, not %d",
			(itemMask+1)/ranks, ranks, cfg.ItemsPerRank)
	case cfg.Attempts < 0:
		return nil, fmt.Errorf("kv: Attempts must be at least 0, not %d", cfg.Attempts)
	case cfg.Attempts == 0:
		cfg.Attempts = 1000
	}
	t := &Table{job: job, cfg: cfg, total: cfg.SlotsPerRank * ranks, first: plain,
		pool: core.Pool[*session]{Closed: errClosed}}
	words := itemWords(cfg.MaxKey, cfg.MaxValue)
	var err error
	t.slots, err = job.NewWindow(ctx, rma.Spec{Name: "kv: index", Words: int(cfg.SlotsPerRank)})
	if err != nil {
		return nil, err
	}
	if cfg.Transactions {
		t.first = atOnce
		t.shared, err = shareSlots(ctx, job, t.slots, t.total, &sharing)
		if err != nil {
			return nil, errors.Join(err, t.slots.Close())
		}
	}
	t.items, err = job.NewWindow(ctx, rma.Spec{Name: "kv: items",
		Words: int(cfg.ItemsPerRank) * words})
	if err != nil {
		return nil, errors.Join(err, t.slots.Close())
	}
	if t.cells, err = rma.NewCells(job, t.items); err != nil {
		return nil, errors.Join(err, t.slots.Close(), t.items.Close())
	}
	t.arena = arena{cells: t.cells, first: uint64(job.Rank()) * cfg.ItemsPerRank,
		count: cfg.ItemsPerRank, words: words}
	return t, nil
}

// Slots is the number of slots of all ranks.
func (t *Table) Slots() uint64 { return t.total }

// Close gives this rank's memory back. The other ranks keep theirs.
func (t *Table) Close() error {
	return errors.Join(t.pool.Close(), t.cells.Close(), t.slots.Close(), t.items.Close())
}

// place is the rank and offset of a slot.
func (t *Table) place(slot uint64) (rank, off int) {
	return int(slot / t.cfg.SlotsPerRank), int(slot % t.cfg.SlotsPerRank)
}

// Index is the window of the slots.
func (t *Table) Index() rma.Window { return t.slots }

// Home is the rank that has the first slot of a key.
func (t *Table) Home(key []byte) int {
	p, _ := t.slotsOf(key)
	rank, _ := t.place(p)
	return rank
}

// FullError says that nothing can be written. NE has the server make the table larger; here
// nobody does.
type FullError struct {
	Items bool   // this rank has no free item; else the key's slots cannot be made free
	Slots uint64 // of all ranks
}

func (e *FullError) Error() string {
	if e.Items {
		return "kv: this rank has no free item; make BytesPerRank larger"
	}
	return fmt.Sprintf("kv: no chain of migrations makes room for the key in %d slots; with two "+
		"slots for a key half of them can be filled; make SlotsPerRank larger", e.Slots)
}

// BusyError says that an operation was given up, because other clients kept changing its slots
// or have left an item there that is not valid. A write may have taken effect.
type BusyError struct {
	Key      []byte
	Attempts int
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("kv: %d attempts at key %x have met changes of others, or an item that is "+
		"not valid; where its writer has died, delete the key", e.Attempts, e.Key)
}

// Read appends the value of key to dst. ok is false when the key is not there.
func (t *Table) Read(ctx context.Context, key, dst []byte) (value []byte, ok bool, err error) {
	err = t.with(ctx, Read, key, dst, func(o *op) { value, ok = o.value, o.found })
	return value, ok, err
}

// Write stores a value under a key.
func (t *Table) Write(ctx context.Context, key, value []byte) error {
	return t.with(ctx, Write, key, value, func(*op) {})
}

// Delete removes a key, and reports whether it has taken out an item of it: while the key is
// being migrated that says nothing.
func (t *Table) Delete(ctx context.Context, key []byte) (taken bool, err error) {
	err = t.with(ctx, Delete, key, nil, func(o *op) { taken = o.found })
	return taken, err
}
