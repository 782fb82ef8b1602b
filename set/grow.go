package set

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

const (
	// growRun is how many buckets move at a time.
	growRun = 512
	// growAhead is how many elements are prefetched while as many are hashed.
	growAhead = maxHeldSlots
)

// Grow moves the set into a table of the given number of buckets. Collective; no
// other call may run on any rank meanwhile. When it fails the set is unchanged.
func (s *Set) Grow(ctx context.Context, buckets uint64) error {
	return s.grow(ctx, buckets, 0)
}

// Grow moves the set into a table of the given number of buckets, and gives the
// arenas room for capacity elements in all (0: 15/16 of buckets). Elements keep their
// slots and references. Collective; no other call may run on any rank. When it
// fails the set is unchanged.
func (e *Elements) Grow(ctx context.Context, buckets, capacity uint64) error {
	return e.grow(ctx, buckets, capacity)
}

// grow moves the set into a table of so many buckets, and extends the arenas to capacity.
// Collective.
func (s *anySet) grow(ctx context.Context, buckets, capacity uint64) error {
	old := s.t
	cfg := old.cfg
	cfg.Buckets, cfg.Capacity = buckets, capacity
	cfg, err := cfg.agreed(ctx, old.job, nil)
	if err != nil {
		return err
	}
	if old.arenas != nil {
		if err := old.arenas.extend(ctx, cfg.capacity()); err != nil {
			return err
		}
	}
	t, _, err := old.rebuild(ctx, cfg, nil)
	if err != nil {
		return err
	}
	s.t = t
	return old.close()
}

// Collect removes every word for which keep returns false: the garbage collection that
// OP leaves out. Each rank calls its keep for the words in its part of the table.
// Collective; no other call may run on any rank, and old and new table
// are in memory together for a while. When it fails the set is unchanged.
func (s *Set) Collect(ctx context.Context, keep func(word uint64) bool) error {
	return s.collect(ctx, func(bucket uint64) (bool, error) {
		return keep(bucket &^ occupied), nil
	})
}

// Collect removes every element for which keep returns false; see Set.Collect. The slots
// of removed elements are used again. References of the other elements remain valid. The
// bytes given to keep are valid until it returns.
func (e *Elements) Collect(ctx context.Context, keep func(element []byte) bool) error {
	var freed []Ref
	err := e.collect(ctx, func(bucket uint64) (bool, error) {
		words, err := e.t.elementOf(bucket)
		if err != nil {
			return false, err
		}
		wanted := keep(bytesOf(words)[:e.t.size])
		if !wanted {
			freed = append(freed, Ref(bucket&refMask))
		}
		return wanted, nil
	})
	if err == nil {
		// Only now: no rank reads the old table any more.
		err = errors.Join(err, e.t.arenas.putFreed(ctx, freed))
	}
	return err
}

// collect moves the buckets for which keep is true into a new table, and puts that in the place
// of the old one. Collective: when it returns every rank has.
func (s *anySet) collect(ctx context.Context, keep func(bucket uint64) (bool, error)) error {
	old := s.t
	t, moved, err := old.rebuild(ctx, old.cfg, keep)
	if err != nil {
		return err
	}
	s.t = t
	if err := t.tally.restart(ctx, moved); err != nil {
		return err
	}
	if err := t.job.Barrier(ctx); err != nil {
		return err
	}
	return old.close()
}

// rebuild makes a table of cfg and moves the buckets of old there that keep is true for; nil keeps
// all. Each rank moves its own, and moved is how many these were. Collective.
func (old *table) rebuild(ctx context.Context, cfg ElementsConfig,
	keep func(bucket uint64) (bool, error)) (t *table, moved uint64, err error) {
	if t, err = newTable(ctx, old.items, cfg); err != nil {
		return nil, 0, err
	}
	moved, err = old.move(ctx, t, keep)
	err = rma.AllSucceeded(ctx, t.job, "set: moving to another table", err)
	if err == nil {
		err = t.open(ctx, old)
	}
	if err != nil {
		return nil, 0, errors.Join(err, t.close())
	}
	return t, moved, nil
}

// move puts this rank's buckets of old into t, and returns how many these were.
func (old *table) move(ctx context.Context, t *table,
	keep func(bucket uint64) (bool, error)) (moved uint64, err error) {
	b := batch{t: t, insert: true, results: make([]Result, growRun)}
	flush := func() error {
		moved += uint64(len(b.items))
		if err := old.hashAll(&b); err != nil {
			return err
		}
		err := b.insertBuckets()
		b.items = b.items[:0]
		return err
	}
	for s, err := range old.local(ctx) {
		keeps := err == nil
		if keeps && keep != nil {
			keeps, err = keep(s.bucket)
		}
		if err != nil {
			return 0, err
		}
		if !keeps {
			continue
		}
		if b.items = append(b.items, s.bucket); len(b.items) == growRun {
			if err := flush(); err != nil {
				return 0, err
			}
		}
	}
	err = flush()
	return moved, err
}

