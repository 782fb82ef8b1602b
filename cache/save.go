package cache

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/rma"
)

// contents describes a file that a cache was saved to. A record is a key and its value.
type contents struct {
	Kind      string `json:"kind"`
	KeySize   int    `json:"keyBytes"`
	ValueSize int    `json:"valueBytes"`
}

const kindCache = "farhash cache"

// Save writes the keys and values that are whole to a file, in a form that is loaded
// with any number of ranks and buckets, any mode and any addressing. The ranks write it
// together: path must mean the same file on each. It replaces what was there only when
// it is complete. Collective. What is put or deleted meanwhile may or may not be in it.
func (c *Cache) Save(ctx context.Context, path string) error {
	description, err := json.Marshal(contents{kindCache, c.cfg.KeySize, c.cfg.ValueSize})
	if err != nil {
		return err
	}
	s, err := archive.NewSaver(ctx, c.job, path)
	if err != nil {
		return err
	}
	record := make([]byte, 0, c.cfg.KeySize+c.cfg.ValueSize)
	for pair, readErr := range c.Local(ctx) {
		if err = readErr; err == nil {
			err = s.Add(ctx, 0, append(append(record[:0], pair.Key...), pair.Value...))
		}
		if err != nil {
			break
		}
	}
	return s.Finish(ctx, err, description)
}

// Load puts what a file holds that Save has written, with the same sizes of keys and values.
// As always keys are evicted where there are too many. A truncated, foreign or corrupt
// file is refused on every rank, and the cache is as it was. Collective.
func (c *Cache) Load(ctx context.Context, path string) error {
	records := archive.Fixed(c.cfg.KeySize + c.cfg.ValueSize)
	l, err := archive.NewLoader(ctx, c.job, path, records, func(description []byte) error {
		return c.accept(path, description)
	})
	if err != nil {
		return err
	}
	defer l.Close()
	err = l.Each(ctx, 0, c.putRecords)
	return rma.AllSucceeded(ctx, c.job, "cache: loading "+path, err)
}

// accept refuses the description of something else.
func (c *Cache) accept(path string, description []byte) error {
	var is contents
	if err := json.Unmarshal(description, &is); err != nil || is.Kind != kindCache {
		return fmt.Errorf("cache: %s is no %s (it is described as %.100q)", path, kindCache,
			description)
	}
	if is.KeySize != c.cfg.KeySize || is.ValueSize != c.cfg.ValueSize {
		return fmt.Errorf("cache: %s has keys of %d bytes and values of %d, this cache %d and %d",
			path, is.KeySize, is.ValueSize, c.cfg.KeySize, c.cfg.ValueSize)
	}
	return nil
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
