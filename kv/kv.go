package kv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// Version identifies what was put under a key: each put gives another. 0 is the version of a key
// that is not there.
type Version uint64

// Map is a map of byte strings over the memory of all ranks. It is safe for concurrent use.
// Close is not to run beside other calls.
type Map struct {
	job    rma.Job
	cfg    Config
	ranks  uint64
	stride int // words of a slot
	chunk  int // slots of the first get of a search; later ones have more
	areas  uint64

	slots rma.Window // areas, one after the other
	// takeMemory takes the memory of slots; nil: all is taken.
	takeMemory func(rank, off, words int) error
	items      rma.Window
	cells      *rma.Cells // of items
	control    rma.Window
	states     *rma.Cells // of control

	latest atomic.Pointer[table] // in the states that this rank has read
	moves  progress
	// gradualSlots is how many slots a table has that moves a little at each call.
	gradualSlots uint64
	arena        *arena
	regions      core.Regions // of items
	flat         []uint64     // the items of all ranks, if they are in one piece
	pool         core.Pool[*session]
	tally        *core.Counters[Counts]

	batches core.Batches
	getNs   atomic.Int64 // what a get takes; 0: not known, or not yet, while others are answered
	chunkNs atomic.Int64 // what the fastest chunk has taken; 0: none has
	room    atomic.Int64 // words for the value of a Get in an answer
	served  []Call       // by answer, which makes one request at a time
	crowded crowdedTable // also of answer

	together atomic.Bool // this rank ships calls, or another one has shipped some to it

	shared     rma.Shared // the job of a map that was opened by name, else nil
	itemStates rma.Window // states of items, of a shared map
	fault      core.Fault
}

var errClosed = fmt.Errorf("kv: the map is %w", rma.ErrClosed)

