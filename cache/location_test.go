package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma"
)

const (
	locatedPairs   = 300
	locatedBuckets = 64 // of each of three ranks, so that pairs are evicted
)

// located is a pair, and where PutLocated says that it is.
type located struct {
	key, value string
	rank       int
	bucket     uint64
}

// What PutLocated has put is where it says, until another pair takes the bucket.
func TestPutLocated(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, cfg Config) {
		cfg.KeySize, cfg.ValueSize, cfg.Buckets = 13, 8, 3*locatedBuckets
		must(t, withCache(e, 3, cfg, func(c *Cache) error {
			if c.job.Rank() == 1 {
				if err := putAndGetAt(c); err != nil {
					return err
				}
			}
			return c.job.Barrier(context.Background())
		}))
	})
}

func putAndGetAt(c *Cache) error {
	there := map[string]located{} // by rank and bucket
	results := map[Result]int{}
	for i := range 2 * locatedPairs {
		p := located{key: fmt.Sprintf("key %09d", i*7%locatedPairs), value: fmt.Sprintf("%08d", i)}
		r, rank, bucket, err := c.PutLocated([]byte(p.key), []byte(p.value))
		if err != nil {
			return err
		}
		results[r]++
		p.rank, p.bucket = rank, bucket
		there[fmt.Sprint(rank, bucket)] = p
		if at, b, found, err := c.Locate([]byte(p.key)); !found || at != rank || b != bucket {
			return fmt.Errorf("%v %q is in %d, %d, and Locate says %v, %d, %d: %v", r, p.key, rank,
				bucket, found, at, b, err)
		}
	}
	for r := Inserted; r <= Evicted; r++ {
		if results[r] == 0 {
			return fmt.Errorf("no put has %v a pair", r)
		}
	}
	key, value := make([]byte, c.cfg.KeySize), make([]byte, c.cfg.ValueSize)
	for _, p := range there {
		found, err := c.GetAt(p.rank, p.bucket, key, value)
		if !found || err != nil || string(key) != p.key || string(value) != p.value {
			return fmt.Errorf("bucket %d of rank %d: %v, %q: %q; want %q: %q: %v", p.bucket, p.rank,
				found, key, value, p.key, p.value, err)
		}
	}
	return refusedAt(c, there, key, value)
}

// refusedAt asks for what is not there.
func refusedAt(c *Cache, there map[string]located, key, value []byte) error {
	for _, p := range there { // any: its bucket is deleted, and then torn
		if _, err := c.Delete([]byte(p.key)); err != nil {
			return err
		}
		if found, err := c.GetAt(p.rank, p.bucket, key, value); found || err != nil {
			return fmt.Errorf("GetAt has found a pair that was deleted: %v", err)
		}
		break
	}
	for _, bad := range []located{{rank: -1}, {rank: 3}, {bucket: c.cfg.Buckets / 3}} {
		if _, err := c.GetAt(bad.rank, bad.bucket, key, value); err == nil {
			return fmt.Errorf("bucket %d of rank %d was read", bad.bucket, bad.rank)
		}
	}
	if _, err := c.GetAt(0, 0, key[1:], value); err == nil {
		return fmt.Errorf("a short key was accepted")
	}
	return nil
}

// A bucket that is no whole pair is none for GetAt, after it was read again.
func TestGetAtTorn(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, cfg Config) {
		cfg.KeySize, cfg.ValueSize, cfg.Buckets = 8, 8, 64
		must(t, withCache(e, 1, cfg, func(c *Cache) error {
			key, value := []byte("01234567"), []byte("89abcdef")
			_, rank, bucket, err := c.PutLocated(key, value)
			if err != nil {
				return err
			}
			group := uint64(c.cfg.GroupBuckets)
			cells, err := rma.NewCells(c.job, c.window)
			if err != nil {
				return err
			}
			last := c.bucketOffset(bucket/group, int(bucket%group)) + c.bucketWords - 1
			if err := cells.Store(context.Background(), rank, last, 1); err != nil {
				return err
			}
			if found, err := c.GetAt(rank, bucket, key, value); found || err != nil {
				return fmt.Errorf("a torn pair was found: %v", err)
			}
			return cells.Close()
		}))
	})
}

// A cleared cache is empty, passes its check and can be filled again.
func TestClear(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, cfg Config) {
		cfg.KeySize, cfg.ValueSize, cfg.Buckets = 13, 8, 3000
		must(t, withCache(e, 3, cfg, fillAndClear))
	})
}

func fillAndClear(c *Cache) error {
	ctx := context.Background()
	key := fmt.Appendf(nil, "key %09d", c.job.Rank())
	for i := range 2 {
		for n := range 500 {
			if _, err := c.Put(fmt.Appendf(nil, "fill %02d %05d", c.job.Rank(), n),
				[]byte("12345678")); err != nil {
				return err
			}
		}
		if _, err := c.Put(key, fmt.Appendf(nil, "%08d", i)); err != nil {
			return err
		}
		if err := c.job.Barrier(ctx); err != nil {
			return err
		}
		used, usedErr := c.Used(ctx)
		n, err := c.Len(ctx)
		if err := errors.Join(usedErr, err); err != nil {
			return err
		}
		if want := float64(n) / float64(c.cfg.Buckets); n < 900 || used != want {
			return fmt.Errorf("%v of all buckets are used, want %v", used, want)
		}
		if err := c.Clear(ctx); err != nil {
			return err
		}
		if found, err := c.Get(key, bytes.Repeat([]byte{0}, 8)); found || err != nil {
			return fmt.Errorf("a key is there after Clear: %v", err)
		}
		if n, err := c.Len(ctx); n != 0 || err != nil {
			return fmt.Errorf("%d buckets are in use after Clear: %v", n, err)
		}
		if err := c.CheckAll(ctx); err != nil {
			return err
		}
		if used, err := c.Used(ctx); used != 0 || err != nil {
			return fmt.Errorf("%v of all buckets are used after Clear: %v", used, err)
		}
		if err := c.job.Barrier(ctx); err != nil { // nobody fills it before all have read it
			return err
		}
	}
	return nil
}

// Used of a large cache is about right.
func TestUsedSample(t *testing.T) {
	cfg := Config{KeySize: 8, ValueSize: 8, Buckets: 8 * usedSample * 3}
	must(t, withCache(engines[0], 1, cfg, func(c *Cache) error {
		for i := range c.cfg.Buckets / 2 {
			if _, err := c.Put(spread(i+1, 8), spread(i+1, 8)); err != nil {
				return err
			}
		}
		if used, err := c.Used(context.Background()); used < .48 || used > .51 || err != nil {
			return fmt.Errorf("half of it is %v: %v", used, err)
		}
		return nil
	}))
}
