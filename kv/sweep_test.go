package kv

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// TestSweep: a rank takes items of another one out of the table and dies before it marks them.
// Their owner finds them, and nothing else, when Sweep is called, or when it has no free item.
func TestSweep(t *testing.T) {
	recovered.Claim(t)
	const keys = 20
	for _, e := range engines {
		for _, sweep := range []bool{false, true} {
			cfg := Config{Slots: 80, Bytes: 100 * 64, MaxKey: 8, MaxValue: 8}
			err := withMap(e, 2, cfg, func(m *Map) error {
				ctx := context.Background()
				err := error(nil)
				if m.job.Rank() == 0 {
					for i := range keys {
						_, e := m.Put([]byte{byte(i)}, []byte("old"))
						err = errors.Join(err, e)
					}
				}
				if err = errors.Join(err, m.job.Barrier(ctx)); err == nil && m.job.Rank() == 1 {
					err = takeOut(m, keys/2)
				}
				if err = errors.Join(err, m.job.Barrier(ctx)); err == nil && m.job.Rank() == 0 {
					err = getBack(m, keys, sweep)
				}
				return errors.Join(err, m.job.Barrier(ctx))
			})
			if err != nil {
				t.Errorf("%s, sweep %v: %v", e.Name, sweep, err)
			}
		}
	}
}

// takeOut puts the first keys, without marking the items that were there.
func takeOut(m *Map, keys int) error {
	for i := range keys {
		s, err := m.session()
		if err != nil {
			return err
		}
		o, c := &s.ops[0], Call{Kind: Put, Key: []byte{byte(i)}, Value: []byte("new")}
		o.start(&c)
		err = runUntil(s.q, o, func() bool { return o.step == stepSwap })
		m.pool.Give(s, true) // which forgets what was not submitted
		if err != nil {
			return err
		}
	}
	return nil
}

// getBack uses all items of this rank, keys of which it has put, and half of them are lost.
func getBack(m *Map, keys int, sweep bool) error {
	ctx := context.Background()
	if sweep {
		for _, want := range []int{keys / 2, 0} {
			if n, err := m.swept(ctx); n != want || err != nil {
				return fmt.Errorf("swept %d items, not %d: %w", n, want, err)
			}
		}
	}
	all := int(m.arena.units)
	for i := keys; i < keys+all-keys/2; i++ {
		if _, err := m.Put([]byte{byte(i), 1}, nil); err != nil {
			return fmt.Errorf("put %d: %w", i, err)
		}
	}
	for i := range keys {
		want := "old"
		if i < keys/2 {
			want = "new"
		}
		if err := has(m, []byte{byte(i)}, want); err != nil {
			return err
		}
	}
	return m.Check(ctx)
}

// swept is how many items a sweep has found.
func (m *Map) swept(ctx context.Context) (found int, err error) {
	found, _, _, err = m.sweep(ctx)
	return found, err
}

