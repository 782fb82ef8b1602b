package bench

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/ship"
)

// CacheKeys names the law by which the keys of operations are drawn.
type CacheKeys string

// The laws of MD 5.2.
const (
	UniformKeys CacheKeys = "uniform"
	ZipfKeys    CacheKeys = "zipf" // number i with a chance proportional to i^-0.99
)

// AllCacheKeys lists them.
func AllCacheKeys() []CacheKeys { return []CacheKeys{UniformKeys, ZipfKeys} }

// CacheWorkload names what ranks do with a cache.
type CacheWorkload string

// The workloads of MD 5.2, in the order in which they are done.
const (
	CacheWrite CacheWorkload = "write"
	CacheRead  CacheWorkload = "read"  // the keys that the same rank has written
	CacheMixed CacheWorkload = "mixed" // 95% reads, 5% writes
)

// CacheWorkloads lists them.
func CacheWorkloads() []CacheWorkload { return []CacheWorkload{CacheWrite, CacheRead, CacheMixed} }

// CacheModes lists the modes of consistency, the one that ratios are about first.
func CacheModes() []cache.Mode { return []cache.Mode{cache.LockFree, cache.Fine, cache.Coarse} }

// What CacheConfig has where it is left at zero.
const (
	// DefaultKeyBytes and DefaultValueBytes are those of MD 5.2.
	DefaultKeyBytes, DefaultValueBytes = 80, 104
	// DefaultKeySpace is how many keys there are (MD 5.2).
	DefaultKeySpace = 712_500
	// DefaultCacheOperations is how many each rank does of a workload.
	DefaultCacheOperations = 100_000
	// DefaultCacheBuckets is how many a rank has: 48 MiB.
	DefaultCacheBuckets = 1 << 18
)

// MaxKeySpace is the most keys to draw from.
const MaxKeySpace = 1 << 26

// minPartBytes is the shortest key, so that keys differ, and the shortest value, so that it
// can tell its key.
const minPartBytes = 8

// CacheConfig says what is measured of a cache. All ranks give the same.
type CacheConfig struct {
	Modes     []cache.Mode    // empty: all
	Keys      []CacheKeys     // empty: all
	Workloads []CacheWorkload // empty: all
	Accesses  []ship.Access   // how batches reach other hosts; empty: ship.Auto
	// Batches are operations of one call: 1 stands for Get and Put, more for GetBatch and
	// PutBatch. Empty: 1 and DefaultBatch.
	Batches []int
	// Operations is how many each rank does of each workload. 0: DefaultCacheOperations.
	Operations           int
	KeyBytes, ValueBytes int    // 0: DefaultKeyBytes, DefaultValueBytes
	KeySpace             int    // 0: DefaultKeySpace
	BucketsPerRank       uint64 // 0: DefaultCacheBuckets
	// Progress is told every sample on rank 0, if not nil.
	Progress func(CacheSample)
}

// complete fills in defaults and refuses what makes no sense.
func (c *CacheConfig) complete() error {
	c.Modes = orAll(c.Modes, CacheModes())
	c.Keys = orAll(c.Keys, AllCacheKeys())
	c.Workloads = orAll(c.Workloads, CacheWorkloads())
	c.Accesses = orAll(c.Accesses, []ship.Access{ship.Auto})
	c.Batches = orAll(c.Batches, []int{1, DefaultBatch})
	for number, standard := range map[*int]int{
		&c.Operations: DefaultCacheOperations, &c.KeyBytes: DefaultKeyBytes,
		&c.ValueBytes: DefaultValueBytes, &c.KeySpace: DefaultKeySpace,
	} {
		if *number == 0 {
			*number = standard
		}
	}
	if c.BucketsPerRank == 0 {
		c.BucketsPerRank = DefaultCacheBuckets
	}
	for _, err := range []error{
		checkList("mode", c.Modes, CacheModes()), checkList("law of keys", c.Keys, AllCacheKeys()),
		checkList("workload", c.Workloads, CacheWorkloads()), checkList("batch", c.Batches, nil),
		checkList("access", c.Accesses, []ship.Access{ship.Auto, ship.OneSided, ship.Shipped}),
		c.checkNumbers(),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func orAll[T any](given, all []T) []T {
	if len(given) == 0 {
		return all
	}
	return given
}

// checkList refuses what is given twice or is none of those that there are, if any.
func checkList[T comparable](what string, given, there []T) error {
	for i, one := range given {
		if there != nil && !slices.Contains(there, one) {
			return fmt.Errorf("bench: there is no %s %q, only %v", what, fmt.Sprint(one), there)
		}
		if slices.Contains(given[:i], one) {
			return fmt.Errorf("bench: %s %v is given twice; once will do", what, one)
		}
	}
	return nil
}

func (c *CacheConfig) checkNumbers() error {
	const operationsMax, batchMax, batchBytesMax = 1 << 32, 1 << 20, 1 << 30
	switch {
	case c.Operations < 1 || c.Operations > operationsMax:
		return fmt.Errorf("bench: operations of a rank must be 1 to %d, not %d", operationsMax,
			c.Operations)
	case c.KeyBytes < minPartBytes || c.ValueBytes < minPartBytes:
		return fmt.Errorf("bench: keys and values must have %d bytes or more, not %d and %d: "+
			"values tell their keys", minPartBytes, c.KeyBytes, c.ValueBytes)
	case c.KeyBytes > cache.MaxPairBytes || c.ValueBytes > cache.MaxPairBytes-c.KeyBytes:
		return fmt.Errorf("bench: a key and its value must have at most %d bytes together, not "+
			"%d and %d", cache.MaxPairBytes, c.KeyBytes, c.ValueBytes)
	case c.KeySpace < 1 || c.KeySpace > MaxKeySpace:
		return fmt.Errorf("bench: there must be 1 to %d keys, not %d", MaxKeySpace, c.KeySpace)
	case c.BucketsPerRank > cache.MaxBuckets:
		return fmt.Errorf("bench: a rank must have 1 to %d buckets, not %d",
			uint64(cache.MaxBuckets), c.BucketsPerRank)
	}
	for _, batch := range c.Batches {
		switch {
		case batch < 1 || batch > batchMax:
			return fmt.Errorf("bench: a batch must have 1 to %d operations, not %d", batchMax,
				batch)
		case batch*(c.KeyBytes+c.ValueBytes) > batchBytesMax:
			return fmt.Errorf("bench: a batch of %d keys and values of %d bytes is too large; at "+
				"most %d bytes", batch, c.KeyBytes+c.ValueBytes, batchBytesMax)
		}
	}
	return nil
}
