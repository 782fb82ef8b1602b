package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// stopped is a clock that only a test moves. All ranks of a test have it.
func stopped() *clock {
	k := &clock{}
	k.ns.Store(1 << 60)
	return k
}

// pass has a clock move on.
func (k *clock) pass(d time.Duration) { k.ns.Add(uint64(d)) }

// numbered is n keys, and values, from a number on.
func (c *Cache) numbered(from, n int) (keys, values []byte) {
	for i := range n {
		keys = append(keys, spread(uint64(from+i+1), c.cfg.KeySize)...)
		values = append(values, spread(uint64(from+i+1), c.cfg.ValueSize)...)
	}
	return keys, values
}

// expiring is a table that is filled several times over, and whose pairs then expire.
type expiring struct {
	*Cache
	single bool
}

// eachExpiring has rank 0 work in every case, by single calls and by batches.
func eachExpiring(t *testing.T, work func(e expiring) error) {
	eachCase(t, func(t *testing.T, e engine, cfg Config) {
		cfg.KeySize, cfg.ValueSize, cfg.Buckets, cfg.TTL = 16, 24, 64, 100
		cfg.Depth = 1 // without locks puts at the same time may lose each other
		for _, single := range []bool{false, true} {
			cfg.clock = stopped()
			must(t, withCache(e, 2, cfg, func(c *Cache) (err error) {
				ctx := context.Background()
				if c.job.Rank() == 0 {
					err = work(expiring{c, single})
				}
				return errors.Join(err, c.job.Barrier(ctx), c.CheckAll(ctx))
			}))
		}
	})
}

// put puts pairs and says how often there was each result.
func (e expiring) put(from, n int, ttl time.Duration) (count [Unchanged + 1]int, err error) {
	keys, values := e.numbered(from, n)
	results := make([]Result, n)
	if !e.single {
		err = e.PutBatchTTL(keys, values, ttl, results)
	}
	for i := range results {
		if e.single {
			var failed error
			results[i], failed = e.PutTTL(keys[i*e.cfg.KeySize:][:e.cfg.KeySize],
				values[i*e.cfg.ValueSize:][:e.cfg.ValueSize], ttl)
			err = errors.Join(err, failed)
		}
		count[results[i]]++
	}
	return count, err
}

// get says how many keys are there.
func (e expiring) get(from, n int) (hits int, err error) {
	keys, values := e.numbered(from, n)
	got, found := make([]byte, len(values)), make([]bool, n)
	if !e.single {
		err = e.GetBatch(keys, got, found)
	}
	size := e.cfg.ValueSize
	for i := range found {
		if e.single {
			var failed error
			found[i], failed = e.Get(keys[i*e.cfg.KeySize:][:e.cfg.KeySize], got[i*size:][:size])
			err = errors.Join(err, failed)
		}
		if found[i] {
			hits++
			if !bytes.Equal(got[i*size:][:size], values[i*size:][:size]) {
				err = errors.Join(err, fmt.Errorf("key %d has another value", from+i))
			}
		}
	}
	return hits, err
}

// expect puts and says which result all puts should have.
func (e expiring) expect(want Result, from, n int, ttl time.Duration) error {
	count, err := e.put(from, n, ttl)
	if err == nil && count[want] != n {
		err = fmt.Errorf("of %d puts, by one: %v, are %v by result, and not all are %v", n,
			e.single, count, want)
	}
	return err
}

// there says how many of the keys should be there.
func (e expiring) there(want, from, n int) error {
	hits, err := e.get(from, n)
	if err == nil && hits != want {
		err = fmt.Errorf("%d of %d keys from %d on are there, by one: %v; want %d", hits, n, from,
			e.single, want)
	}
	return err
}

// TestExpires: a pair is found until it is as old as its TTL, and no longer.
func TestExpires(t *testing.T) {
	eachExpiring(t, func(e expiring) error {
		err := errors.Join(e.expect(Inserted, 0, 5, 0), e.expect(Inserted, 5, 5, 30),
			e.expect(Inserted, 10, 5, Forever), e.there(15, 0, 15))
		e.clock.pass(29)
		err = errors.Join(err, e.there(15, 0, 15))
		e.clock.pass(1)
		err = errors.Join(err, e.there(5, 0, 5), e.there(0, 5, 5), e.there(5, 10, 5))
		e.clock.pass(69)
		err = errors.Join(err, e.there(5, 0, 5), e.expect(Updated, 0, 1, 0))
		e.clock.pass(1) // the pair that was put again has a TTL that began anew
		err = errors.Join(err, e.there(1, 0, 5), e.expect(Inserted, 1, 9, 7), e.there(15, 0, 15))
		e.clock.pass(1 << 50)
		return errors.Join(err, e.there(5, 0, 15), e.expect(Updated, 10, 5, 1),
			e.there(5, 10, 5))
	})
}