// hashAll stores the hashes of what the buckets of b hold. The elements are in no order in the
// arenas, so that each is a wait for memory unless it is prefetched.
func (t *table) hashAll(b *batch) error {
	b.hashes = b.hashes[:0]
	t.fetchOf(b.items[:min(growAhead, len(b.items))])
	for i, bucket := range b.items {
		if next := i + growAhead; i%growAhead == 0 && next < len(b.items) {
			t.fetchOf(b.items[next:min(next+growAhead, len(b.items))])
		}
		hash, err := t.hashOf(bucket)
		if err != nil {
			return err
		}
		b.hashes = append(b.hashes, hash)
	}
	return nil
}

// fetchOf prefetches the elements of at most growAhead buckets.
func (t *table) fetchOf(buckets []uint64) {
	if t.arenas == nil {
		return
	}
	var slots [growAhead]Ref
	n := 0
	for _, bucket := range buckets {
		if ref := Ref(bucket & refMask); t.arenas.valid(ref) { // or hashOf reports it
			slots[n] = ref
			n++
		}
	}
	t.arenas.fetch(slots[:n])
}

// insertBuckets inserts bucket words that are known to be different into a table that
// nobody searches yet.
func (b *batch) insertBuckets() error {
	t, remote := b.t, []int(nil)
	for i, bits := range b.items {
		home, r := t.home(b.hashes[i]), unfinished
		if v := t.spanOf(home); v != nil {
			var examined, lost uint64
			r, examined, lost = v.search(bits, home-v.first, true)
			b.count(r, examined, lost, t.directChunk)
		}
		if r == unfinished {
			remote = append(remote, i)
		}
	}
	if len(remote) > 0 {
		if err := b.Queued(remote); err != nil {
			return err
		}
	}
	if b.full > 0 {
		return fmt.Errorf("set: %d buckets are too few for what the set holds", t.buckets)
	}
	return nil
}

// newTable makes the buckets of a set. Collective.
func newTable(ctx context.Context, its items, cfg ElementsConfig) (*table, error) {
	c := uint64(cfg.firstChunk())
	t := &table{items: its, cfg: cfg, perRank: cfg.Buckets / uint64(its.job.Size()),
		buckets: cfg.Buckets, chunk: min(c, cfg.Buckets), unit: lineBuckets,
		sessions: core.Pool[*session]{Closed: errClosed}}
	t.limit = min(c*uint64(cfg.Chunks), t.buckets)
	if cfg.variant.WordHomes {
		t.unit = 1
	}
	t.units = t.buckets / t.unit
	var err error
	if t.kernel, err = chooseKernel(t); err != nil {
		return nil, err
	}
	t.window, err = t.job.NewWindow(ctx, rma.Spec{Name: "set: buckets", Words: int(t.perRank)})
	if err != nil {
		return nil, err
	}
	t.batches.Regions, t.batches.InOnePiece = core.NewRegions(t.window), true
	t.findSpans()
	t.directChunk = t.chunk
	if cfg.Chunk == 0 && t.flat == nil {
		t.auto, t.chunk = newAuto(), min(maxAutoChunk, cfg.Buckets)
	}
	return t, nil
}

// open prepares the table for operations. old is the table that this one replaces, or nil: what
// was measured for it holds here. Collective.
func (t *table) open(ctx context.Context, old *table) error {
	t.first = t.newFirstLine()
	cfg := core.Config{Access: t.cfg.Access, Closed: errClosed,
		Messages: 1.5, // a chunk, and where the word is new a swap
		Answer:   t.answer}
	if t.arenas != nil {
		cfg.Messages = 2.5 // an element as well
	}
	if old != nil {
		cfg.Like = &old.batches
	}
	return t.batches.Open(ctx, t.job, t.window, cfg)
}

// close gives back queues and buckets. A later call goes to the pool of sessions
// and finds it closed, before it can use memory that is unmapped.
func (t *table) close() error {
	err := t.batches.Close() // first: requests of other ranks are running
	t.flat, t.spans, t.first = nil, nil, firstLine{}
	return errors.Join(err, t.sessions.Close(), t.window.Close())
}
