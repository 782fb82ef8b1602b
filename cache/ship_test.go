package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

var shipConfig = Config{KeySize: 16, ValueSize: 24, Buckets: 768, Access: rma.Shipped}

// eachCarrier runs fn on ranks whose batches are shipped, in every mode.
func eachCarrier(t *testing.T, ranks int, fn func(c *Cache) error) {
	for _, e := range carriers {
		for _, mode := range modes {
			t.Run(fmt.Sprintf("%s/%v", e.Name, mode), func(t *testing.T) {
				cfg := shipConfig
				cfg.Mode = mode
				must(t, withCache(e, ranks, cfg, fn))
			})
		}
	}
}

// TestLabShipped: the histories of ranks whose batches are shipped fit a lossy table. The
// simulation carries no requests, so these are ranks in real time.
func TestLabShipped(t *testing.T) {
	calls := 120
	if slow {
		calls = 40
	}
	for _, e := range carriers {
		for _, mode := range modes {
			for seed := range uint64(4) {
				must(t, labTable(mode, rma.Shipped).Live(e, 3, calls, seed))
			}
		}
	}
}

// TestShippedCounts: over all ranks hits, misses and writes fit the calls, and operations
// count where they were done.
func TestShippedCounts(t *testing.T) {
	const ranks, rounds, n = 4, 10, 60
	eachCarrier(t, ranks, func(c *Cache) error {
		ctx := context.Background()
		rng := rand.New(rand.NewPCG(3, uint64(c.job.Rank())))
		hits := uint64(0)
		for range rounds {
			var keys, values []byte
			for range n { // the same key often comes twice
				keys = append(keys, spread(1+rng.Uint64N(100), c.cfg.KeySize)...)
				values = append(values, spread(rng.Uint64(), c.cfg.ValueSize)...)
			}
			found, results := make([]bool, n), make([]Result, n)
			if err := c.GetBatch(keys, values, found); err != nil {
				return err
			}
			for i, f := range found {
				if f {
					hits++
					if _, err := gather(values[i*c.cfg.ValueSize:][:c.cfg.ValueSize]); err != nil {
						return err
					}
				}
			}
			if err := c.PutBatch(keys, values, results); err != nil {
				return err
			}
			if i := bytes.IndexByte(bytesOfResults(results), 0); i >= 0 {
				return fmt.Errorf("put %d has no result", i)
			}
		}
		if err := c.job.Barrier(ctx); err != nil {
			return err
		}
		each, total, err := c.AllStats(ctx)
		if err != nil {
			return err
		}
		for rank, s := range each {
			if s.Served == 0 || s.Queues.Ships == 0 {
				return fmt.Errorf("rank %d: %+v", rank, s)
			}
		}
		if total.Reads() != ranks*rounds*n || total.Writes() != ranks*rounds*n {
			return fmt.Errorf("%d batches of %d are counted as %+v", ranks*rounds, n, total)
		}
		sum, err := lab.Sum(ctx, c.job, hits)
		if err == nil && sum != total.Hits {
			err = fmt.Errorf("%d keys were found, and %d counted", sum, total.Hits)
		}
		return errors.Join(err, c.CheckAll(ctx))
	})
}

func bytesOfResults(results []Result) (b []byte) {
	for _, r := range results {
		b = append(b, byte(r))
	}
	return b
}

// TestShippedAfterClose: a batch of a closed cache returns that error.
func TestShippedAfterClose(t *testing.T) {
	eachCarrier(t, 2, func(c *Cache) error {
		err := errors.Join(c.job.Barrier(context.Background()), c.Close())
		if err != nil {
			return err
		}
		key, value := make([]byte, c.cfg.KeySize), make([]byte, c.cfg.ValueSize)
		if err := c.GetBatch(key, value, make([]bool, 1)); !errors.Is(err, errClosed) {
			return fmt.Errorf("a batch of a closed cache gives %w", err)
		}
		return nil
	})
}

