package cache

import (
	"context"
	"iter"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
)

// newReader reads groups of buckets.
func (t *table) newReader() (*core.Reader, error) {
	if err := t.sessions.Open(); err != nil {
		return nil, err
	}
	return core.NewReader(t.job, t.window, &t.batches.Regions, t.groupBuckets*t.bucketWords)
}

// readGroup returns the buckets of a group. They are the reader's until its next read.
func (t *table) readGroup(ctx context.Context, r *core.Reader, rank int, group uint64) ([]uint64,
	error) {
	words, err := r.Read(ctx, rank, t.offset(group), t.groupBuckets*t.bucketWords)
	if err != nil {
		err = rankError(rank, err)
	}
	return words, err
}

// bucket is a place with what stands there.
type bucket struct {
	rank  int
	group uint64
	index int
	words []uint64
}

// buckets iterates over the buckets of a rank that are neither empty nor invalid.
func (t *table) buckets(ctx context.Context, rank int) iter.Seq2[bucket, error] {
	return func(yield func(bucket, error) bool) {
		r, err := t.newReader()
		if err != nil {
			yield(bucket{}, err)
			return
		}
		defer r.Close()
		for group := range t.groups {
			words, err := t.readGroup(ctx, r, rank, group)
			if err != nil {
				yield(bucket{}, err)
				return
			}
			for i := range t.groupBuckets {
				b := words[i*t.bucketWords:][:t.bucketWords]
				if b[0] > invalid && !yield(bucket{rank, group, i, b}, nil) {
					return
				}
			}
		}
	}
}

// whole reports whether a bucket holds what one writer wrote.
func (t *table) whole(b []uint64) bool {
	return sealOf(hashKey(t.keyIn(b)), t.valueIn(b)) == b[0]
}

// Occupied counts the buckets in this rank's memory that hold a key. It walks through them.
func (c *Cache) Occupied(ctx context.Context) (uint64, error) {
	n := uint64(0)
	for _, err := range c.t.buckets(ctx, c.job.Rank()) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// Local iterates over the keys and values in this rank's memory that are whole, in the
// order of buckets. They are the iterator's until it goes on. What is put meanwhile may or
// may not be seen.
func (c *Cache) Local(ctx context.Context) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		for b, err := range c.t.buckets(ctx, c.job.Rank()) {
			if err != nil {
				yield(Pair{}, err)
				return
			}
			if c.t.whole(b.words) && !yield(c.pairIn(b.words), nil) {
				return
			}
		}
	}
}

// Pair is a key and its value.
type Pair struct{ Key, Value []byte }

func (c *Cache) pairIn(b []uint64) Pair {
	return Pair{bytesOf(c.t.keyIn(b))[:c.cfg.KeySize], bytesOf(c.t.valueIn(b))[:c.cfg.ValueSize]}
}

// bytesOf is the memory of words as bytes.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}
