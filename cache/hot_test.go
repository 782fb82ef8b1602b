package cache

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

var hotFlag = flag.Int("hot", 0, "how many calls TestHotKey makes in each mode; 0 means a few")

const (
	hotRanks      = 2
	hotGoroutines = 3 // of each rank
)

// hotCalls is how many calls each goroutine makes.
func hotCalls() int {
	switch {
	case *hotFlag > 0:
		return (*hotFlag + hotRanks*hotGoroutines - 1) / (hotRanks * hotGoroutines)
	case slow:
		return 2000
	}
	return 20000
}

// TestHotKey: many goroutines of several ranks put, get, update and delete two keys that have
// only one candidate in common, so that they evict each other as well. Nobody is ever given
// a value whose words are of two puts, or of the other key.
func TestHotKey(t *testing.T) {
	for _, opts := range []local.Options{{}, {Hidden: true}, {Hosts: hotRanks}} {
		for _, mode := range modes {
			name := fmt.Sprintf("hidden=%v/hosts=%d/%v", opts.Hidden, opts.Hosts, mode)
			t.Run(name, func(t *testing.T) {
				cfg := Config{KeySize: 80, ValueSize: 104, Buckets: hotRanks, Mode: mode,
					Choices: 1}
				e := engine{Run: func(n int, fn func(rma.Job) error) error {
					return local.RunWith(opts, n, fn)
				}}
				must(t, withCache(e, hotRanks, cfg, func(c *Cache) error {
					err := together(hotGoroutines, func(i int) error { return hammer(c, i) })
					if err != nil {
						return err
					}
					if err := c.job.Barrier(context.Background()); err != nil {
						return err
					}
					return checkTally(t, c)
				}))
			})
		}
	}
}

// hotKeys are two keys of one rank.
func hotKeys(c *Cache) (keys [][]byte) {
	for number := uint64(1); len(keys) < 2; number++ {
		key := spread(number, c.cfg.KeySize)
		if words, _ := asWords(key); c.rankOf(hashKey(words)) == 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// hammer makes calls on two keys. The top bit of a value says of which key it is.
func hammer(c *Cache, goroutine int) error {
	rng := rand.New(rand.NewPCG(uint64(c.job.Rank()), uint64(goroutine)))
	value := make([]byte, c.cfg.ValueSize)
	keys := hotKeys(c)
	verify := func(which uint64, value []byte) error {
		number, err := gather(value)
		if err == nil && number>>63 != which {
			err = fmt.Errorf("key %d has a value of the other one", which)
		}
		return err
	}
	for range hotCalls() {
		which := rng.Uint64N(2)
		key := keys[which]
		var err error
		switch rng.IntN(10) {
		case 0:
			_, err = c.Delete(key)
		case 1:
			_, err = c.Update(key, func(value []byte, found bool) bool {
				if found {
					err = verify(which, value)
				}
				copy(value, spread(which<<63|rng.Uint64()>>1, c.cfg.ValueSize))
				return err == nil
			})
		case 2, 3, 4:
			_, err = c.Put(key, spread(which<<63|rng.Uint64()>>1, c.cfg.ValueSize))
		default:
			found, getErr := c.Get(key, value)
			if err = getErr; found && err == nil {
				err = verify(which, value)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkTally: the counters of all ranks add up to the calls that were made.
func checkTally(t *testing.T, c *Cache) error {
	_, total, err := c.AllStats(context.Background())
	if err != nil {
		return err
	}
	calls := uint64(hotRanks * hotGoroutines * hotCalls())
	got := total.Reads() + total.Writes() + total.Deletes
	updates := got - calls // each is a read and a write
	if total.Reads() == 0 || updates == 0 || updates > calls/5 {
		return fmt.Errorf("%d calls are counted as %d: %+v", calls, got, total)
	}
	if c.job.Rank() == 0 {
		t.Logf("%d calls: %d hits, %d misses, %d mismatches, %d lock waits", calls, total.Hits,
			total.Misses, total.Mismatches, total.LockWaits)
	}
	if c.cfg.Mode != LockFree && total.Mismatches > 0 {
		return fmt.Errorf("%d readers have met writers although they lock", total.Mismatches)
	}
	writes := uint64(0)
	for _, n := range total.Candidates {
		writes += n
	}
	if writes != total.Writes() {
		return fmt.Errorf("%d writes, and %d by candidates", total.Writes(), writes)
	}
	return nil
}
