package cache

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
)

// PutLocated is Put, and reports where the pair is, as Locate does. It stays in that bucket until
// it is evicted, deleted or cleared; a later Put of the key changes the value there.
func (c *Cache) PutLocated(key, value []byte) (r Result, rank int, bucket uint64, err error) {
	if err := c.check(key, value); err != nil {
		return 0, 0, 0, err
	}
	s, err := c.one(kindPut, key, value)
	return s.result, s.rank, s.bucket, err
}

// GetAt reads what is in a bucket of a rank, as Locate and PutLocated name it: if it holds a pair,
// GetAt copies it and returns true. It may be another pair than was there before, so compare the
// key. key has KeySize bytes, value ValueSize. It is not counted.
func (c *Cache) GetAt(rank int, bucket uint64, key, value []byte) (bool, error) {
	if err := c.check(key, value); err != nil {
		return false, err
	}
	if rank < 0 || rank >= c.ranks || bucket >= c.cfg.BucketsPerRank {
		return false, fmt.Errorf("cache: there is no bucket %d of rank %d: there are %d ranks "+
			"with %d buckets each", bucket, rank, c.ranks, c.cfg.BucketsPerRank)
	}
	group := uint64(c.cfg.GroupBuckets)
	v := visit{c: c, rank: rank, off: c.bucketOffset(bucket/group, int(bucket%group))}
	if c.batches.At(rank) != nil {
		v.readDirect()
	} else if err := v.readQueued(); err != nil {
		return false, err
	}
	if v.found {
		copy(key, bytesOf(c.keyIn(v.words)))
		copy(value, bytesOf(c.valueIn(v.words)))
	}
	return v.found, nil
}

// visit reads one bucket, again where it is torn. It is a step machine.
type visit struct {
	c         *Cache
	rank, off int
	words     []uint64 // a copy of the bucket
	found     bool
	tries     int
	get       rma.Handle
	begun     bool
}

// done examines the copy, and reports whether it need not be read again.
func (v *visit) done() bool {
	v.found = v.words[0] > invalid && v.c.whole(v.words)
	v.tries++
	return v.found || v.words[0] <= invalid || v.tries > v.c.cfg.Retries
}

func (v *visit) readDirect() {
	shared := v.c.batches.Segments[v.rank][v.off:][:v.c.bucketWords]
	v.words = make([]uint64, v.c.bucketWords)
	for more := true; more; more = !v.done() {
		memory.LoadWords(v.words, shared)
	}
}

func (v *visit) readQueued() error {
	s, err := v.c.session()
	if err != nil {
		return err
	}
	buf := s.ops[0].in[:v.c.bucketWords]
	v.words = buf
	err = rma.Run(context.Background(), s.q, v)
	v.words = append([]uint64(nil), buf...)
	v.c.sessions.Give(s, err != nil)
	return err
}

// Step posts the get, and again until the bucket is whole or is given up.
func (v *visit) Step(q rma.Queue) (rma.Handle, error) {
	if v.begun {
		if !q.Done(v.get) {
			return v.get, nil
		}
		if _, err := q.Value(v.get); err != nil {
			return rma.NoHandle, rankError(v.rank, err)
		}
		if v.done() {
			return rma.NoHandle, nil
		}
	}
	v.begun = true
	v.get = q.Get(v.words, v.c.window, v.rank, v.off)
	return v.get, nil
}
