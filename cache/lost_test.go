package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// TestLostRelease: a link is cut at every moment of some calls, so that requests on locks
// get no answer, among them releases, some of which have taken effect and some not. When
// the link is back, and the rank that was cut off has made another call, all locks
// are free. Where the cut is short its calls have given them back themselves.
func TestLostRelease(t *testing.T) {
	const shortNs, longNs = 200_000, 200_000_000
	lockInDoubt.Claim(t)
	lockRepaired.Claim(t)
	repairLeft.Claim(t)
	for _, mode := range []Mode{Fine, Coarse} {
		for _, long := range []int64{shortNs, longNs} {
			t.Run(fmt.Sprintf("%v/%d ns", mode, long), func(t *testing.T) {
				all := 0
				for from := int64(readyNs); from < readyNs+20_000; from += 190 {
					failed, err := cutAt(mode, from, long)
					must(t, err)
					all += failed
				}
				if all == 0 {
					t.Error("links that are cut fail no call")
				}
			})
		}
	}
}

// readyNs is when both ranks have opened the cache.
const readyNs = 1_000_000

// cutAt has rank 1 work on one key in the memory of rank 0 while the link between them is cut.
func cutAt(mode Mode, fromNs, longNs int64) (failed int, err error) {
	opts := sim.Options{Ranks: 2, Seed: 1, MaxSteps: 200_000}
	opts.Faults.RetryNs = 20_000
	opts.Faults.Cuts = []sim.Cut{{A: 0, B: 1, FromNs: fromNs, ToNs: fromNs + longNs}}
	cfg := Config{KeySize: 8, ValueSize: 8, Buckets: 128, Mode: mode}
	_, err = sim.Run(opts, func(job rma.Job) error {
		c, err := New(context.Background(), job, cfg)
		if err != nil {
			return err
		}
		job.(*sim.Job).Sleep(readyNs - job.(*sim.Job).NowNs())
		if job.Rank() == 1 && err == nil {
			failed, err = cutOff(c, fromNs+longNs)
		}
		if err := errors.Join(err, job.Barrier(context.Background())); err != nil {
			return err
		}
		if job.Rank() == 0 { // would wait for ever where a lock is left
			_, err := c.Put(keyOn(c, 0), make([]byte, 8))
			if err = errors.Join(err, noLocks(context.Background(), c, 0)); err != nil {
				return fmt.Errorf("cut from %d on: %w", fromNs, err)
			}
		}
		return job.Barrier(context.Background())
	})
	return failed, err
}

// cutOff makes calls until the link is back, and counts those that failed.
func cutOff(c *Cache, untilNs int64) (failed int, err error) {
	job, key := c.job.(*sim.Job), keyOn(c, 0)
	for i := 0; job.NowNs() < untilNs+100_000; i++ {
		if i%2 == 0 {
			_, err = c.Get(key, make([]byte, 8))
		} else {
			_, err = c.Put(key, make([]byte, 8))
		}
		var lost *sim.LostError
		switch {
		case errors.As(err, &lost):
			failed++
		case err != nil:
			return failed, err
		}
	}
	_, err = c.Get(keyOn(c, 1), make([]byte, 8))
	return failed, err
}

// keyOn is a key in the memory of a rank.
func keyOn(c *Cache, rank int) []byte {
	for i := uint64(1); ; i++ {
		if key := []uint64{i}; c.rankOf(hashKey(key)) == rank {
			return core.BytesOf(key)
		}
	}
}
