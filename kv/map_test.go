package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// engine runs ranks.
type engine = lab.Engine

var engines = lab.Engines()

// carriers are those on which batches are shipped.
var carriers = lab.Carriers()

// withMap runs fn with a map on every rank. Where batches can be shipped they are.
func withMap(e engine, ranks int, cfg Config, fn func(m *Map) error) error {
	if slices.ContainsFunc(carriers, func(c engine) bool { return c.Name == e.Name }) {
		cfg.Access = rma.Shipped
	}
	return e.Run(ranks, func(job rma.Job) error {
		m, err := New(context.Background(), job, forRanks(cfg, job.Size()))
		if err != nil {
			return err
		}
		return errors.Join(fn(m), m.Close())
	})
}

// eachCase runs a test on every engine, with and without copies.
func eachCase(t *testing.T, fn func(t *testing.T, e engine, copies bool)) {
	for _, e := range slices.Concat(engines, carriers) {
		for _, copies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/copies=%v", e.Name, copies),
				func(t *testing.T) { fn(t, e, copies) })
		}
	}
}

// forRanks is a configuration that gives each rank the sizes of cfg.
func forRanks(cfg Config, ranks int) Config {
	cfg.Slots, cfg.MaxSlots = cfg.Slots*uint64(ranks), cfg.MaxSlots*uint64(ranks)
	cfg.Bytes *= uint64(ranks)
	return cfg
}

// small is room for few keys, so that they collide.
func small(copies bool) Config {
	return Config{Slots: 40, Bytes: 1 << 15, MaxKey: 40, MaxValue: 200,
		Copies: copies, Chunk: 5, Depth: 4}
}

