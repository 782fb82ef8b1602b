package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// hotCalls is how many calls each goroutine makes.
func hotCalls() int {
	if slow {
		return 2000
	}
	return 20000
}

// TestHotKey: many goroutines of several ranks put, get, update and delete two keys that have
// only one candidate in common, so that they evict each other as well. Nobody is ever given
// a value whose words are of two puts, or of the other key.
func TestHotKey(t *testing.T) {
	for _, opts := range []local.Options{{}, {Hidden: true}} {
		for _, mode := range modes {
			t.Run(fmt.Sprintf("hidden=%v/%v", opts.Hidden, mode), func(t *testing.T) {
				cfg := Config{KeySize: 80, ValueSize: 104, BucketsPerRank: 1, Mode: mode,
					Choices: 1}
				e := engine{"", func(n int, fn func(rma.Job) error) error {
					return local.RunWith(opts, n, fn)
				}}
				must(t, withCache(e, 2, cfg, func(c *Cache) error {
					err := together(3, func(i int) error { return hammer(c, i) })
					if err != nil {
						return err
					}
					if err := c.job.Barrier(context.Background()); err != nil {
						return err
					}
					return checkTally(c)
				}))
			})
		}
	}
}

// hammer makes calls on two keys. The top bit of a value tells of which key it is.
func hammer(c *Cache, goroutine int) error {
	rng := rand.New(rand.NewPCG(uint64(c.job.Rank()), uint64(goroutine)))
	value := make([]byte, c.cfg.ValueSize)
	verify := func(which uint64, value []byte) error {
		number, err := gather(value)
		if err == nil && number>>63 != which {
			err = fmt.Errorf("key %d has a value of the other one", which)
		}
		return err
	}
	for range hotCalls() {
		which := rng.Uint64N(2)
		key := spread(which+1, c.cfg.KeySize)
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
func checkTally(c *Cache) error {
	_, total, err := c.AllStats(context.Background())
	if err != nil {
		return err
	}
	calls := uint64(6 * hotCalls())
	got := total.Reads() + total.Writes() + total.Deletes
	updates := got - calls // each is a read and a write
	if total.Reads() == 0 || updates == 0 || updates > calls/5 {
		return fmt.Errorf("%d calls are counted as %d: %+v", calls, got, total)
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
