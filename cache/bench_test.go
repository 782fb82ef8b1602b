package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/sim"
)

// The benchmarks use keys of 80 bytes and values of 104, as MD 5.2 does.

const benchBatch = 1024

var benchConfig = Config{KeySize: 80, ValueSize: 104}

// benchKey writes key number i of an endless supply.
func benchKey(key []byte, i uint64) {
	words, _ := asWords(key)
	for j := range words {
		words[j] = (i + 1) * 0x9E3779B97F4A7C15 * uint64(2*j+1)
	}
}

// newBench makes a cache of buckets in which load times as many keys lie.
func newBench(b *testing.B, cfg Config, buckets uint64, load float64) (*Cache, int) {
	b.Helper()
	job := local.Single()
	cfg.Buckets = buckets
	c, err := New(context.Background(), job, cfg)
	must(b, err)
	b.Cleanup(func() { must(b, c.Close(), job.Close()) })
	keys, values := make([]byte, benchBatch*80), make([]byte, benchBatch*104)
	results := make([]Result, benchBatch)
	stored := int(float64(buckets) * load)
	for i := 0; i < stored; i += benchBatch {
		for j := range benchBatch {
			benchKey(keys[j*80:(j+1)*80], uint64(i+j))
		}
		must(b, c.PutBatch(keys, values, results))
	}
	return c, stored
}

// BenchmarkGet reads keys that are there, in a table that fits into a cache of the processor
// (6 MiB) and one that does not (768 MiB), alone and in batches.
func BenchmarkGet(b *testing.B) {
	for _, buckets := range []uint64{1 << 15, 1 << 22} {
		for _, load := range []float64{0.25, 0.5, 0.75} {
			for _, mode := range modes {
				name := fmt.Sprintf("buckets=%d/load=%v/%v", buckets, load, mode)
				b.Run(name, func(b *testing.B) {
					cfg := benchConfig
					cfg.Mode = mode
					benchGet(b, cfg, buckets, load)
				})
			}
		}
	}
}

func benchGet(b *testing.B, cfg Config, buckets uint64, load float64) {
	c, stored := newBench(b, cfg, buckets, load)
	const n = 1 << 14
	keys, values, found := make([]byte, n*80), make([]byte, n*104), make([]bool, n)
	rng := rand.New(rand.NewPCG(1, 2))
	var single, batch time.Duration
	hits := 0
	for b.Loop() {
		for i := range n {
			benchKey(keys[i*80:(i+1)*80], rng.Uint64N(uint64(stored)))
		}
		start := time.Now()
		for i := range n / 2 {
			found[i], _ = c.Get(keys[i*80:(i+1)*80], values[i*104:(i+1)*104])
		}
		single += time.Since(start)
		start = time.Now()
		for i := n / 2; i < n; i += benchBatch {
			_ = c.GetBatch(keys[i*80:(i+benchBatch)*80],
				values[i*104:(i+benchBatch)*104], found[i:i+benchBatch])
		}
		batch += time.Since(start)
		for _, f := range found {
			if f {
				hits++
			}
		}
	}
	per := float64(b.N) * n / 2
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(single)/per, "ns/single")
	b.ReportMetric(float64(batch)/per, "ns/batched")
	b.ReportMetric(float64(hits)/per/2, "hits")
}

// BenchmarkGetTTL reads keys that are there, without and with a TTL.
func BenchmarkGetTTL(b *testing.B) {
	for _, buckets := range []uint64{1 << 15, 1 << 22} {
		for _, ttl := range []time.Duration{0, time.Hour} {
			b.Run(fmt.Sprintf("buckets=%d/ttl=%v", buckets, ttl), func(b *testing.B) {
				cfg := benchConfig
				cfg.TTL = ttl
				benchGet(b, cfg, buckets, 0.5)
			})
		}
	}
}