// TestStream compares a map with one of Go, operation by operation.
func TestStream(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		err := withMap(e, 2, small(copies), func(m *Map) error {
			err := error(nil)
			if m.job.Rank() == 0 {
				err = stream(m, 1500)
			}
			return errors.Join(err, m.job.Barrier(context.Background()))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// numbered is a number as a key or a counter.
func numbered(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// entry is what a key should have.
type entry struct {
	value   string
	version Version
}

// stream makes random calls and checks every answer.
func stream(m *Map, calls int) error {
	rng := rand.New(rand.NewPCG(1, 2))
	want := map[string]entry{}
	for i := range calls {
		key := fmt.Sprintf("%0*d", 1+rng.IntN(2)*20, rng.IntN(9))
		value := fmt.Sprintf("%0*d", 1+rng.IntN(100), i)
		if err := streamCall(m, rng, want, key, value); err != nil {
			return fmt.Errorf("call %d, key %q: %w", i, key, err)
		}
	}
	return errors.Join(same(m, want), m.Check(context.Background()))
}

// call makes a call, which is shipped if batches are.
func (m *Map) call(c *Call) error {
	if m.cfg.Access != rma.Shipped {
		return m.one(c, false)
	}
	calls := []Call{*c}
	err := m.Batch(calls)
	*c = calls[0]
	return err
}

func streamCall(m *Map, rng *rand.Rand, want map[string]entry, key, value string) error {
	was, there := want[key]
	kind := Kind(rng.IntN(int(kinds)))
	c := Call{Kind: kind, Key: []byte(key), Value: []byte(value), Version: was.version,
		Delta: rng.Int64() >> rng.IntN(63)}
	done, sum := there, counterOf([]byte(was.value)).number+c.Delta
	var refused *CounterError
	switch kind {
	case Get:
		c.Value = []byte("x")
	case Put:
		done = true
	case PutIfAbsent:
		done = !there
	case CompareAndPut:
		if done = rng.IntN(2) == 0; !done {
			c.Version ^= 1 << useAt
		}
	case Add:
		done = !there || len(was.value) == counterSize
		value = string(numbered(int(sum)))
	}
	err := m.call(&c)
	if kind == Add && !done && errors.As(err, &refused) && refused.Size == len(was.value) {
		err = nil
	}
	switch {
	case err != nil:
		return err
	case kind == Add && !done && refused == nil:
		return fmt.Errorf("%d is added to %q", c.Delta, was.value)
	case kind == Add && done && c.Sum != sum:
		return fmt.Errorf("the sum is %d, not %d", c.Sum, sum)
	case c.Done != done:
		return fmt.Errorf("%v returns done %v, not %v", kind, c.Done, done)
	case kind == Get && there && string(c.Value) != "x"+was.value:
		return fmt.Errorf("value %q, not %q", c.Value, was.value)
	case done && kind.puts() && (c.Version == was.version || c.Version == 0):
		return fmt.Errorf("version %#x after %#x", c.Version, was.version)
	case (!done || kind == Get) && c.Version != was.version:
		return fmt.Errorf("%v returns version %#x, not %#x", kind, c.Version, was.version)
	}
	switch {
	case done && kind.puts():
		want[key] = entry{value, c.Version}
	case kind == Delete:
		delete(want, key)
	}
	return nil
}

// same compares a whole map.
func same(m *Map, want map[string]entry) error {
	var got []string
	var err error
	for p, failed := range m.All(context.Background()) {
		if err = failed; err != nil {
			break
		}
		if want[string(p.Key)].value != string(p.Value) {
			got = append(got, "wrong value: ")
		}
		got = append(got, string(p.Key))
	}
	slices.Sort(got)
	keys := slices.Sorted(maps.Keys(want))
	if !slices.Equal(got, keys) {
		return errors.Join(err, fmt.Errorf("the map has %q, not %q", got, keys))
	}
	n, lenErr := m.Len(context.Background())
	if n != uint64(len(want)) {
		err = errors.Join(err, fmt.Errorf("Len is %d, not %d", n, len(want)))
	}
	return errors.Join(err, lenErr)
}

// TestBatch: all ranks add to counters with CompareAndPut in batches, and none gets lost.
func TestBatch(t *testing.T) {
	const ranks, keys, adds = 3, 4, 60
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		err := withMap(e, ranks, small(copies), func(m *Map) error {
			ctx := context.Background()
			if err := errors.Join(count(m, keys, adds), m.job.Barrier(ctx)); err != nil {
				return err
			}
			sum := 0
			for k := range keys {
				value, _, _, err := m.Get([]byte{byte(k)}, nil)
				if err != nil {
					return err
				}
				sum += int(value[0])
			}
			if sum != ranks*adds {
				return fmt.Errorf("the counters add up to %d, not %d", sum, ranks*adds)
			}
			return errors.Join(m.Check(ctx), m.job.Barrier(ctx))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// count adds one to counters until it has done so adds times.
func count(m *Map, keys, adds int) error {
	for done := 0; done < adds; {
		gets := make([]Call, keys)
		for k := range gets {
			gets[k] = Call{Kind: Get, Key: []byte{byte(k)}}
		}
		if err := m.Batch(gets); err != nil {
			return err
		}
		puts := make([]Call, min(keys, adds-done))
		for k := range puts {
			value := []byte{1}
			if gets[k].Done {
				value[0] = gets[k].Value[0] + 1
			}
			puts[k] = Call{Kind: CompareAndPut, Key: gets[k].Key, Value: value,
				Version: gets[k].Version}
		}
		if err := m.Batch(puts); err != nil {
			return err
		}
		for _, c := range puts {
			if c.Done {
				done++
			}
		}
	}
	return nil
}

// TestCallsAgain: a call that is made again, and changes nothing then, is not done any more.
func TestCallsAgain(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		err := withMap(e, 1, small(copies), func(m *Map) error {
			calls := []Call{{Kind: PutIfAbsent, Key: []byte("key")},
				{Kind: CompareAndPut, Key: []byte("other")}, {Kind: Delete, Key: []byte("none")}}
			if err := m.Batch(calls); err != nil || !calls[0].Done || !calls[1].Done {
				return fmt.Errorf("the calls are %+v: %w", calls, err)
			}
			calls[1].Version, calls[2].Done = 0, true
			err := m.Batch(calls)
			for _, c := range calls {
				if c.Done {
					err = errors.Join(err, fmt.Errorf("%v is done again", c.Kind))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// failsRepeatedly puts new keys, which fails always for the same reason, and then one that is
// there.
func failsRepeatedly(m *Map, items bool) error {
	full := (*FullError)(nil)
	for i := range 200 {
		_, err := m.Put([]byte{200, byte(i)}, []byte{1})
		if !errors.As(err, &full) || full.Items != items {
			return fmt.Errorf("put %d into a full map returns %w", i, err)
		}
	}
	if items {
		return nil
	}
	_, err := m.Put([]byte{0}, []byte{2})
	return err
}

// TestFull: a map whose slots or items are used up says so, and loses nothing.
func TestFull(t *testing.T) {
	for _, items := range []bool{false, true} {
		cfg := Config{Slots: 16, Bytes: 1 << 12, MaxKey: 8, MaxValue: 8}
		if items {
			cfg.Slots, cfg.Bytes = 64, 20*64
		}
		err := withMap(engines[0], 1, cfg, func(m *Map) error {
			for i := range 65 {
				_, err := m.Put([]byte{byte(i)}, []byte{1})
				var full *FullError
				switch {
				case errors.As(err, &full) && full.Items == items && i >= 16:
					n, lenErr := m.Len(context.Background())
					if n != uint64(i) {
						return fmt.Errorf("%d keys after %d puts", n, i)
					}
					return errors.Join(lenErr, failsRepeatedly(m, items),
						m.Check(context.Background()))
				case err != nil:
					return fmt.Errorf("put %d: %w", i, err)
				}
			}
			return errors.New("65 keys found room")
		})
		if err != nil {
			t.Error(err)
		}
	}
}
