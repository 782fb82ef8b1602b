package cache

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/internal/core"
)

// Check walks this rank's memory and reports what is broken: a bucket that fails its
// checksum, a key in a bucket that is none of its candidates or behind an empty one, a key
// that stands twice, a lock that is taken. Nothing may work on the cache meanwhile, on any
// rank. Every rank checks its own memory; nobody waits.
//
// A rank that was killed may leave a broken bucket or a lock. That is harmless: the next
// operation on the bucket or the lock repairs it. And ranks that have put a key at the same time
// may leave two copies, until the next put.
func (c *Cache) Check(ctx context.Context) error { return c.checkPart(ctx, c.job.Rank()) }

// CheckAll waits for all ranks, has every one Check, and reports to every one whether all were
// clean. Collective.
func (c *Cache) CheckAll(ctx context.Context) error {
	return core.CheckAll(ctx, c.job, "cache", c.Check)
}

// checkPart checks the memory of one rank.
func (c *Cache) checkPart(ctx context.Context, rank int) error {
	w, err := c.newWalker(rank)
	if err != nil {
		return err
	}
	defer w.r.Close()
	for b, err := range c.buckets(ctx, rank) {
		if err != nil {
			return err
		}
		if err := w.bucket(ctx, b); err != nil {
			return err
		}
	}
	if err := w.locks(ctx); err != nil {
		return err
	}
	return w.faults.Err()
}

// walker checks the buckets of a rank.
type walker struct {
	c      *Cache
	r      *core.Reader // of the way to a bucket, and of locks
	rank   int
	faults core.Faults
}

func (c *Cache) newWalker(rank int) (*walker, error) {
	r, err := c.newReader()
	return &walker{c, r, rank, core.Faults{Table: "cache"}}, err
}

func (w *walker) fault(b bucket, format string, args ...any) {
	where := fmt.Sprintf("rank %d, bucket %d: ", w.rank,
		b.group*uint64(w.c.cfg.GroupBuckets)+uint64(b.index))
	w.faults.Add(where+format, args...)
}

// bucket checks a bucket that is in use. The error is of reading, not of the table.
func (w *walker) bucket(ctx context.Context, b bucket) error {
	if !w.c.whole(b.words) {
		w.fault(b, "it fails its checksum")
		return nil
	}
	hash := hashKey(w.c.keyIn(b.words))
	if rank := w.c.rankOf(hash); rank != w.rank {
		w.fault(b, "its key belongs to rank %d", rank)
		return nil
	}
	// A search for the key has to come here, and to no other copy.
	s := search{c: w.c, kind: kindRemove, key: w.c.keyIn(b.words)}
	s.begin(hash)
	copies, here := 0, false
	for v := more; v != over; s.settled() {
		group := s.number
		words, err := w.c.readGroup(ctx, w.r, w.rank, group)
		if err != nil {
			return err
		}
		v = s.examine(words)
		for _, m := range s.marks[:s.n] {
			copies++
			here = here || group == b.group && m.bucket == b.index
		}
	}
	if !here {
		w.fault(b, "searches for its key do not come here")
	}
	if copies > 1 {
		w.fault(b, "its key stands in %d buckets", copies)
	}
	return nil
}

// locks checks that nobody holds a lock.
func (w *walker) locks(ctx context.Context) error {
	groups := w.c.groups
	switch w.c.cfg.Mode {
	case LockFree:
		return nil
	case Coarse:
		groups = 1
	}
	for group := range groups {
		words, err := w.r.Read(ctx, w.rank, w.c.lockOf(group), 1)
		if err != nil {
			return rankError(w.rank, err)
		}
		if word := words[0]; word%epochUnit != 0 {
			w.fault(bucket{group: group}, "a lock is held: %d readers, owner %d", word&readerMask,
				int(word&ownerMask>>ownerShift)-1)
		}
	}
	return nil
}