// TestExpiredAreTaken: where all buckets have pairs, puts take those that have expired.
func TestExpiredAreTaken(t *testing.T) {
	eachExpiring(t, func(e expiring) error {
		_, err := e.put(100, 400, 0)
		if used, failed := e.Used(context.Background()); used < 0.9 || failed != nil {
			err = errors.Join(err, failed, fmt.Errorf("%v of the buckets are in use", used))
		}
		e.clock.pass(100)
		err = errors.Join(err, e.expect(Inserted, 0, 12, 0), e.there(12, 0, 12))
		e.clock.pass(100)
		return errors.Join(err, e.expect(Inserted, 50, 12, Forever), e.there(12, 50, 12),
			e.there(0, 0, 12))
	})
}

// TestExpiredIsNowhere: whatever shows the content of a cache leaves out what has expired.
func TestExpiredIsNowhere(t *testing.T) {
	eachExpiring(t, func(e expiring) error {
		keys, values := e.numbered(0, 12)
		key, value := keys[:e.cfg.KeySize], values[:e.cfg.ValueSize]
		err := errors.Join(e.expect(Inserted, 0, 12, 0), e.shows(12))
		r, rank, at, failed := e.PutLocated(key, value)
		found, failedAt := e.GetAt(rank, at, make([]byte, 16), make([]byte, 24))
		if err = errors.Join(err, failed, failedAt); r != Updated || !found {
			err = errors.Join(err, fmt.Errorf("put is %v, get %v", r, found))
		}
		e.clock.pass(100)
		err = errors.Join(err, e.shows(0))
		if found, failed := e.GetAt(rank, at, make([]byte, 16), make([]byte, 24)); found {
			err = errors.Join(err, failed, errors.New("a place shows an expired pair"))
		}
		if _, _, found, failed := e.Locate(key); found || failed != nil {
			err = errors.Join(err, failed, errors.New("an expired pair has a place"))
		}
		if found, failed := e.Delete(key); found || failed != nil {
			err = errors.Join(err, failed, errors.New("an expired pair is deleted"))
		}
		r, failed = e.Update(keys[e.cfg.KeySize:][:e.cfg.KeySize], func(v []byte, found bool) bool {
			if found || !bytes.Equal(v, make([]byte, len(v))) {
				err = errors.Join(err, errors.New("an expired pair is updated"))
			}
			return true
		})
		if err = errors.Join(err, failed); r != Inserted {
			err = errors.Join(err, fmt.Errorf("an update of an expired pair is %v", r))
		}
		return errors.Join(err, e.shows(1))
	})
}

// shows compares what walks over the memory find.
func (e expiring) shows(want int) (err error) {
	ctx := context.Background()
	n, failed := e.Len(ctx)
	used, failedUsed := e.Used(ctx)
	pairs := 0
	for _, failed := range e.All(ctx) {
		err = errors.Join(err, failed)
		pairs++
	}
	if n != uint64(want) || pairs != want || used != float64(want)/float64(e.cfg.Buckets) {
		err = errors.Join(err, fmt.Errorf("%d pairs, Len %d, Used %v; want %d", pairs, n, used,
			want))
	}
	return errors.Join(err, failed, failedUsed)
}

// TestExpiredAreCounted: reads of expired pairs are misses, and counted once more.
func TestExpiredAreCounted(t *testing.T) {
	eachExpiring(t, func(e expiring) error {
		err := e.expect(Inserted, 0, 5, 0)
		e.clock.pass(100)
		err = errors.Join(err, e.there(0, 0, 8))
		is := e.Stats()
		if shipped := is.Queues.Ships > 0; !shipped && (is.Expired != 5 || is.Misses != 8) {
			err = errors.Join(err, fmt.Errorf("counted as %+v", is.Counts))
		}
		return err
	})
}

// TestTTLArguments: a TTL that makes no sense is an error with a remedy.
func TestTTLArguments(t *testing.T) {
	job := local.Single()
	defer job.Close()
	key, value := make([]byte, 16), make([]byte, 24)
	cfg := Config{KeySize: 16, ValueSize: 24, Buckets: 64}
	c, err := New(t.Context(), job, cfg)
	must(t, err)
	for _, ttl := range []time.Duration{0, Forever} {
		_, err := c.PutTTL(key, value, ttl)
		must(t, err)
	}
	for ttl, want := range map[time.Duration]string{1: "give Config.TTL", -2: "above 0"} {
		_, single := c.PutTTL(key, value, ttl)
		batch := c.PutBatchTTL(key, value, ttl, make([]Result, 1))
		for _, err := range []error{single, batch} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a TTL of %d: %v, want %q", ttl, err, want)
			}
		}
	}
	cfg.TTL = -2
	if _, err := New(t.Context(), job, cfg); err == nil || !strings.Contains(err.Error(), "TTL") {
		t.Errorf("a Config.TTL of -2: %v", err)
	}
	must(t, c.Close())
}

// TestTTLOfRanksDiffer: all ranks need one TTL.
func TestTTLOfRanksDiffer(t *testing.T) {
	must(t, engines[0].Run(2, func(job rma.Job) error {
		_, err := New(context.Background(), job, Config{KeySize: 8, ValueSize: 8, Buckets: 64,
			TTL: time.Duration(1 + job.Rank())})
		if err == nil || !strings.Contains(err.Error(), "times to live") {
			return fmt.Errorf("ranks with two TTLs: %w", err)
		}
		return nil
	}))
}