// TestShippedToClosed: the part of a rank that has closed the cache is done one-sided.
func TestShippedToClosed(t *testing.T) {
	const n = 50
	eachCarrier(t, 2, func(c *Cache) error {
		ctx := context.Background()
		if c.job.Rank() == 1 {
			return errors.Join(c.batches.Close(), c.job.Barrier(ctx), c.job.Barrier(ctx))
		}
		if err := c.job.Barrier(ctx); err != nil {
			return err
		}
		var keys, values []byte
		for i := range uint64(n) {
			keys = append(keys, spread(1+i, c.cfg.KeySize)...)
			values = append(values, spread(1+i, c.cfg.ValueSize)...)
		}
		got, found := make([]byte, len(values)), make([]bool, n)
		err := errors.Join(c.PutBatch(keys, values, make([]Result, n)),
			c.GetBatch(keys, got, found))
		there := 0
		for i, f := range found {
			at := i * c.cfg.ValueSize
			if f {
				there++
			}
			if f && !bytes.Equal(values[at:at+c.cfg.ValueSize], got[at:at+c.cfg.ValueSize]) {
				err = fmt.Errorf("key %d has the value %x", i, got[at:at+c.cfg.ValueSize])
			}
		}
		if there < n*3/4 { // LockFree may forget those put at the same time
			err = errors.Join(err, fmt.Errorf("of %d keys %d are found", n, there))
		}
		if s := c.Stats(); s.Reads() != n || s.Writes() != n || s.Queues.Ships == 0 {
			err = errors.Join(err, fmt.Errorf("counted as %+v", s))
		}
		return errors.Join(err, c.job.Barrier(ctx))
	})
}

// TestBadRequests: what is no request is answered by an error, whatever its length.
func TestBadRequests(t *testing.T) {
	eachCarrier(t, 2, func(c *Cache) error {
		if c.job.Rank() == 0 {
			for k := range uint32(5) {
				for _, n := range []int{0, 1, 2, 100, min(1<<32-1, math.MaxInt)} {
					for request := range 20 {
						for answer := range 12 {
							words, err := c.answer(k, n, make([]uint64, request),
								make([]uint64, answer))
							each := c.keyWords + int(k)*c.valueWords
							if words > answer || k > 1 && err == nil ||
								err == nil && n*each != request {
								return fmt.Errorf("kind %d, %d operations of %d words: %d, %v", k,
									n, request, words, err)
							}
						}
					}
				}
			}
			o := scratch{c: c, call: call{values: c.values(make([]byte, c.cfg.ValueSize)),
				results: make([]Result, 1)}}
			for _, o.kind = range []kind{kindGet, kindPut} {
				for _, from := range [][]uint64{{1}, {4}, {1, 2, 3}} {
					words, _, err := o.Unpack(1, 0, from)
					fits := o.kind == kindPut && from[0] == 1
					if words > len(from) || fits != (err == nil) {
						return fmt.Errorf("kind %d: %v gives %d, %v", o.kind, from, words, err)
					}
				}
			}
		}
		return c.job.Barrier(context.Background())
	})
}

// TestShippedLost: when a rank is lost, keys of others are answered all the same, and the error
// names it.
func TestShippedLost(t *testing.T) {
	const ranks, lost, n = 3, 2, 100
	ctx := context.Background()
	for _, e := range carriers {
		for _, mode := range modes {
			err := e.Run(ranks, func(job rma.Job) error {
				cut := -1
				cfg := shipConfig
				cfg.Mode = mode
				c, err := New(ctx, lab.Cut(job, &cut), cfg)
				if err != nil {
					return err
				}
				if job.Rank() == 0 {
					err = loseRank(c, &cut, lost, n)
				}
				return errors.Join(err, job.Barrier(ctx))
			})
			if err != nil {
				t.Errorf("%s, %v: %v", e.Name, mode, err)
			}
		}
	}
}

func loseRank(c *Cache, cut *int, lost, n int) error {
	var keys, values []byte
	for i := range n {
		keys = append(keys, spread(uint64(1+i), c.cfg.KeySize)...)
		values = append(values, spread(uint64(1+i), c.cfg.ValueSize)...)
	}
	for i := range n { // one by one, so that none is forgotten
		_, err := c.Put(keys[i*c.cfg.KeySize:][:c.cfg.KeySize],
			values[i*c.cfg.ValueSize:][:c.cfg.ValueSize])
		if err != nil {
			return err
		}
	}
	*cut = lost
	found, results := make([]bool, n), make([]Result, n)
	for what, err := range map[string]error{
		"gets": c.GetBatch(keys, values, found),
		"puts": c.PutBatch(keys, values, results),
	} {
		var gone *rma.RankError
		if !errors.As(err, &gone) || gone.Rank != lost {
			return fmt.Errorf("%s of a lost rank give %v", what, err)
		}
	}
	for i := range n {
		words, _ := asWords(keys[i*c.cfg.KeySize:][:c.cfg.KeySize])
		here := c.rankOf(hashKey(words)) != lost
		if found[i] != here || (results[i] == Updated) != here {
			return fmt.Errorf("key %d: found %v, put %v", i, found[i], results[i])
		}
	}
	return nil
}