// BenchmarkPut writes keys that are drawn from Zipf(0.99) over 712,500 (MD 5.2).
func BenchmarkPut(b *testing.B) {
	for _, mode := range modes {
		b.Run(mode.String(), func(b *testing.B) {
			cfg := benchConfig
			cfg.Mode = mode
			c, _ := newBench(b, cfg, 1<<20, 0)
			z := newZipf(712_500, 0.99)
			rng := rand.New(rand.NewPCG(1, 2))
			const n = 1 << 14
			keys, values, results := make([]byte, n*80), make([]byte, n*104), make([]Result, n)
			var single, batch time.Duration
			for b.Loop() {
				for i := range n {
					benchKey(keys[i*80:(i+1)*80], uint64(z.draw(rng)))
					benchKey(values[i*104:(i+1)*104], rng.Uint64())
				}
				start := time.Now()
				for i := range n / 2 {
					_, _ = c.Put(keys[i*80:(i+1)*80], values[i*104:(i+1)*104])
				}
				single += time.Since(start)
				start = time.Now()
				for i := n / 2; i < n; i += benchBatch {
					_ = c.PutBatch(keys[i*80:(i+benchBatch)*80],
						values[i*104:(i+benchBatch)*104], results[i:i+benchBatch])
				}
				batch += time.Since(start)
			}
			per := float64(b.N) * n / 2
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(single)/per, "ns/single")
			b.ReportMetric(float64(batch)/per, "ns/batched")
		})
	}
}

// BenchmarkContended has 4 ranks write keys that are drawn from Zipf(0.99) at once. All
// memory has been touched before anything is timed.
func BenchmarkContended(b *testing.B) {
	const ranks, n = 4, 1 << 15
	z := newZipf(712_500, 0.99)
	for _, mode := range modes {
		b.Run(mode.String(), func(b *testing.B) {
			cfg := benchConfig
			cfg.Mode, cfg.Buckets = mode, ranks<<18
			must(b, withCache(engine{Run: local.Run}, ranks, cfg, func(c *Cache) error {
				rng := rand.New(rand.NewPCG(uint64(c.job.Rank()), 2))
				keys, values := make([]byte, n*80), make([]byte, n*104)
				for i := range n {
					benchKey(keys[i*80:(i+1)*80], uint64(z.draw(rng)))
				}
				if err := putAll(c, keys, values); err != nil {
					return err
				}
				if err := c.job.Barrier(context.Background()); err != nil {
					return err
				}
				if c.job.Rank() == 0 {
					b.ResetTimer()
				}
				for range b.N {
					if err := putAll(c, keys, values); err != nil {
						return err
					}
				}
				return c.job.Barrier(context.Background())
			}))
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/ranks/n, "ns/put")
		})
	}
}

// putAll puts other values than those there: what is there already would not be written.
func putAll(c *Cache, keys, values []byte) error {
	var results [benchBatch]Result
	for i := range len(values) / 104 {
		values[i*104]++
	}
	for len(keys) > 0 {
		err := c.PutBatch(keys[:benchBatch*80], values[:benchBatch*104], results[:])
		if err != nil {
			return err
		}
		keys, values = keys[benchBatch*80:], values[benchBatch*104:]
	}
	return nil
}

// BenchmarkOnCluster is BenchmarkContended on a simulated cluster of 4 hosts (EDR), in its time:
// what a lock costs where it is reached by messages.
func BenchmarkOnCluster(b *testing.B) {
	const ranks, n = 4, 1 << 11
	z := newZipf(712_500, 0.99)
	for _, mode := range modes {
		b.Run(mode.String(), func(b *testing.B) {
			cfg := benchConfig
			cfg.Mode, cfg.Buckets = mode, ranks<<14
			took := int64(0)
			for b.Loop() {
				_, err := sim.Run(sim.Options{Ranks: ranks}, func(job rma.Job) error {
					c, err := New(context.Background(), job, cfg)
					if err != nil {
						return err
					}
					rng := rand.New(rand.NewPCG(uint64(job.Rank()), 2))
					keys, values := make([]byte, n*80), make([]byte, n*104)
					for i := range n {
						benchKey(keys[i*80:(i+1)*80], uint64(z.draw(rng)))
					}
					start := job.(*sim.Job).NowNs()
					if err := putAll(c, keys, values); err != nil {
						return err
					}
					took += (job.(*sim.Job).NowNs() - start) / ranks
					return job.Barrier(context.Background())
				})
				must(b, err)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(took)/float64(b.N)/ranks/n, "virtual-ns/put")
		})
	}
}
