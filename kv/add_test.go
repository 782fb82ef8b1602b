package kv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
)

// TestAdds: all ranks add one to the same counters, alone and in batches where a counter comes
// twice. No sum is returned twice, and the last ones are how often was added.
func TestAdds(t *testing.T) {
	const ranks, keys, rounds = 3, 4, 25
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		err := withMap(e, ranks, small(copies), func(m *Map) error {
			ctx := context.Background()
			sums := [keys][]int64{}
			for round := range rounds {
				calls := []Call{{Kind: Add, Key: []byte{0}, Delta: 1}}
				if round%2 == 0 {
					for k := 1; k < 2*keys; k++ {
						key := []byte{byte(k % keys)}
						calls = append(calls, Call{Kind: Add, Key: key, Delta: 1})
					}
				}
				if err := m.Batch(calls); err != nil {
					return err
				}
				for _, c := range calls {
					sums[c.Key[0]] = append(sums[c.Key[0]], c.Sum)
				}
			}
			if err := m.job.Barrier(ctx); err != nil {
				return err
			}
			for k := range keys {
				if err := eachSumOnce(m, []byte{byte(k)}, sums[k]); err != nil {
					return err
				}
			}
			return errors.Join(m.Check(ctx), m.job.Barrier(ctx))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// eachSumOnce makes sure that the sums of all ranks are 1 and on, to the value of the key. This
// rank has got some of them, of which it has each once.
func eachSumOnce(m *Map, key []byte, sums []int64) error {
	ctx := context.Background()
	value, _, _, err := m.Get(key, nil)
	if err != nil {
		return err
	}
	last := uint64(counterOf(value).number)
	total := uint64(0)
	for i, sum := range sums {
		if sum < 1 || uint64(sum) > last || slices.Contains(sums[:i], sum) {
			return fmt.Errorf("sum %d of %d comes again, or is none of 1 to %d", sum, sums, last)
		}
		total += uint64(sum)
	}
	n, err := lab.Sum(ctx, m.job, uint64(len(sums)))
	if err == nil {
		total, err = lab.Sum(ctx, m.job, total)
	}
	if err == nil && (n != last || total != n*(n+1)/2) {
		err = fmt.Errorf("%d is the last sum of %d, which are %d together", last, n, total)
	}
	return err
}

// TestCounters: a key that is not there counts as 0, also after a deletion; sums wrap around; and a
// value of another length stays, with its version.
func TestCounters(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		err := withMap(e, 1, small(copies), func(m *Map) error {
			key := []byte("key")
			add := func(delta, want int64) error {
				c := Call{Kind: Add, Key: key, Delta: delta}
				err := m.call(&c)
				if err == nil && (!c.Done || c.Sum != want || c.Version == 0) {
					err = fmt.Errorf("%+v, and the sum should be %d", c, want)
				}
				return errors.Join(err, has(m, key, string(numbered(int(want)))))
			}
			err := errors.Join(add(-3, -3), add(0, -3), add(5, 2),
				change(m, key, "", false), add(math.MaxInt64, math.MaxInt64), add(1, math.MinInt64),
				change(m, key, string(numbered(-1)), false), add(1, 0))
			for _, value := range []string{"", "1234567", "123456789", string(make([]byte, 64))} {
				err = errors.Join(err, refuses(m, key, value))
			}
			return errors.Join(err, sound(m))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// refuses makes sure that nothing is added to a value that is no counter, alone or in a batch whose
// other calls are made.
func refuses(m *Map, key []byte, value string) error {
	v, err := m.Put(key, []byte(value))
	if err != nil {
		return err
	}
	var wrong, wrongToo *CounterError
	_, _, alone := m.Add(key, 1)
	other := append([]byte("other than "), key...)
	calls := []Call{{Kind: Add, Key: other, Delta: 1}, {Kind: Add, Key: key, Delta: 1},
		{Kind: Delete, Key: other}}
	together := m.Batch(calls)
	c := calls[1]
	if !errors.As(alone, &wrong) || !errors.As(together, &wrongToo) || *wrong != *wrongToo ||
		wrong.Size != len(value) || c.Err == nil || c.Done || c.Version != v ||
		calls[0].Err != nil {
		return fmt.Errorf("%q: %w, %w, %+v", value, alone, together, calls)
	}
	return has(m, key, value)
}

// An Add that is refused, of which the machine has written the item before, gives the item back.
func TestRefusedAddsTakeNoItems(t *testing.T) {
	cfg := Config{Slots: 8, Bytes: 40 * 64, MaxKey: 8, MaxValue: 8}
	err := withMap(engines[1], 1, cfg, func(m *Map) error {
		key := []byte("key")
		if err := change(m, key, "no", false); err != nil {
			return err
		}
		for range 200 {
			var wrong *CounterError
			if _, _, err := m.Add(key, 1); !errors.As(err, &wrong) {
				return fmt.Errorf("adding to 2 bytes: %w", err)
			}
		}
		return sound(m)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestShippedAdds: adding is done once, also in batches with gets that answers have no room for.
func TestShippedAdds(t *testing.T) {
	const keys, rounds = 30, 4
	cfg := Config{Slots: 1 << 10, Bytes: 1 << 24, MaxKey: 40, MaxValue: MaxSize}
	eachCarrier(t, 3, cfg, func(m *Map) error {
		ctx := context.Background()
		long := string(make([]byte, 40_000))
		for i := range keys {
			if _, err := m.Put(sized("long", i, 8), []byte(long)); err != nil {
				return err
			}
		}
		for range rounds {
			var calls []Call
			for i := range keys {
				calls = append(calls, Call{Kind: Get, Key: sized("long", i, 8)},
					Call{Kind: Add, Key: sized("sum", i, 8), Delta: int64(i)})
			}
			if err := m.Batch(calls); err != nil {
				return err
			}
		}
		err := m.job.Barrier(ctx)
		for i := range keys {
			sum := numbered(3 * rounds * i)
			err = errors.Join(err, has(m, sized("sum", i, 8), string(sum)))
		}
		if s := m.Stats(); s.Kinds[Add].Calls == 0 || s.Served == 0 {
			err = errors.Join(err, fmt.Errorf("nothing was shipped: %+v", s))
		}
		return errors.Join(err, m.job.Barrier(ctx))
	})
}

// addLoses has another Add come first, to a key that is there, and to one that is new; and a put of
// what is no counter.
func addLoses(t *testing.T) error {
	mark.Need(t)
	for _, batch := range []bool{false, true} {
		err := overMemory(func(m *Map, key []byte) error {
			add := func(key []byte, delta, want int64) func() error {
				return func() error {
					calls := []Call{{Kind: Add, Key: key, Delta: delta}}
					var err error
					if batch {
						err = m.Batch(calls)
					} else {
						err = m.one(&calls[0], false)
					}
					if err == nil && calls[0].Sum != want {
						err = fmt.Errorf("the sum of %q is %d, not %d", key, calls[0].Sum, want)
					}
					return err
				}
			}
			fresh, again := []byte("fresh"), []byte("again")
			err := errors.Join(at(t, directSwap, add(fresh, 3, 3), add(fresh, 4, 7)),
				has(m, fresh, string(numbered(7))), sound(m),
				at(t, directSwap, add(fresh, 10, 17), add(fresh, 20, 37)),
				has(m, fresh, string(numbered(37))), sound(m),
				at(t, directSwapped, add(again, 2, 3), add(again, 1, 1)),
				has(m, again, string(numbered(3))))
			var wrong *CounterError
			refused := at(t, directSwap, func() error { return change(m, again, "x", batch) },
				add(again, 1, 0))
			if !errors.As(refused, &wrong) || wrong.Size != 1 {
				err = errors.Join(err, fmt.Errorf("adding to a value of 1 byte: %w", refused))
			}
			return errors.Join(err, has(m, again, "x"), sound(m))
		})
		if err != nil {
			return fmt.Errorf("batch %v: %w", batch, err)
		}
	}
	return nil
}
