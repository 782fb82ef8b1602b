package cache

import (
	"context"
	"iter"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
)

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
	group uint64
	index int
	words []uint64
}

// buckets iterates over the buckets of a rank that are neither empty nor invalid.
func (c *Cache) buckets(ctx context.Context, rank int) iter.Seq2[bucket, error] {
	return func(yield func(bucket, error) bool) {
		r, err := c.newReader()
		if err != nil {
			yield(bucket{}, err)
			return
		}
		defer r.Close()
		for group := range c.groups {
			words, err := c.readGroup(ctx, r, rank, group)
			if err != nil {
				yield(bucket{}, err)
				return
			}
			for i := range c.cfg.GroupBuckets {
				b := words[i*c.bucketWords:][:c.bucketWords]
				if b[0] > invalid && !yield(bucket{group, i, b}, nil) {
					return
				}
			}
		}
	}
}

// whole reports whether a bucket holds what one writer wrote.
func (c *Cache) whole(b []uint64) bool {
	return sealOf(hashKey(c.keyIn(b)), c.valueIn(b)) == b[0]
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
	for _, err := range c.buckets(ctx, rank) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// All iterates over the keys and values of all ranks that are whole, in the order of buckets. They
// are the iterator's until it goes on. What is put meanwhile may be among them or not.
func (c *Cache) All(ctx context.Context) iter.Seq2[Pair, error] {
	return c.pairs(ctx, 0, c.job.Size())
}

// Local is All for this rank's memory.
func (c *Cache) Local(ctx context.Context) iter.Seq2[Pair, error] {
	return c.pairs(ctx, c.job.Rank(), c.job.Rank()+1)
}

func (c *Cache) pairs(ctx context.Context, rank, end int) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		for ; rank < end; rank++ {
			for b, err := range c.buckets(ctx, rank) {
				if err != nil {
					yield(Pair{}, err)
					return
				}
				key, value := bytesOf(c.keyIn(b.words)), bytesOf(c.valueIn(b.words))
				if c.whole(b.words) &&
					!yield(Pair{key[:c.cfg.KeySize], value[:c.cfg.ValueSize]}, nil) {
					return
				}
			}
		}
	}
}

// Pair is a key and its value.
type Pair struct{ Key, Value []byte }

// bytesOf is the memory of words as bytes.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}