// New makes an empty map. Collective: every rank calls it with the same Config.
func New(ctx context.Context, job rma.Job, cfg Config) (*Map, error) {
	if err := cfg.agree(ctx, job); err != nil {
		return nil, err
	}
	m := &Map{job: job, cfg: cfg, ranks: uint64(job.Size()), stride: 1, chunk: cfg.Chunk,
		pool: core.Pool[*session]{Closed: errClosed}, tally: core.NewCounters[Counts]()}
	if cfg.Copies {
		m.stride += copyWords
	}
	m.shared, _ = job.(rma.Shared)
	m.fault.Job = m.shared
	err := m.allocate(ctx)
	if err == nil && m.shared != nil && m.shared.Attached() {
		if _, err = m.state(ctx); err == nil {
			err = m.arena.checkCounts()
		}
	}
	if err == nil {
		m.findDirect()
		err = m.openBatches(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// allocate makes the windows, and takes memory for the first table. Collective.
func (m *Map) allocate(ctx context.Context) (err error) {
	units, reserve := m.cfg.Bytes/m.ranks/unitBytes, m.cfg.MaxBytes > 0
	m.areas = m.cfg.areas(reserve && rma.Reserves(m.job))
	m.latest.Store(m.table(1, newShape(0, 0)))
	type window struct {
		made *rma.Window
		spec rma.Spec
	}
	windows := []window{{&m.slots, rma.Spec{Name: "kv: slots", Reserve: reserve,
		Words: core.Segment(m.areas*m.cfg.MaxSlots/m.ranks, uint64(m.stride))}},
		{&m.items, rma.Spec{Name: "kv: items", Reserve: reserve,
			Words: core.Segment(units, unitWords)}},
		{&m.control, rma.Spec{Name: "kv: control", Words: holdsAt + m.holders()}}}
	if m.shared != nil {
		windows = append(windows, window{&m.itemStates, rma.Spec{Name: "kv: states of items",
			Reserve: reserve, Words: stateWords(units)}})
	}
	for _, w := range windows {
		if *w.made, err = m.job.NewWindow(ctx, w.spec); err != nil {
			return err
		}
	}
	if m.cells, err = rma.NewCells(m.job, m.items); err != nil {
		return err
	}
	if m.states, err = rma.NewCells(m.job, m.control); err != nil {
		return err
	}
	return rma.AllSucceeded(ctx, m.job, "kv: memory for a map", m.makeArena(units, reserve))
}

// makeArena makes the arena, of so many units. Where memory can be taken in parts, slots and items
// take it when they are needed, and the slots of this rank in the first table at once.
func (m *Map) makeArena(units uint64, reserve bool) (err error) {
	rank := m.job.Rank()
	slots, slotsInParts := m.slots.(rma.Committer)
	items, itemsInParts := m.items.(rma.Committer)
	if m.shared != nil {
		return m.makeSharedArena(units)
	}
	if !reserve || !slotsInParts || !itemsInParts || !rma.Reserves(m.job) {
		m.arena, err = newArena(m.cells, rank, units, nil)
		return err
	}
	m.takeMemory = slots.Commit
	m.arena, err = newArena(m.cells, rank, units, func(off, words int) error {
		return items.Commit(rank, off, words)
	})
	if err != nil {
		return err
	}
	t := m.latest.Load()
	return m.takeMemory(rank, int(t.offset*t.stride), int(t.perRank*t.stride))
}

// makeSharedArena is makeArena of a map that processes share. Memory that was taken before is not
// taken again: where all was, the first step of units takes it.
func (m *Map) makeSharedArena(units uint64) error {
	items, states := m.items.(rma.Committer), m.itemStates.(rma.Committer)
	m.takeMemory = m.slots.(rma.Committer).Commit
	m.arena = newSharedArena(m.cells, m.shared, units, m.itemStates.Words(0),
		m.control.Words(0)[lineSlots:], func(off, words int) error {
			unit, n := off/unitWords, words/unitWords
			return errors.Join(items.Commit(0, off, words),
				states.Commit(0, unit/2, stateWords(uint64(unit%2+n))))
		}, m.fault.Flag())
	if m.shared.Inherits() {
		m.adoptFrom(int(m.arena.member))
	}
	if t := m.latest.Load(); !m.shared.Attached() {
		return m.takeMemory(0, int(t.offset*t.stride), int(t.perRank*t.stride))
	}
	return nil
}

// Config is the configuration in force, with the defaults filled in.
func (m *Map) Config() Config { return m.cfg }

// Slots is the number of slots of all ranks, in the latest table that this rank knows.
func (m *Map) Slots() uint64 { return m.latest.Load().slots }

// Close gives this rank's memory back. The other ranks keep theirs.
func (m *Map) Close() error {
	err := m.batches.Close() // first: requests of other ranks are being answered
	m.regions, m.flat = core.Regions{}, nil
	m.latest.Store(m.table(m.latest.Load().gen, m.latest.Load().shape)) // without its memory
	// After a fault the memory may be gone.
	if m.shared != nil && m.fault.Err() == nil {
		_ = m.fault.Guard(func() error {
			m.arena.closeReserves()
			return nil
		})
	}
	err = errors.Join(err, m.pool.Close(), m.arena.close())
	for _, c := range []*rma.Cells{m.cells, m.states} {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	for _, w := range []rma.Window{m.slots, m.items, m.control, m.itemStates} {
		if w != nil {
			err = errors.Join(err, w.Close())
		}
	}
	if m.shared != nil {
		m.shared.Leaves(m.fault.Flag().Load() || m.arena == nil || m.arena.unswept())
		err = errors.Join(err, m.shared.Close())
	}
	return err
}

// FullError says that nothing can be put: no slot is free for a new key, the table cannot grow
// and few of its keys are deleted ones, or no item of this rank is free.
type FullError struct {
	Items    bool   // no item is free; else no slot
	Slots    uint64 // of all ranks
	MaxBytes uint64 // the memory that the map may take as it grows; 0: it has all of its memory
	Memory   error  // why there was no memory for more, which MaxBytes allows, or nil
}

func (e *FullError) Error() string {
	what, remedy := fmt.Sprintf("all %d slots are taken", e.Slots), "make Slots or MaxSlots larger"
	switch {
	case e.Items:
		what, remedy = "this rank has no free item of that size", "make Bytes larger"
	case e.Memory == nil:
		what += fmt.Sprintf(", fewer than one of %d by deleted keys", shareDivisor)
	}
	switch {
	case e.Memory != nil:
		remedy = fmt.Sprintf("MaxBytes is %d, but there is no memory left for it: %v; end "+
			"other programs or use more hosts", e.MaxBytes, e.Memory)
	case e.MaxBytes > 0:
		remedy = fmt.Sprintf("make MaxBytes larger (it is %d), or what else has set the size",
			e.MaxBytes)
	}
	return fmt.Sprintf("kv: %s; %s", what, remedy)
}

// Unwrap is why there was no memory.
func (e *FullError) Unwrap() error { return e.Memory }

// full is a FullError of this map.
func (m *Map) full(items bool, memory error) *FullError {
	return &FullError{Items: items, Slots: m.Slots(), MaxBytes: m.cfg.MaxBytes, Memory: memory}
}

// Get appends the value of key to dst. ok is false when the key is not there.
func (m *Map) Get(key, dst []byte) (value []byte, v Version, ok bool, err error) {
	if m.fault.Job != nil { // as in find: a call more would take a fiftieth of the time
		return m.getGuarded(key, dst, false)
	}
	return m.get(key, dst, false)
}

// find is Get. onStack says that key and dst may be on the stack of the caller.
func (m *Map) find(key, dst []byte, onStack bool) (value []byte, v Version, ok bool, err error) {
	if m.fault.Job != nil {
		return m.getGuarded(key, dst, onStack)
	}
	return m.get(key, dst, onStack)
}

// getGuarded is get in a map whose file may be cut off.
func (m *Map) getGuarded(key, dst []byte, onStack bool) (value []byte, v Version, ok bool,
	err error) {
	defer m.fault.Recover(core.CatchFaults(), &err)
	if err := m.fault.Err(); err != nil {
		return dst, 0, false, err
	}
	return m.get(key, dst, onStack)
}

// Put stores a value under a key.
func (m *Map) Put(key, value []byte) (Version, error) {
	c := Call{Kind: Put, Key: key, Value: value}
	err := m.one(&c, false)
	return c.Version, err
}

// Delete removes a key, and reports whether it was there.
func (m *Map) Delete(key []byte) (bool, error) {
	c := Call{Kind: Delete, Key: key}
	err := m.one(&c, false)
	return c.Done, err
}

// PutIfAbsent stores a value under a key that is not there, and reports whether it did. The
// version is of what is there now.
func (m *Map) PutIfAbsent(key, value []byte) (Version, bool, error) {
	c := Call{Kind: PutIfAbsent, Key: key, Value: value}
	err := m.one(&c, false)
	return c.Version, c.Done, err
}

// CompareAndPut stores a value under a key whose version is v, 0 for a key that is not there,
// and reports whether it did. The version returned is of what is there now.
func (m *Map) CompareAndPut(key, value []byte, v Version) (Version, bool, error) {
	c := Call{Kind: CompareAndPut, Key: key, Value: value, Version: v}
	err := m.one(&c, false)
	return c.Version, c.Done, err
}

// Add adds to the counter of a key, which is 0 where the key is not there, and returns the sum. A
// counter is a value of 8 bytes, a little-endian int64, which wraps around. So it is exact for
// numbers of type uint64 as well. If the value has another length it is not changed, and the error
// is a [CounterError]. After an error of the engine it may or may not have been added.
func (m *Map) Add(key []byte, delta int64) (sum int64, v Version, err error) {
	c := Call{Kind: Add, Key: key, Delta: delta}
	err = m.one(&c, false)
	return c.Sum, c.Version, err
}

// one makes a single call, which is not shipped: over memory, or else by a machine over a queue. If
// the key and the value may be on the stack the machine gets copies, as the stack may move
// meanwhile.
func (m *Map) one(c *Call, onStack bool) (err error) {
	if err := m.cfg.check(c); err != nil {
		return err
	}
	if m.fault.Job != nil {
		defer m.fault.Recover(core.CatchFaults(), &err)
		if err := m.fault.Err(); err != nil {
			return err
		}
	}
	if m.batches.Any && m.direct(c) {
		return c.Err
	}
	calls := [1]Call{*c}
	if onStack {
		calls[0].Key, calls[0].Value = bytes.Clone(c.Key), bytes.Clone(c.Value)
	}
	m.queued(calls[:], nil, false)
	*c = calls[0]
	return c.Err
}

// Batch makes calls, many of them at the same time and in any order. Calls of one batch on
// the same key take effect one after the other, in an unspecified order. They may be shipped to
// the ranks that have the keys, as [Config].Access says. The error is the first one of a call, or
// one that aborted the batch.
func (m *Map) Batch(calls []Call) error {
	for i := range calls {
		if err := m.cfg.check(&calls[i]); err != nil {
			return err
		}
	}
	b := batch{m: m, calls: calls}
	requests := rma.Stats{}
	err := m.fault.Guard(func() (err error) {
		requests, err = b.run()
		return err
	})
	if b.shipped {
		m.tally.Add(core.Stripe(), &Counts{Queues: requests})
		b.adaptRoom()
	}
	var first error
	for i := range calls {
		c := &calls[i]
		if err != nil && c.Err == errUnanswered {
			c.Err = fmt.Errorf("kv: %w", err)
		}
		if first == nil {
			first = c.Err
		}
	}
	return cmp.Or(first, err)
}

// Pair is a key and its value.
type Pair struct{ Key, Value []byte }

// All iterates over the keys of all ranks and their values, in no particular order. A key that is
// there from the beginning to the end comes once, with a value that it has had. A key that is put
// or deleted during the loop may come. The loop may keep the pairs, and call the map. All keeps 16
// bytes for each key that has come.
func (m *Map) All(ctx context.Context) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		visited := map[xxh3.Uint128]bool{} // hashes of keys, which are found again after a move
		for p, err := range m.pairs(ctx, (*walker).keys) {
			if err == nil {
				hash := xxh3.Hash128(p.Key)
				if visited[hash] {
					continue
				}
				visited[hash] = true
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// Local iterates over the keys in the slots of this rank, and their values, in no particular order.
// A key comes on one rank. Nobody may change the map on any rank before all have ended.
func (m *Map) Local(ctx context.Context) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		now, err := m.state(ctx)
		if err == nil && now.moving() { // a rank that died has left it so
			err = m.withSession(func(s *session) error { return s.finishMove(ctx, now) })
		}
		if err != nil {
			yield(Pair{}, err)
			return
		}
		m.pairs(ctx, func(w *walker) iter.Seq[slotRead] {
			t := m.latest.Load()
			begin := uint64(m.job.Rank()) * t.perRank
			return w.table(t, begin, begin+t.perRank)
		})(yield)
	}
}

// pairs iterates over the keys in the slots of a walker, and their values.
func (m *Map) pairs(ctx context.Context,
	slots func(w *walker) iter.Seq[slotRead]) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		more := true
		err := m.fault.Guard(func() error {
			w, err := m.walker(ctx)
			if err != nil {
				return err
			}
			defer w.close()
			for s := range slots(w) {
				p, there := w.pair(s)
				if there && w.err == nil {
					more = yield(p, nil)
				}
				if !more || w.err != nil {
					break
				}
			}
			return w.err
		})
		if err != nil && more {
			yield(Pair{}, err)
		}
	}
}

// Len counts the keys. It reads every slot, and every item if the table moves.
func (m *Map) Len(ctx context.Context) (keys uint64, err error) {
	first := m.latest.Load()
	taken, removedOnes, last, err := m.count(ctx, func(slotRead) {})
	if err != nil || first.gen == last.gen {
		return taken - removedOnes, err
	}
	for _, err := range m.All(ctx) {
		if err != nil {
			return 0, err
		}
		keys++
	}
	return keys, nil
}

// Used is the part of all slots that are taken, 0 to 1. A slot of a deleted key is taken too until
// the table moves. It reads every slot, and is approximate while the table moves.
func (m *Map) Used(ctx context.Context) (float64, error) {
	taken, _, last, err := m.count(ctx, func(slotRead) {})
	return min(1, float64(taken)/float64(last.slots)), err
}
