package cache

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// A key is in the bucket that Locate names, as read from the memory there.
func TestLocate(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, cfg Config) {
		cfg.KeySize, cfg.ValueSize, cfg.Buckets = 13, 8, 3*64
		must(t, e.Run(3, func(job rma.Job) error {
			ctx := context.Background()
			c, err := New(ctx, job, cfg)
			if err != nil {
				return err
			}
			if job.Rank() == 1 {
				if err := locateAll(job, c); err != nil {
					return err
				}
			}
			return job.Barrier(ctx)
		}))
	})
}

func locateAll(job rma.Job, c *Cache) error {
	q, err := job.NewQueue(1)
	if err != nil {
		return err
	}
	defer q.Close()
	buf, err := q.Alloc(c.bucketWords)
	if err != nil {
		return err
	}
	ranks, later := map[int]bool{}, false
	for i := range 100 {
		key := fmt.Appendf(nil, "key %09d", i)
		if _, _, found, err := c.Locate(key); found || err != nil {
			return fmt.Errorf("before it was put: %v, %v", found, err)
		}
		if _, err := c.Put(key, []byte("12345678")); err != nil {
			return err
		}
		rank, bucket, found, err := c.Locate(key)
		if !found || err != nil {
			return fmt.Errorf("after it was put: %v, %v", found, err)
		}
		group := uint64(c.cfg.GroupBuckets)
		h := q.Get(buf, c.window, rank,
			c.offset(bucket/group)+int(bucket%group)*c.bucketWords)
		if err := rma.Run(context.Background(), q, &getOnce{h: h}); err != nil {
			return err
		}
		if there := core.BytesOf(c.keyIn(buf))[:len(key)]; !bytes.Equal(there, key) {
			return fmt.Errorf("%q is said to be in rank %d, bucket %d, where %q is", key, rank,
				bucket, there)
		}
		ranks[rank] = true
		number, _ := c.group(hashKey(wordsFor(key)), 0)
		later = later || bucket/group != number
	}
	if len(ranks) < 3 || !later {
		return fmt.Errorf("the test has keys on ranks %v, beyond their first group %v", ranks,
			later)
	}
	if _, _, _, err := c.Locate([]byte("short")); err == nil {
		return fmt.Errorf("a short key was accepted")
	}
	return nil
}

// wordsFor is a key in whole words.
func wordsFor(key []byte) []uint64 {
	words := make([]uint64, core.WordsOf(len(key)))
	copy(core.BytesOf(words), key)
	return words
}

// getOnce waits for one get.
type getOnce struct {
	h       rma.Handle
	started bool
}

func (g *getOnce) Step(q rma.Queue) (rma.Handle, error) {
	if !g.started || !q.Done(g.h) {
		g.started = true
		return g.h, nil
	}
	_, err := q.Value(g.h)
	return rma.NoHandle, err
}
