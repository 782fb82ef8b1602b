package set

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/farhash/farhash/rma"
)

const (
	// growRun is how many buckets move at a time.
	growRun = 512
	// growAhead is how many elements are prefetched while as many are hashed.
	growAhead = maxHeldSlots
)

// Collect removes every word for which keep returns false: the garbage collection that
// OP leaves out. Each rank calls its keep for the words in its part of the table.
// Collective; no other call may run on any rank, and old and new table
// are in memory together for a while. When it fails the set is unchanged.
func (s *Set) Collect(ctx context.Context, keep func(word uint64) bool) error {
	return s.collect(ctx, func(bucket uint64) (bool, error) {
		return keep(bucket &^ occupied), nil
	})
}

// Collect removes every element for which keep returns false; see Set.Collect. References of the
// other elements remain valid. The bytes given to keep are valid until it returns, and must not be
// changed. Insertions use the slots of removed elements again. If elements have any length, the
// rank that removes them does so, and it keeps only the 1024 longest pieces.
func (b *Bytes) Collect(ctx context.Context, keep func(element []byte) bool) error {
	freed, err := b.collectElements(ctx, func(words []uint64) bool {
		return keep(b.bytesIn(words))
	})
	return b.giveBack(ctx, freed, err)
}

// CollectRefs is Collect by references, for elements of one length. No element is read to be
// judged. Each rank calls its keep for the elements in its part of the table, whose memory is of
// any rank.
func (b *Bytes) CollectRefs(ctx context.Context, keep func(ref Ref) bool) error {
	if b.isStrings() {
		return errors.New("set: CollectRefs is for elements of one length; use Collect")
	}
	var freed []Ref
	err := b.collect(ctx, func(bucket uint64) (bool, error) {
		ref := Ref(bucket & refMask)
		keeps := keep(ref)
		if !keeps {
			freed = append(freed, ref)
		}
		return keeps, nil
	})
	return b.giveBack(ctx, freed, err)
}

// giveBack has insertions use slots again that a collection has freed, or returns its error.
func (b *Bytes) giveBack(ctx context.Context, freed []Ref, err error) error {
	switch { // only now: no rank reads the old table any more
	case err != nil:
		return err
	case b.isStrings():
		b.arenas.joinFree(freed)
		return nil
	}
	return b.arenas.putFreed(ctx, freed)
}

// collectElements removes the elements for which keep is false, and returns their slots, of strings
// as runs.
func (s *anySet) collectElements(ctx context.Context, keep func(words []uint64) bool) (freed []Ref,
	err error) {
	err = s.collect(ctx, func(bucket uint64) (bool, error) {
		words, err := s.elementOf(bucket)
		if err != nil || keep(words) {
			return err == nil, err
		}
		slot := Ref(bucket & refMask)
		if s.isStrings() {
			slot = s.arenas.runOf(slot, len(words))
		}
		freed = append(freed, slot)
		return false, nil
	})
	return freed, err
}

// collect moves the buckets for which keep is true into a new table, and puts that in the place
// of the old one. Collective: when it returns every rank has.
func (s *anySet) collect(ctx context.Context, keep func(bucket uint64) (bool, error)) error {
	old := s.space
	if s.shared != nil {
		return errors.New("set: Collect needs a set that nobody else has open; copy what is to " +
			"stay into another one")
	}
	cfg, err := old.settledConfig(ctx)
	if err != nil {
		return err
	}
	sp, moved, err := old.rebuild(ctx, cfg, keep)
	if err != nil {
		return err
	}
	s.space = sp
	if err := sp.tally.restart(ctx, moved); err != nil {
		return err
	}
	if err := sp.job.Barrier(ctx); err != nil {
		return err
	}
	return old.close()
}

// settledConfig is the configuration with the buckets of the table that any rank has come to, the
// same on all ranks. Collective.
func (old *space) settledConfig(ctx context.Context) (BytesConfig, error) {
	if err := old.job.Barrier(ctx); err != nil {
		return old.cfg, err
	}
	cfg := old.cfg
	tables, err := old.inUse(ctx)
	if err == nil {
		cfg.Buckets = tables[len(tables)-1].buckets
	}
	return cfg, rma.AllSucceeded(ctx, old.job, "set: finding the latest table", err)
}

// rebuild makes a space of cfg and moves the buckets of old there that keep is true for. Each rank
// moves its own, and moved is how many these were. Collective.
func (old *space) rebuild(ctx context.Context, cfg BytesConfig,
	keep func(bucket uint64) (bool, error)) (sp *space, moved uint64, err error) {
	if sp, err = newSpace(ctx, old.items, cfg); err != nil {
		return nil, 0, err
	}
	moved, err = old.move(ctx, sp.oldest.Load(), keep)
	err = rma.AllSucceeded(ctx, sp.job, "set: moving to another table", err)
	if err == nil {
		err = sp.open(ctx, old)
	}
	if err != nil {
		return nil, 0, errors.Join(err, sp.close())
	}
	return sp, moved, nil
}

// move puts this rank's buckets of old into t, and returns how many these were.
func (old *space) move(ctx context.Context, t *table,
	keep func(bucket uint64) (bool, error)) (moved uint64, err error) {
	b := batch{t: t, insert: true, moves: true, results: make([]end, growRun)}
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
		keeps := false
		if err == nil {
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
func (sp *space) hashAll(b *batch) error {
	b.hashes = b.hashes[:0]
	sp.fetchOf(b.items[:min(growAhead, len(b.items))])
	for i, bucket := range b.items {
		if next := i + growAhead; i%growAhead == 0 && next < len(b.items) {
			sp.fetchOf(b.items[next:min(next+growAhead, len(b.items))])
		}
		hash, err := sp.hashOf(bucket)
		if err != nil {
			return err
		}
		b.hashes = append(b.hashes, hash)
	}
	return nil
}

// fetchOf prefetches the elements of at most growAhead buckets.
func (sp *space) fetchOf(buckets []uint64) {
	if sp.arenas == nil {
		return
	}
	var slots [growAhead]Ref
	n := 0
	for _, bucket := range buckets {
		if ref := Ref(bucket & refMask); sp.arenas.valid(ref) { // or hashOf reports it
			slots[n] = ref
			n++
		}
	}
	sp.arenas.fetch(slots[:n])
}

// insertBuckets finds or puts bucket words, by their hashes alone: each item has one bucket word.
func (b *batch) insertBuckets() error {
	t, remote := b.t, []int(nil)
	for i, bits := range b.items {
		r := beyond
		for at := t; r == beyond; {
			home := at.home(b.hashes[i])
			v := at.spanOf(home)
			if v == nil {
				r = unfinished
				break
			}
			r, _, _ = v.search(bits, home-v.first, true)
			runtime.KeepAlive(at)
			if r == beyond {
				next, err := at.next(true)
				if err != nil {
					return err
				}
				at = next
			}
		}
		switch r {
		case unfinished:
			remote = append(remote, i)
		case full:
			b.full++
		}
	}
	if len(remote) > 0 {
		if err := b.Queued(remote); err != nil {
			return err
		}
	}
	if b.full > 0 {
		return fmt.Errorf("set: %d buckets are too few for what the set holds", t.newest().buckets)
	}
	return nil
}
