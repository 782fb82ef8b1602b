package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// Calls that change the map directly lose nothing: goroutines of two ranks count keys up by Add and
// CompareAndPut, one at a time and in batches, while other keys come and go and the table moves.
func TestDirectWrites(t *testing.T) {
	const keys, goroutines = 6, 3
	each := 2000
	if testing.Short() {
		each = 200
	}
	for _, copies := range []bool{false, true} {
		for _, grows := range []bool{false, true} {
			cfg := Config{Slots: 8, Bytes: 1 << 16, MaxKey: 8, MaxValue: 40,
				Copies: copies}
			if grows {
				cfg.MaxSlots = 64
			}
			var counted [keys]atomic.Uint64
			err := local.Run(2, func(job rma.Job) error {
				m, err := New(context.Background(), job, forRanks(cfg, job.Size()))
				if err != nil {
					return err
				}
				errs := make([]error, goroutines)
				var all sync.WaitGroup
				for g := range goroutines {
					all.Go(func() { errs[g] = countUp(m, uint64(g), each, counted[:]) })
				}
				all.Wait()
				ctx := context.Background()
				err = errors.Join(errors.Join(errs...), job.Barrier(ctx))
				if err == nil {
					err = countedUp(m, counted[:])
				}
				return errors.Join(err, m.Check(ctx), job.Barrier(ctx), m.Close())
			})
			if err != nil {
				t.Errorf("copies %v, table that moves %v: %v", copies, grows, err)
			}
		}
	}
}

// countUp adds to keys, and to counted what it has added.
func countUp(m *Map, seed uint64, times int, counted []atomic.Uint64) error {
	rng := rand.New(rand.NewPCG(seed, uint64(m.job.Rank())))
	for n := range times {
		i := rng.IntN(len(counted))
		key := fmt.Append(nil, i)
		if canGrow(m) && n%3 == 0 { // a key of its own, so that the table fills up
			own := fmt.Appendf(nil, "%d%d%d", m.job.Rank(), seed, n%7)
			if _, err := m.Put(own, key); err != nil {
				return err
			}
			if _, err := m.Delete(own); err != nil {
				return err
			}
		}
		if err := countOne(m, key, n, max(0, rng.IntN(60)-30)); err != nil {
			return err
		}
		counted[i].Add(1)
	}
	return nil
}

// countOne adds one to a key, by Add or by CompareAndPut, which makes the value longer.
func countOne(m *Map, key []byte, n, longer int) error {
	run := func(c Call) (bool, error) {
		if n%2 == 0 {
			err := m.one(&c, false)
			return c.Done, err
		}
		calls := []Call{c}
		err := m.Batch(calls)
		return calls[0].Done, err
	}
	if n%4 < 2 {
		var wrong *CounterError
		done, err := run(Call{Kind: Add, Key: key, Delta: 1})
		if done || !errors.As(err, &wrong) {
			return err
		}
	}
	for {
		value, v, _, err := m.Get(key, nil)
		if err != nil {
			return err
		}
		sum := uint64(0)
		if v != 0 {
			sum = binary.LittleEndian.Uint64(value)
		}
		value = binary.LittleEndian.AppendUint64(nil, sum+1)
		value = append(value, make([]byte, longer)...)
		done, err := run(Call{Kind: CompareAndPut, Key: key, Value: value, Version: v})
		if done || err != nil {
			return err
		}
	}
}

// countedUp makes sure that each key has counted what was added, and that the calls were direct.
func countedUp(m *Map, counted []atomic.Uint64) error {
	for i := range counted {
		value, _, _, err := m.Get(fmt.Append(nil, i), nil)
		if err != nil {
			return err
		}
		if len(value) < 8 || binary.LittleEndian.Uint64(value) != counted[i].Load() {
			return fmt.Errorf("key %d has %x, and was counted up %d times", i, value,
				counted[i].Load())
		}
	}
	s, moved := m.Stats().Kinds[CompareAndPut], m.latest.Load().gen > 1
	if s.Direct == 0 || s.Direct < s.Calls/2 && !moved {
		return fmt.Errorf("%d of %d calls were direct", s.Direct, s.Calls)
	}
	return nil
}

// No item is lost of direct puts where a removed key was, and where another rank's item was.
func TestDirectPutsGiveItemsBack(t *testing.T) {
	key := []byte("key")
	cfg := Config{Slots: 8, Bytes: 1 << 12, MaxKey: 8, MaxValue: 8}
	err := withMap(engines[0], 2, cfg, func(m *Map) error {
		ctx := context.Background()
		var err error
		if m.job.Rank() == 0 {
			err = errors.Join(change(m, key, "old", false), change(m, key, "", false),
				change(m, key, "new", false), sound(m))
		}
		if err = errors.Join(err, m.job.Barrier(ctx)); m.job.Rank() == 1 {
			err = errors.Join(err, change(m, key, "newer", false))
		}
		if err = errors.Join(err, m.job.Barrier(ctx)); m.job.Rank() == 0 {
			found, collectErr := m.arena.collectMarked(0)
			if err = errors.Join(err, collectErr); !found {
				err = errors.Join(err, errors.New("the other rank has not marked the item"))
			}
		}
		return errors.Join(err, m.job.Barrier(ctx))
	})
	if err != nil {
		t.Error(err)
	}
}

// A direct put that loses its swap, and then has nothing to put, gives its item back.
func TestDirectPutThatLosesGivesItsItemBack(t *testing.T) {
	err := overMemory(func(m *Map, _ []byte) error {
		c := Call{Kind: PutIfAbsent, Key: []byte("new"), Value: []byte("second")}
		table, g := m.latest.Load(), directCall{call: &c}
		if !m.startAtHome(table, &g) || !m.search(table, &g) {
			return errors.New("the call is not direct")
		}
		if err := change(m, c.Key, "first", false); err != nil {
			return err
		}
		l := m.arena.lane(g.hash)
		before := l.handedOut
		made := m.finish(table, &g, l)
		taken := l.handedOut - before
		unlock(l)
		if !made || c.Done || taken != 1 {
			return fmt.Errorf("made %v, done %v, %d items taken", made, c.Done, taken)
		}
		return errors.Join(holds(m, c.Key, "first"), sound(m))
	})
	if err != nil {
		t.Error(err)
	}
}
