package cache

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/rma"
)

// reader reads groups of buckets one after the other, from memory where it can.
type reader struct {
	t   *table
	q   rma.Queue
	buf rma.Buf

	rank, off int
	get       rma.Handle // in flight; NoHandle: none
}

func (t *table) newReader() (*reader, error) {
	r := &reader{t: t, get: rma.NoHandle}
	if t.all {
		r.buf = make(rma.Buf, t.groupBuckets*t.bucketWords)
		return r, nil
	}
	err := t.sessions.Open()
	if err != nil {
		return nil, err
	}
	if r.q, err = t.job.NewQueue(1); err != nil {
		return nil, err
	}
	if r.buf, err = r.q.Alloc(t.groupBuckets * t.bucketWords); err != nil {
		return nil, errors.Join(err, r.q.Close())
	}
	return r, nil
}

// read returns the buckets of a group. They are the reader's until its next read.
func (r *reader) read(ctx context.Context, rank int, group uint64) ([]uint64, error) {
	off := r.t.offset(group)
	if memory := r.t.memory[rank]; memory != nil {
		loadWords(r.buf, memory[off:][:len(r.buf)])
		return r.buf, ctx.Err()
	}
	r.rank, r.off = rank, off
	return r.buf, rma.Run(ctx, r.q, r)
}

// Step gets the group.
func (r *reader) Step(q rma.Queue) (rma.Handle, error) {
	h := r.get
	if h == rma.NoHandle {
		r.get = q.Get(r.buf, r.t.window, r.rank, r.off)
		return r.get, nil
	}
	r.get = rma.NoHandle
	_, err := q.Value(h)
	return rma.NoHandle, err
}

func (r *reader) close() {
	if r.q != nil {
		_ = r.q.Close()
	}
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
		defer r.close()
		for group := range t.groups {
			words, err := r.read(ctx, rank, group)
			if err != nil {
				yield(bucket{}, rankError(rank, err))
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
	if c.t.memory[c.job.Rank()] == nil {
		for _, err := range c.t.buckets(ctx, c.job.Rank()) {
			if err != nil {
				return 0, err
			}
			n++
		}
		return n, nil
	}
	for group := range c.t.groups {
		for i := range c.t.groupBuckets {
			if atomic.LoadUint64(&c.t.bucketAt(c.job.Rank(), group, i)[0]) > invalid {
				n++
			}
		}
	}
	return n, ctx.Err()
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
