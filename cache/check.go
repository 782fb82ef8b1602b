package cache

import (
	"context"
	"fmt"
	"iter"

	"github.com/farhash/farhash/internal/core"
)

// Check walks this rank's memory and reports what is broken: a bucket that fails its
// checksum, a key in a bucket that is none of its candidates or after an empty one, a key
// that stands twice, a lock that is taken. Pairs that have expired are no fault. Nothing else may
// work on the cache, on any rank, except on a cache opened by name, where only what several walks
// find is reported. Every rank checks its own memory; nobody waits.
//
// A rank that was killed may leave a broken bucket or a lock. That is harmless: the next
// operation on the bucket or the lock repairs it. And ranks that have put a key at the same time
// may leave two copies, until the next put.
func (c *Cache) Check(ctx context.Context) error {
	if c.shared == nil {
		return c.checkPart(ctx, c.job.Rank())
	}
	return core.CheckBeside(func() error {
		return c.fault.Guard(func() error { return c.checkPart(ctx, 0) })
	})
}

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
	for b, err := range c.buckets(ctx, rank, 0) { // expired ones too
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
	where := fmt.Sprintf("rank %d, bucket %d: ", w.rank, w.c.bucketNumber(b.at))
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
	s.address(hash)
	copies, here := 0, false
	for v := more; v != over; s.expect = 0 {
		words, err := w.c.readGroup(ctx, w.r, w.rank, s.group)
		if err != nil {
			return err
		}
		if v = s.examine(words); s.expect != 0 {
			copies++
			here = here || s.marked == b.at
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
			w.fault(bucket{at: w.c.offset(group)}, "a lock is held: %d readers, owner %d",
				word&readerMask, int(word&ownerMask>>ownerShift)-1)
		}
	}
	return nil
}

// newReader reads groups of buckets.
func (c *Cache) newReader() (*core.Reader, error) {
	if err := c.sessions.Open(); err != nil {
		return nil, err
	}
	return core.NewReader(c.job, c.window, &c.batches.Regions, c.cfg.GroupBuckets*c.bucketWords)
}

// readGroup returns the buckets of a group. They are the reader's until its next read.
func (c *Cache) readGroup(ctx context.Context, r *core.Reader, rank int, group uint64) ([]uint64,
	error) {
	words, err := r.Read(ctx, rank, c.offset(group), c.cfg.GroupBuckets*c.bucketWords)
	if err != nil {
		err = rankError(rank, err)
	}
	return words, err
}

// bucket is a place in the memory of a rank, with what stands there.
type bucket struct {
	at    int
	words []uint64
}

// buckets iterates over the buckets of a rank that have a pair which is not expired.
func (c *Cache) buckets(ctx context.Context, rank int, now uint64) iter.Seq2[bucket, error] {
	return func(yield func(bucket, error) bool) {
		more := true
		err := c.fault.Guard(func() error {
			r, err := c.newReader()
			if err != nil {
				return err
			}
			defer r.Close()
			for group := range c.groups {
				words, err := c.readGroup(ctx, r, rank, group)
				if err != nil {
					return err
				}
				for i := range c.cfg.GroupBuckets {
					b := words[i*c.bucketWords:][:c.bucketWords]
					if c.holds(b, now) {
						more = yield(bucket{c.bucketOffset(group, i), b}, nil)
					}
					if !more {
						return nil
					}
				}
			}
			return nil
		})
		if err != nil && more {
			yield(bucket{}, err)
		}
	}
}

// Len counts the buckets of all ranks that hold a key. It reads all of them.
func (c *Cache) Len(ctx context.Context) (n uint64, err error) {
	for rank := range c.job.Size() {
		of, err := c.occupied(ctx, rank)
		if err != nil {
			return 0, err
		}
		n += of
	}
	return n, nil
}

// occupied counts the buckets of a rank that hold a key.
func (c *Cache) occupied(ctx context.Context, rank int) (n uint64, err error) {
	for _, err := range c.buckets(ctx, rank, c.now()) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// All iterates over the keys and values of all ranks that are whole, in the order of buckets. They
// are the iterator's until it continues. What is put at the same time may be among them or not.
func (c *Cache) All(ctx context.Context) iter.Seq2[Pair, error] {
	return c.pairs(ctx, 0, c.job.Size())
}

// Local is All for this rank's memory.
func (c *Cache) Local(ctx context.Context) iter.Seq2[Pair, error] {
	return c.pairs(ctx, c.job.Rank(), c.job.Rank()+1)
}

func (c *Cache) pairs(ctx context.Context, rank, end int) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		for of := rank; of < end; of++ {
			for b, err := range c.buckets(ctx, of, c.now()) {
				if err != nil {
					yield(Pair{}, err)
					return
				}
				key, value := core.BytesOf(c.keyIn(b.words)), core.BytesOf(c.valueIn(b.words))
				if c.whole(b.words) &&
					!yield(Pair{key[:c.cfg.KeySize], value[:c.cfg.ValueSize],
						c.expiryIn(b.words)}, nil) {
					return
				}
			}
		}
	}
}

// Pair is a key and its value.
type Pair struct {
	Key, Value []byte
	expiry     uint64
}

// usedSample is how many groups Used examines.
const usedSample = 1 << 12

// Used is the part of all buckets that hold a key, 0 to 1. It examines a sample of the groups of
// all ranks, or all where there are few: the answer is off by some thousandths.
func (c *Cache) Used(ctx context.Context) (float64, error) {
	r, err := c.newReader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	now, used, of, all := c.now(), 0, 0, c.groups*uint64(c.ranks)
	for group := uint64(0); group < all; group += max(1, all/usedSample) {
		var words []uint64
		err := c.fault.Guard(func() (err error) {
			words, err = c.readGroup(ctx, r, int(group/c.groups), group%c.groups)
			return err
		})
		if err != nil {
			return 0, err
		}
		for i := range c.cfg.GroupBuckets {
			if of++; c.holds(words[i*c.bucketWords:], now) {
				used++
			}
		}
	}
	return float64(used) / float64(of), nil
}
