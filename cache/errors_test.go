package cache

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/sim"
)

// TestWrongSizes: what does not fit is an error that says what would.
func TestWrongSizes(t *testing.T) {
	must(t, withCache(engines[0], 1, saveConfig, func(c *Cache) error {
		key, value := make([]byte, 13), make([]byte, 40)
		for _, call := range []func() error{
			func() error { _, err := c.Get(key[1:], value); return err },
			func() error { _, err := c.Get(key, value[1:]); return err },
			func() error { _, err := c.Put(append(key, 0), value); return err },
			func() error { _, err := c.Put(key, nil); return err },
			func() error { _, err := c.Delete(nil); return err },
			func() error { _, err := c.Update(key[2:], nil); return err },
			func() error { return c.GetBatch(key, value, make([]bool, 2)) },
			func() error { return c.PutBatch(key, value[1:], make([]Result, 1)) },
		} {
			err := call()
			if err == nil || !strings.Contains(err.Error(), "13") &&
				!strings.Contains(err.Error(), "40") {
				t.Errorf("the error is %v", err)
			}
		}
		return nil
	}))
}

// TestConfigsDiffer: every rank gets an error.
func TestConfigsDiffer(t *testing.T) {
	err := local.Run(2, func(job rma.Job) error {
		cfg := saveConfig
		cfg.Mode = Mode(job.Rank())
		_, err := New(context.Background(), job, cfg)
		if err == nil || !strings.Contains(err.Error(), "modes differ") {
			t.Errorf("rank %d returned %v", job.Rank(), err)
		}
		return nil
	})
	must(t, err)
}

// TestAfterClose: calls on a closed cache are errors.
func TestAfterClose(t *testing.T) {
	for _, e := range engines {
		must(t, e.Run(1, func(job rma.Job) error {
			c, err := New(context.Background(), job, saveConfig)
			if err != nil {
				return err
			}
			if err := errors.Join(fill(c, 10), c.Close()); err != nil {
				return err
			}
			value := make([]byte, 40)
			_, err = c.Get(saveKey(1), value)
			_, putErr := c.Put(saveKey(1), value)
			_, deleteErr := c.Delete(saveKey(1))
			for _, err := range []error{err, putErr, deleteErr, c.Check(context.Background())} {
				if !errors.Is(err, errClosed) {
					t.Errorf("%s: a call after Close gives %v", e.Name, err)
				}
			}
			return nil
		}))
	}
}

// TestLostMemory: keys of a rank whose memory is gone are errors, keys of others are
// answered, in the same batch.
func TestLostMemory(t *testing.T) {
	for _, mode := range modes {
		opts := sim.Options{Ranks: 3, Seed: 1}
		opts.Faults.Kills = []sim.Kill{{Rank: 2, AtNs: 50_000_000}}
		_, err := sim.Run(opts, func(job rma.Job) error {
			cfg := saveConfig
			cfg.Mode = mode
			c, err := New(context.Background(), job, cfg)
			if err == nil {
				err = fill(c, 300)
			}
			if err != nil || job.Rank() > 0 {
				job.(*sim.Job).Sleep(1_000_000_000)
				return err
			}
			job.(*sim.Job).Sleep(100_000_000)
			return halfLost(t, c)
		})
		must(t, err)
	}
}

func halfLost(t *testing.T, c *Cache) error {
	var keys []byte
	for i := range 300 {
		keys = append(keys, saveKey(i)...)
	}
	values, found := make([]byte, 300*40), make([]bool, 300)
	err := c.GetBatch(keys, values, found)
	var lost *sim.LostError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "rank 2") {
		t.Errorf("%v: the error is %v", c.cfg.Mode, err)
	}
	there := 0
	for i, f := range found {
		if f {
			there++
			if number, err := gather(values[i*40:][:40]); err != nil || number != uint64(i) {
				t.Errorf("key %d has value %d: %v", i, number, err)
			}
		}
	}
	if there < 150 || there > 250 {
		t.Errorf("%v: %d of 300 keys are found, of two ranks in three", c.cfg.Mode, there)
	}
	results := make([]Result, 300)
	if err := c.PutBatch(keys, values, results); !errors.As(err, &lost) {
		t.Errorf("%v: putting gives %v", c.cfg.Mode, err)
	}
	for i, r := range results {
		if found[i] != (r == Updated) {
			t.Errorf("%v: key %d was found: %v, and is now %v", c.cfg.Mode, i, found[i], r)
		}
	}
	return nil
}

// TestAllocations: calls over direct memory do not allocate.
func TestAllocations(t *testing.T) {
	if memory.RaceEnabled {
		t.Skip("the race detector has the pool forget")
	}
	for _, size := range []int{80, 81} { // in place, and copied
		for _, mode := range modes {
			cfg := Config{KeySize: size, ValueSize: 104, Buckets: 1000, Mode: mode}
			must(t, withCache(engines[0], 1, cfg, func(c *Cache) error {
				const n = 500
				keys, values := make([]byte, n*size), make([]byte, n*104)
				for i := range n {
					keys[i*size], keys[i*size+1] = byte(i), byte(i>>8)
				}
				found, results := make([]bool, n), make([]Result, n)
				key, value := keys[:size], values[:104]
				var err error
				allocations := testing.AllocsPerRun(100, func() {
					_, getErr := c.Get(key, value)
					_, putErr := c.Put(key, value)
					_, updateErr := c.Update(key, func([]byte, bool) bool { return true })
					err = errors.Join(getErr, putErr, updateErr,
						c.PutBatch(keys, values, results), c.GetBatch(keys, values, found))
				})
				if allocations > 0 {
					t.Errorf("%v, keys of %d bytes: %v allocations", mode, size, allocations)
				}
				return err
			}))
		}
	}
}
