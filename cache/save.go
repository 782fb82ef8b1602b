package cache

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// Save writes the keys and values that are whole to a file, and when they expire, in a form that
// is loaded with any number of ranks and buckets, any mode, addressing and TTL. The ranks write it
// together: path must mean the same file on each. It replaces what was there only when
// it is complete. Collective. What is put or deleted at the same time may or may not be in it.
func (c *Cache) Save(ctx context.Context, path string) error {
	record := make([]byte, 0, c.contents().RecordBytes())
	return archive.SaveTable(ctx, c.job, path, c.contents(), func(yield func([]byte, error) bool) {
		for p, err := range c.Local(ctx) {
			record = append(append(record[:0], p.Key...), p.Value...)
			if c.clock != nil {
				record = binary.LittleEndian.AppendUint64(record, p.expiry)
			}
			if !yield(record, err) || err != nil {
				return
			}
		}
	})
}

func (c *Cache) contents() archive.Contents {
	return archive.Contents{Kind: "farhash cache", KeyBytes: c.cfg.KeySize,
		ValueBytes: c.cfg.ValueSize, Expires: c.clock != nil}
}

// Load puts what a file holds that Save has written, with the same sizes of keys and values.
// As always keys are evicted where there are too many. Pairs expire when they would have in the
// cache that was saved, and those that have are left out. In a cache without TTL the others stay;
// pairs from one begin the TTL of this cache. A truncated, foreign or corrupt
// file is refused on every rank, and the cache is as it was. Collective.
func (c *Cache) Load(ctx context.Context, path string) error {
	l, is, err := archive.LoadTable(ctx, c.job, path, c.contents(), nil)
	if err != nil {
		return err
	}
	defer l.Close()
	now := uint64(time.Now().UnixNano())
	if c.clock != nil {
		now = c.now()
	}
	err = l.Each(ctx, 0, func(payload []byte) error { return c.putRecords(payload, is, now) })
	return rma.AllSucceeded(ctx, c.job, "cache: loading "+path, err)
}

// putRecords puts the records of a block that have not expired.
func (c *Cache) putRecords(payload []byte, is archive.Contents, now uint64) error {
	expiry, err := c.expiryOf(0) // of what has none
	if err != nil {
		return err
	}
	var keys, values []byte
	var words []uint64
	for record := range slices.Chunk(payload, is.RecordBytes()) {
		if is.Expires {
			expiry = binary.LittleEndian.Uint64(record[c.cfg.KeySize+c.cfg.ValueSize:])
		}
		if expired(expiry, now) {
			continue
		}
		if c.clock == nil {
			expiry = never
		}
		keys = append(keys, record[:c.cfg.KeySize]...)
		values = append(values, record[c.cfg.KeySize:][:c.cfg.ValueSize]...)
		words = append(words, expiry)
	}
	return c.batch(call{kind: kindPut, keys: c.keys(keys), values: c.values(values),
		results: make([]Result, len(words)), expiries: expiries{words: words, step: 1}})
}

// Clear empties the cache. Collective, and nothing else may work on the cache, except on one opened
// by name: what others put at the same time stays or not. The statistics go on.
func (c *Cache) Clear(ctx context.Context) error {
	if err := c.job.Barrier(ctx); err != nil { // calls that came before have ended on all ranks
		return err
	}
	err := c.fault.Guard(func() error { return c.clearOwn(ctx) })
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
