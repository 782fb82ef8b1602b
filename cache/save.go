package cache

import (
	"context"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
)

// Save writes the keys and values that are whole to a file, in a form that is loaded
// with any number of ranks and buckets, any mode and any addressing. The ranks write it
// together: path must mean the same file on each. It replaces what was there only when
// it is complete. Collective. What is put or deleted at the same time may or may not be in it.
func (c *Cache) Save(ctx context.Context, path string) error {
	record := make([]byte, 0, c.cfg.KeySize+c.cfg.ValueSize)
	return archive.SaveTable(ctx, c.job, path, c.contents(), func(yield func([]byte, error) bool) {
		for p, err := range c.Local(ctx) {
			if !yield(append(append(record, p.Key...), p.Value...), err) || err != nil {
				return
			}
		}
	})
}

func (c *Cache) contents() archive.Contents {
	return archive.Contents{Kind: "farhash cache", KeyBytes: c.cfg.KeySize,
		ValueBytes: c.cfg.ValueSize}
}

// Load puts what a file holds that Save has written, with the same sizes of keys and values.
// As always keys are evicted where there are too many. A truncated, foreign or corrupt
// file is refused on every rank, and the cache is as it was. Collective.
func (c *Cache) Load(ctx context.Context, path string) error {
	l, err := archive.LoadTable(ctx, c.job, path, c.contents(),
		archive.Fixed(c.cfg.KeySize+c.cfg.ValueSize))
	if err != nil {
		return err
	}
	defer l.Close()
	err = l.Each(ctx, 0, c.putRecords)
	return rma.AllSucceeded(ctx, c.job, "cache: loading "+path, err)
}

// putRecords puts the records of a block.
func (c *Cache) putRecords(payload []byte) error {
	size := c.cfg.KeySize + c.cfg.ValueSize
	n := len(payload) / size
	keys, values := make([]byte, 0, n*c.cfg.KeySize), make([]byte, 0, n*c.cfg.ValueSize)
	for i := range n {
		record := payload[i*size : (i+1)*size]
		keys = append(keys, record[:c.cfg.KeySize]...)
		values = append(values, record[c.cfg.KeySize:]...)
	}
	return c.PutBatch(keys, values, make([]Result, n))
}

// Clear empties the cache. Collective, and nothing else may work on the cache, except on one opened
// by name: what others put at the same time stays or not. The statistics go on.
func (c *Cache) Clear(ctx context.Context) error {
	if err := c.job.Barrier(ctx); err != nil { // calls that came before have ended on all ranks
		return err
	}
	err := c.guard(func() error { return c.clearOwn(ctx) })
	return rma.AllSucceeded(ctx, c.job, "cache: clearing", err)
}

// clearOwn empties the buckets of this rank. Locks stay as they are.
func (c *Cache) clearOwn(ctx context.Context) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	own, zeros := c.batches.Here(c.job.Rank()), s.ops[0].in
	clear(zeros)
	for i := 0; c.shared != nil && i < len(zeros); i += c.bucketWords {
		zeros[i] = invalid // a put may be under way that has seen no empty bucket before its own
	}
	for group := uint64(0); group < c.groups && err == nil; group++ {
		if own != nil {
			memory.StoreWords(own[c.offset(group):], zeros)
			continue
		}
		err = s.await(ctx, s.q.Put(zeros, c.window, c.job.Rank(), c.offset(group)))
	}
	c.sessions.Give(s, err != nil)
	return err
}
