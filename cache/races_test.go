package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
)

// scripts are races, and small cases.
var scripts = lab.Scripts{
	{Name: "mark meets put over memory",
		Run: scripted(engines[0], markMeetsPut, tornAgain, markTooLate)},
	{Name: "mark meets put", Run: scripted(engines[1], markMeetsPut, tornAgain, markTooLate)},
	{Name: "late bucket is taken over memory",
		Run: scripted(engines[0], lateBucketIsTaken, lateWrite, lateTaken)},
	{Name: "late bucket is taken",
		Run: scripted(engines[1], lateBucketIsTaken, lateWrite, lateTaken)},
	{Name: "late bucket is wanted over memory",
		Run: scripted(engines[0], lateBucketIsWanted, lateFree)},
	{Name: "late bucket is wanted", Run: scripted(engines[1], lateBucketIsWanted, lateFree)},
	{Name: "bucket is wanted over memory",
		Run: scripted(engines[0], bucketIsWanted, groupExamined)},
	{Name: "bucket is wanted by a batch",
		Run: scripted(engines[0], bucketIsWantedByBatch, groupExamined)},
	{Name: "every short sequence", Run: everySequence},
	{Name: "copies are removed", Run: copiesAreRemoved},
}

func TestLabScripts(t *testing.T) {
	scripts.Run(t)
}

// scripted runs a script that reaches marks.
func scripted(e engine, run func(t *testing.T, e engine) error,
	marks ...*mark.Mark) func(t *testing.T) error {
	return func(t *testing.T) error {
		mark.Need(t)
		for _, m := range marks {
			m.Claim(t)
		}
		return run(t, e)
	}
}

// markMeetsPut: a key is put just before a reader marks the bucket invalid in which it has
// found a broken pair. The pair that was put stays.
func markMeetsPut(t *testing.T, e engine) error {
	cfg := Config{KeySize: 8, ValueSize: 16, Buckets: 1}
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
	cells, err := rma.NewCells(c.job, c.window)
	if err != nil {
		return err
	}
	_, err = cells.Add(context.Background(), 0, c.offset(0)+word, 1)
	return errors.Join(err, cells.Close())
}

// lateBucketIsTaken: a put of key 0 has found its first bucket invalid, and no copy of the
// key further on. Before it comes back to that bucket, key 1 is put there. With locks
// neither is lost.
func lateBucketIsTaken(t *testing.T, e engine) error {
	cfg := Config{KeySize: 8, ValueSize: 8, Buckets: 64, GroupBuckets: 1, Choices: 2,
		Mode: Fine}
	return withCache(e, 1, cfg, func(c *Cache) error {
		keys := sameHome(c)
		_, err1 := c.Put(keys[1], spread(1, 8))
		_, err2 := c.Delete(keys[1])
		lateWrite.Intercept(t, func() { _, _ = c.Put(keys[1], spread(1, 8)) })
		_, err3 := c.Put(keys[0], spread(0, 8))
		return errors.Join(err1, err2, err3, hasAll(c, keys))
	})
}

// lateBucketIsWanted: the same, and key 1 is put when the put of key 0 has come back to the
// bucket, and has seen that it is free. The lock has it wait.
func lateBucketIsWanted(t *testing.T, e engine) error {
	return wanted(t, e, Fine, lateFree, func(c *Cache, keys [][]byte) error {
		_, err1 := c.Put(keys[1], spread(1, 8))
		_, err2 := c.Delete(keys[1])
		return errors.Join(err1, err2)
	}, false)
}

// bucketIsWanted: two keys are put into an empty bucket at the same time.
func bucketIsWanted(t *testing.T, e engine) error {
	nothing := func(*Cache, [][]byte) error { return nil }
	return errors.Join(wanted(t, e, Fine, groupExamined, nothing, false),
		wanted(t, e, Coarse, groupExamined, nothing, false))
}

// bucketIsWantedByBatch: one of them by a batch.
func bucketIsWantedByBatch(t *testing.T, e engine) error {
	nothing := func(*Cache, [][]byte) error { return nil }
	return errors.Join(wanted(t, e, Fine, groupExamined, nothing, true),
		wanted(t, e, Coarse, groupExamined, nothing, true))
}

// wanted has a put of key 1 come when one of key 0 is at a mark. It gets to its end, or waits for
// a lock; then the put of key 0 continues. Neither key is lost.
func wanted(t *testing.T, e engine, mode Mode, at *mark.Mark,
	before func(c *Cache, keys [][]byte) error, batch bool) error {
	cfg := Config{KeySize: 8, ValueSize: 8, Buckets: 64, GroupBuckets: 1, Choices: 2,
		Mode: mode}
	return withCache(e, 1, cfg, func(c *Cache) error {
		waits, done := make(chan bool, 1), make(chan error, 1)
		c.job = sleeper{c.job, func() {
			select {
			case waits <- true:
			default:
			}
			runtime.Gosched()
		}}
		keys := sameHome(c)
		if err := before(c, keys); err != nil {
			return err
		}
		met := false
		at.Intercept(t, func() {
			if met {
				return
			}
			met = true
			go func() {
				_, err := c.Put(keys[1], spread(1, 8))
				done <- err
			}()
			select {
			case err := <-done:
				done <- err
			case <-waits:
			}
		})
		var err error
		if batch {
			err = c.PutBatch(keys[0], spread(0, 8), make([]Result, 1))
		} else {
			_, err = c.Put(keys[0], spread(0, 8))
		}
		if !met {
			return errors.Join(err, fmt.Errorf("%q is not reached", at))
		}
		return errors.Join(err, <-done, hasAll(c, keys))
	})
}

// hasAll makes sure that no key is lost.
func hasAll(c *Cache, keys [][]byte) error {
	for i, key := range keys {
		if found, err := c.Get(key, make([]byte, 8)); !found || err != nil {
			return fmt.Errorf("key %d is lost: %w", i, err)
		}
	}
	return nil
}

// sameHome is two keys with the same first group and different second ones.
func sameHome(c *Cache) [][]byte {
	groups := func(number uint64) (first, second uint64) {
		hash := hashKey([]uint64{number})
		first, _ = c.group(hash, 0)
		second, _ = c.group(hash, 1)
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
		cfg := Config{KeySize: 8, ValueSize: 8, Buckets: 64, Mode: mode, GroupBuckets: 1}
		must(t, withCache(engines[0], 1, cfg, func(c *Cache) error {
			key := spread(1, 8)
			group, _ := c.group(hashKey([]uint64{1}), 0)
			lock := &c.batches.Segments.Of(0)[c.lockOf(group)]
			other := latch{job: fakeJob{rank: 1}, writer: true}
			other.lock(lock)
			c.job = sleeper{c.job, func() { other.unlock(lock) }}
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
	during func()
}

func (j sleeper) Sleep(int64) { j.during() }
