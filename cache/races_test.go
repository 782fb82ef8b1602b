package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/mark"
	"github.com/farhash/farhash/rma"
)

// TestMarkMeetsPut: a key is put just before a reader marks the bucket invalid in which it has
// found a broken pair. The pair that was put stays.
func TestMarkMeetsPut(t *testing.T) {
	if !mark.Enabled {
		t.Skip("marks are compiled in by -race and -tags invariants")
	}
	tornAgain.Claim(t)
	markTooLate.Claim(t)
	for _, e := range engines[:2] {
		must(t, markMeetsPut(t, e))
		off := marksBlindly.Switch()
		if markMeetsPut(t, e) == nil {
			t.Errorf("%s: that it is marked blindly is not noticed", e.Name)
		}
		off()
	}
}

func markMeetsPut(t *testing.T, e engine) error {
	cfg := Config{KeySize: 8, ValueSize: 16, BucketsPerRank: 1}
	return withCache(e, 1, cfg, func(c *Cache) error {
		key, value := spread(7, 8), make([]byte, 16)
		_, err := c.Put(key, spread(1, 16))
		if err := errors.Join(err, damage(c, 2)); err != nil {
			return err
		}
		met := false
		tornAgain.Intercept(t, func() {
			_, err = c.Put(key, spread(2, 16))
			met = true
		})
		found, errGet := c.Get(key, value)
		if found || !met || errors.Join(err, errGet) != nil {
			return fmt.Errorf("found %v, met %v: %w", found, met, errors.Join(err, errGet))
		}
		found, err = c.Get(key, value)
		if number, _ := gather(value); !found || number != 2 {
			err = errors.Join(err, fmt.Errorf("found %v, number %d", found, number))
		}
		return err
	})
}

// damage changes a word of the first bucket.
func damage(c *Cache, word int) error {
	cells, err := rma.NewCells(c.job, c.t.window)
	if err != nil {
		return err
	}
	_, err = cells.Add(context.Background(), 0, c.t.offset(0)+word, 1)
	return errors.Join(err, cells.Close())
}

// TestLateBucketIsTaken: a put of key 0 has found its first bucket invalid, and no copy of the
// key further on. Before it comes back to that bucket, key 1 is put there. With locks
// neither is lost.
func TestLateBucketIsTaken(t *testing.T) {
	if !mark.Enabled {
		t.Skip("marks are compiled in by -race and -tags invariants")
	}
	lateWrite.Claim(t)
	lateTaken.Claim(t)
	for _, e := range engines[:2] {
		must(t, lateBucketIsTaken(t, e))
		off := goesBlindly.Switch()
		if lateBucketIsTaken(t, e) == nil {
			t.Errorf("%s: that a put goes back blindly is not noticed", e.Name)
		}
		off()
	}
}

func lateBucketIsTaken(t *testing.T, e engine) error {
	cfg := Config{KeySize: 8, ValueSize: 8, BucketsPerRank: 64, GroupBuckets: 1, Choices: 2,
		Mode: Fine}
	return withCache(e, 1, cfg, func(c *Cache) error {
		keys := sameHome(c)
		_, err1 := c.Put(keys[1], spread(1, 8))
		_, err2 := c.Delete(keys[1])
		lateWrite.Intercept(t, func() { _, _ = c.Put(keys[1], spread(1, 8)) })
		_, err3 := c.Put(keys[0], spread(0, 8))
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		for i, key := range keys {
			if found, err := c.Get(key, make([]byte, 8)); !found || err != nil {
				return fmt.Errorf("key %d is lost: %w", i, err)
			}
		}
		return nil
	})
}

// sameHome is two keys with the same first group and different second ones.
func sameHome(c *Cache) [][]byte {
	groups := func(number uint64) (first, second uint64) {
		hash := hashKey([]uint64{number})
		first, _ = c.t.group(hash, 0)
		second, _ = c.t.group(hash, 1)
		return first, second
	}
	first, second := groups(1)
	for number := uint64(2); ; number++ {
		if a, b := groups(number); a == first && b != second && a != b && first != second {
			return [][]byte{spread(1, 8), spread(number, 8)}
		}
	}
}

// TestBatchWaitsForLock: a batch of puts over memory waits while another rank has the lock.
func TestBatchWaitsForLock(t *testing.T) {
	for _, mode := range []Mode{Fine, Coarse} {
		cfg := Config{KeySize: 8, ValueSize: 8, BucketsPerRank: 64, Mode: mode, GroupBuckets: 1}
		must(t, withCache(engines[0], 1, cfg, func(c *Cache) error {
			key := spread(1, 8)
			group, _ := c.t.group(hashKey([]uint64{1}), 0)
			lock := &c.t.memory[0][c.t.lockOf(group)]
			other := latch{job: fakeJob{rank: 1}, writer: true}
			other.on(lock, other.acquire())
			c.t.job = sleeper{c.t.job, func() { other.on(lock, other.release()) }}
			results := make([]Result, 1)
			err := c.PutBatch(key, key, results)
			if s := c.Stats(); results[0] != Inserted || s.LockWaits == 0 {
				t.Errorf("%v: %v after %d waits", mode, results, s.LockWaits)
			}
			return err
		}))
	}
}

// sleeper is a job in which something happens while it sleeps.
type sleeper struct {
	rma.Job
	meanwhile func()
}

func (j sleeper) Sleep(int64) { j.meanwhile() }