// TestSystemClock: without a clock of tests the time is the system's, which passes.
func TestSystemClock(t *testing.T) {
	job := local.Single()
	defer job.Close()
	before := time.Now()
	c, err := New(t.Context(), job, Config{KeySize: 8, ValueSize: 8, Buckets: 8, TTL: time.Hour})
	must(t, err)
	began := c.now()
	if at := time.Unix(0, int64(began)); at.Before(before) || at.After(time.Now()) {
		t.Errorf("it is %v, not %v", at, before)
	}
	for c.now() == began {
		time.Sleep(time.Millisecond)
	}
	must(t, c.Close(), c.Close())
}

// TestSavedExpiries: pairs expire when they would have where they were saved. A cache without TTL
// keeps those that have not, and pairs from one begin the TTL of the cache that loads them.
func TestSavedExpiries(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	from := Config{KeySize: 13, ValueSize: 40, Buckets: 4000, TTL: time.Hour}
	count := func(n int) func(c *Cache) error { // of the numbers 0 to 29
		return func(c *Cache) error {
			got, err := there(c, 30)
			if err == nil && got != n {
				err = fmt.Errorf("%d pairs are there, not %d", got, n)
			}
			return errors.Join(err, c.job.Barrier(ctx))
		}
	}
	for _, ttl := range []time.Duration{0, time.Hour} {
		from.TTL, from.clock = ttl, stopped()
		if ttl == 0 {
			from.clock = nil
		} else { // a cache without TTL asks the system
			from.clock.ns.Store(uint64(time.Now().UnixNano()))
		}
		path := filepath.Join(dir, fmt.Sprint(ttl))
		must(t, withCache(engines[0], 3, from, func(c *Cache) error {
			err := fill(c, 10)
			if ttl != 0 && c.job.Rank() == 0 {
				for i := 10; i < 30; i++ {
					_, failed := c.PutTTL(saveKey(i), spread(uint64(i), 40),
						[]time.Duration{Forever, 5}[i/20])
					err = errors.Join(err, failed)
				}
			}
			if c.job.Rank() == 0 && ttl != 0 {
				c.clock.pass(1)
			}
			return errors.Join(err, c.job.Barrier(ctx), c.Save(ctx, path))
		}))
		for _, to := range []time.Duration{0, Forever, time.Minute} {
			cfg := from
			cfg.Mode, cfg.TTL, cfg.clock = Fine, to, nil
			if to != 0 {
				cfg.clock = stopped()
				cfg.clock.ns.Store(uint64(time.Now().UnixNano()))
			}
			must(t, withCache(engines[0], 2, cfg, func(c *Cache) error {
				stay, expire := 10, 0 // the first 10 pairs, and what PutTTL puts
				if ttl != 0 {
					stay, expire = 20, 10
				}
				err := errors.Join(c.Load(ctx, path), count(stay)(c))
				if to == 0 {
					return err
				}
				if ttl == 0 && to == time.Minute {
					stay, expire = 10, 10
				}
				if c.job.Rank() == 0 {
					c.clock.pass(2 * time.Hour)
				}
				return errors.Join(err, c.job.Barrier(ctx), count(stay-expire)(c), c.CheckAll(ctx))
			}))
		}
	}
}

// TestExpiryIsSealed: a bucket with the expiry of another put fails its checksum.
func TestExpiryIsSealed(t *testing.T) {
	cfg := Config{KeySize: 16, ValueSize: 24, Buckets: 64, TTL: 100, clock: stopped()}
	for _, batch := range []bool{false, true} {
		must(t, withCache(engines[0], 1, cfg, func(c *Cache) error {
			e := expiring{c, !batch}
			err := errors.Join(e.expect(Inserted, 0, 1, 0), e.there(1, 0, 1))
			for b := range c.buckets(t.Context(), 0, 0) {
				c.batches.Segments.Of(0)[b.at+1]++
			}
			if c.Check(t.Context()) == nil {
				err = errors.Join(err, errors.New("Check does not see it"))
			}
			return errors.Join(err, e.there(0, 0, 1))
		}))
	}
}

// TestShippedExpiries: the owner gets when a pair expires, and finds by itself what has expired.
func TestShippedExpiries(t *testing.T) {
	for _, e := range carriers {
		cfg := shipConfig
		cfg.TTL, cfg.clock = 100, stopped()
		must(t, withCache(e, 2, cfg, func(c *Cache) (err error) {
			if e := (expiring{c, false}); c.job.Rank() == 0 {
				err = errors.Join(e.expect(Inserted, 0, 40, 7), e.there(40, 0, 40))
				c.clock.pass(7)
				err = errors.Join(err, e.there(0, 0, 40), e.expect(Inserted, 0, 40, 0))
				if c.Stats().Queues.Ships == 0 {
					err = errors.Join(err, errors.New("nothing was shipped"))
				}
			}
			return errors.Join(err, c.job.Barrier(context.Background()))
		}))
	}
}