// A put that has found no item looks again before the map is full: another call may have given one
// back since.
func TestItemGivenBackMeanwhile(t *testing.T) {
	job := local.Single()
	defer job.Close()
	m, err := New(t.Context(), job, Config{Slots: 64, Bytes: 32 * 64, MaxKey: 8, MaxValue: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var held []item
	for {
		it, ok, err := m.arena.take(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		held = append(held, it)
	}
	find := func(class int) error {
		return m.withSession(func(s *session) error { return s.findItem(t.Context(), class) })
	}
	full := (*FullError)(nil)
	if err := find(0); !errors.As(err, &full) || !full.Items {
		t.Errorf("without a free item: %v", err)
	}
	m.arena.giveBack(held[0], 1)
	if err := find(0); err != nil {
		t.Errorf("with a free item: %v", err)
	}
	if err := find(1); !errors.As(err, &full) {
		t.Errorf("with a free item of another class: %v", err)
	}
}

// TestRoomComesBack: a map that was full takes keys again when others were deleted, at once by the
// rank that has deleted them, and soon where another one has.
func TestRoomComesBack(t *testing.T) {
	const slots, items = 256, 100
	for at := range 4 { // small pairs and large ones
		deleter, units := at%2, 1<<(at/2*8)
		value := make([]byte, (units-1)*unitBytes)
		cfg := Config{Slots: slots, MaxSlots: slots, Bytes: uint64(items * units * unitBytes),
			MaxKey: 8, MaxValue: max(8, len(value))}
		err := withMap(engines[1], 2, cfg, func(m *Map) error {
			ctx, rank := context.Background(), m.job.Rank()
			var full *FullError
			n, err := 0, error(nil)
			for ; rank == 0 && err == nil; n++ {
				_, err = m.Put(numbered(n), value)
			}
			if rank == 0 && (!errors.As(err, &full) || !full.Items || n != items+1) {
				return fmt.Errorf("put %d: %w", n, err)
			}
			if err := m.job.Barrier(ctx); err != nil {
				return err
			}
			for i := range items {
				if rank == deleter {
					if done, err := m.Delete(numbered(i)); !done || err != nil {
						return fmt.Errorf("delete %d: done %v, %w", i, done, err)
					}
				}
			}
			if err := m.job.Barrier(ctx); rank > 0 || err != nil {
				return err
			}
			refused := 0
			for err = full; errors.As(err, &full) && refused < 2*maxInVain; refused++ {
				_, err = m.Put(numbered(n), value)
			}
			if deleter == 0 && refused > 1 || refused > maxInVain+1 {
				err = errors.Join(err, fmt.Errorf("%d puts are refused", refused-1))
			}
			for i := 1; i < items && err == nil; i++ {
				_, err = m.Put(numbered(n+i), value)
			}
			return errors.Join(err, m.Check(ctx))
		})
		if err != nil {
			t.Errorf("rank %d deletes, items of %d units: %v", deleter, units, err)
		}
	}
}

// TestFullOverwrites: a map that takes no new key takes other values for those that it has.
func TestFullOverwrites(t *testing.T) {
	fromReserve.Claim(t)
	const units = 1 << 12
	cfg := Config{Slots: 2 * units, Bytes: units * unitBytes, MaxKey: 8, MaxValue: 8}
	for _, e := range engines[:2] {
		err := withMap(e, 1, cfg, func(m *Map) error {
			var full *FullError
			n, err := 0, error(nil)
			for ; err == nil; n++ {
				_, err = m.Put(numbered(n), numbered(1))
			}
			if !errors.As(err, &full) || !full.Items || n < units-m.arena.wanted(0) {
				return fmt.Errorf("put %d: %w", n, err)
			}
			for i := range 100 {
				_, putErr := m.Put(numbered(i), numbered(2))
				sum, _, addErr := m.Add(numbered(i), 3)
				if err := errors.Join(putErr, addErr); err != nil || sum != 5 {
					return fmt.Errorf("key %d has %d: %w", i, sum, err)
				}
				if _, err := m.Put(numbered(n+i), nil); !errors.As(err, &full) {
					return fmt.Errorf("put of one more key: %w", err)
				}
			}
			return m.Check(context.Background())
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// TestDamagedItem: a walk over a map of which an item is damaged says so, and ends.
func TestDamagedItem(t *testing.T) {
	for _, e := range engines[:2] {
		err := withMap(e, 1, small(false), func(m *Map) error {
			ctx := context.Background()
			_, err := m.Put(numbered(1), numbered(2))
			if err = errors.Join(err, m.cells.Store(ctx, 0, sealWord, 1<<40)); err != nil {
				return err
			}
			walked := error(nil)
			for _, err := range m.All(ctx) {
				walked = err
			}
			if walked == nil || m.Check(ctx) == nil {
				return fmt.Errorf("All says %v, Check nothing", walked)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}
