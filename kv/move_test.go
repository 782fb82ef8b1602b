package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/internal/testkit/replay"
)

// moveTable begins to move the table, if it is not moving yet, and moves some parts of it; or
// all of it, if that many are none.
func moveTable(m *Map, parts int) error {
	s, err := m.session()
	if err != nil {
		return err
	}
	ctx := context.Background()
	now, err := m.state(ctx)
	if t, _ := m.tables(now); err == nil && !now.moving() {
		size := t.shape.size()
		if t.slots < m.cfg.MaxSlots && now.gen()%3 == 0 {
			size++
		}
		now, err = m.begin(ctx, now, size)
	}
	switch {
	case err != nil || !now.moving():
	case parts > 0:
		t, _ := m.tables(now)
		m.partsLeft(t)
		err = s.helpMove(now, parts)
	default:
		err = s.finishMove(ctx, now)
	}
	m.pool.Give(s, err != nil)
	return err
}

// canGrow reports whether the table of a map can have more slots than at first.
func canGrow(m *Map) bool { return m.cfg.MaxSlots > m.cfg.Slots }

// moving is small, with a table that can move.
func moving(copies bool) Config {
	cfg := small(copies)
	cfg.Slots, cfg.MaxSlots = 8, 64
	return cfg
}

// TestStreamMoving compares a map whose table moves with one of Go, operation by operation.
func TestStreamMoving(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		err := withMap(e, 2, moving(copies), func(m *Map) error {
			err := error(nil)
			if m.job.Rank() == 0 {
				err = streamMoving(m, 800)
			}
			return errors.Join(err, m.job.Barrier(context.Background()))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// streamMoving makes random calls, and moves a part of the table now and then. The keys drift,
// so that there are more than slots in the long run.
func streamMoving(m *Map, calls int) error {
	rng := rand.New(rand.NewPCG(3, 4))
	want := map[string]entry{}
	for i := range calls {
		key := fmt.Sprintf("%0*d", 1+rng.IntN(2)*20, i/20+rng.IntN(9))
		value := fmt.Sprintf("%0*d", 1+rng.IntN(100), i)
		if err := streamCall(m, rng, want, key, value); err != nil {
			return fmt.Errorf("call %d, key %q: %w", i, key, err)
		}
		if rng.IntN(8) == 0 { // so that there is room
			for key := range want {
				if _, err := m.Delete([]byte(key)); err != nil {
					return err
				}
				delete(want, key)
				break
			}
		}
		if rng.IntN(10) == 0 {
			if err := moveTable(m, rng.IntN(4)); err != nil {
				return err
			}
		}
		if i%50 == 0 {
			if err := errors.Join(same(m, want), m.Check(context.Background())); err != nil {
				return fmt.Errorf("after call %d: %w", i, err)
			}
		}
	}
	if gen := m.latest.Load().gen; gen < 10 {
		return fmt.Errorf("the table has moved %d times only", gen-1)
	}
	return errors.Join(same(m, want), m.Check(context.Background()))
}

// TestGrows: all ranks put new keys into a map with few slots, and read what they have put
// while others continue.
func TestGrows(t *testing.T) {
	const ranks, keys, batch = 3, 320, 40
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		cfg := Config{Slots: 8, MaxSlots: 1000, Bytes: 1 << 16, MaxKey: 8,
			MaxValue: 8, Copies: copies}
		err := withMap(e, ranks, cfg, func(m *Map) error {
			err := fill(m, keys, batch)
			if err = errors.Join(err, m.job.Barrier(context.Background())); err != nil {
				return err
			}
			n, err := m.Len(context.Background())
			if err == nil && n != ranks*keys {
				err = fmt.Errorf("%d keys, not %d", n, ranks*keys)
			}
			return errors.Join(err, m.Check(context.Background()),
				m.job.Barrier(context.Background()))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestGradual: no call moves more than a few parts of a large table. Puts of new keys, of keys that
// are there, and gets have it move on, one by one and in batches.
func TestGradual(t *testing.T) {
	for _, copies := range []bool{false, true} {
		for _, batch := range []int{1, 3} {
			cfg := Config{Slots: 1 << 13, MaxSlots: 1 << 15, Bytes: 1 << 22, MaxKey: 8,
				MaxValue: 8, Copies: copies, Chunk: 8}
			err := withMap(engines[0], 1, cfg, func(m *Map) error {
				m.gradualSlots = 0
				return fillGradually(m, batch)
			})
			if err != nil {
				t.Errorf("copies %v, batch %d: %v", copies, batch, err)
			}
		}
	}
}

func fillGradually(m *Map, batch int) error {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(5, 6))
	calls, want, early := make([]Call, batch), map[string]entry{}, 0
	n := 0
	for len(want) < 20<<10 {
		for i := range calls {
			key := number(m, len(want)-rng.IntN(2)*rng.IntN(len(want)+1))
			calls[i] = Call{Kind: []Kind{Put, Put, Get}[rng.IntN(3)], Key: key, Value: key[:0]}
			if calls[i].Kind == Put {
				calls[i].Value = key
				want[string(key)] = entry{value: string(key)}
			}
		}
		before := partsToMove(m)
		if err := m.Batch(calls); err != nil {
			return err
		}
		after := partsToMove(m)
		if after > 0 && after < before {
			early++
		}
		if most := batch*partsPerCall + firstParts; before-after > most {
			return fmt.Errorf("%d calls have moved %d parts, at most %d are to", batch,
				before-after, most)
		}
		if n++; n%2048 == 0 || after > 0 && after < before && early%64 == 0 {
			if err := m.Check(ctx); err != nil {
				return err
			}
		}
	}
	if early < 30 {
		return fmt.Errorf("%d calls have met a table that moves", early)
	}
	if err := moveTable(m, 1); err != nil {
		return err
	}
	for n := 0; partsToMove(m) > 0; n++ { // gets alone have it move to the end
		if _, _, ok, err := m.Get(number(m, n%len(want)), nil); !ok || err != nil || n > 1<<16 {
			return fmt.Errorf("get %d: %v, %w", n, ok, err)
		}
	}
	return errors.Join(same(m, want), m.Check(ctx))
}

// halfMoved runs fn with a map whose table moves, and with keys that have the same home in both
// tables, of which the first n are there and have moved.
func halfMoved(t *testing.T, n int, fn func(m *Map, keys [][]byte) error) {
	t.Helper()
	err := withMap(engines[0], 1, Config{Slots: 1 << 12, MaxSlots: 1 << 13, Bytes: 1 << 13,
		MaxKey: 8, MaxValue: 8, Chunk: 1}, func(m *Map) error {
		m.gradualSlots = 0
		from, into := m.latest.Load(), m.table(2, newShape(1, 1))
		homes := func(key []byte) [2]uint64 {
			return [2]uint64{from.slotAt(hashOf(key), 0), into.slotAt(hashOf(key), 0)}
		}
		keys := [][]byte{[]byte("key")}
		for i := 0; len(keys) < 10; i++ {
			if key := fmt.Appendf(nil, "%d", i); homes(key) == homes(keys[0]) {
				keys = append(keys, key)
			}
		}
		var err error
		for _, key := range keys[:n] {
			_, e := m.Put(key, key)
			err = errors.Join(err, e)
		}
		ctx := context.Background()
		now, e := m.state(ctx)
		if err = errors.Join(err, e); err == nil {
			now, err = m.begin(ctx, now, 1)
		}
		m.partsLeft(from)
		home := m.partAt(from, homes(keys[0])[0])
		err = errors.Join(err, m.withSession(func(s *session) error {
			return s.move(ctx, now, []int{home, home + 1, home + 2}, 0, false)
		}))
		return errors.Join(err, fn(m, keys), m.Check(ctx))
	})
	if err != nil {
		t.Error(err)
	}
}

// partsToMove is how many parts of the table are left to move, 0 if it does not move.
func partsToMove(m *Map) int {
	now, err := m.state(context.Background())
	if from, _ := m.tables(now); err == nil && now.moving() {
		return m.partsLeft(from)
	}
	return 0
}

// A new key for which the next table has no slot near its home waits until all slots have moved.
func TestFarKeyWaits(t *testing.T) {
	halfMoved(t, 8, func(m *Map, keys [][]byte) error {
		_, err := m.Put(keys[8], keys[8])
		if left := partsToMove(m); left > 0 {
			err = errors.Join(err, fmt.Errorf("%d parts are left to move", left))
		}
		return errors.Join(err, has(m, keys[8], string(keys[8])))
	})
}

// Each new key has some parts move before it comes into the next table.
func TestNewKeyPays(t *testing.T) {
	halfMoved(t, 2, func(m *Map, keys [][]byte) (err error) {
		left := partsToMove(m)
		for _, key := range keys[8:10] {
			_, e := m.Put(key, key)
			err = errors.Join(err, e)
			if now := partsToMove(m); left-now != partsPerCall {
				err = errors.Join(err, fmt.Errorf("%q: %d parts were left, and %d are", key, left,
					now))
			}
			err = errors.Join(err, has(m, key, string(key)))
			left = partsToMove(m)
		}
		return err
	})
}

// fill puts keys of this rank in batches, and reads each batch twice: at once, and in the end.
func fill(m *Map, keys, batch int) error {
	get := func(first int) error {
		calls := make([]Call, batch)
		for i := range calls {
			calls[i] = Call{Kind: Get, Key: number(m, first+i)}
		}
		if err := m.Batch(calls); err != nil {
			return err
		}
		for _, c := range calls {
			if !c.Done || string(c.Value) != string(c.Key) {
				return fmt.Errorf("key %x has %x, there %v", c.Key, c.Value, c.Done)
			}
		}
		return nil
	}
	for first := 0; first < keys; first += batch {
		calls := make([]Call, batch)
		for i := range calls {
			key := number(m, first+i)
			calls[i] = Call{Kind: Put, Key: key, Value: key}
		}
		if err := errors.Join(m.Batch(calls), get(first)); err != nil {
			return err
		}
	}
	for first := 0; first < keys; first += batch {
		if err := get(first); err != nil {
			return err
		}
	}
	return nil
}

// number is key i of this rank.
func number(m *Map, i int) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(i)<<8|uint64(m.job.Rank()))
}

// TestChurn: ever new keys come and go in a table that cannot grow, with few items. Both are
// given back.
func TestChurn(t *testing.T) {
	for _, slots := range []uint64{32, 256} { // slots run out first, or items
		cfg := Config{Slots: slots, MaxSlots: slots, Bytes: 200 * 64,
			MaxKey: 8, MaxValue: 8}
		err := withMap(engines[0], 2, cfg, func(m *Map) error {
			for i := range 1500 {
				if _, err := m.Put(number(m, i), []byte{1}); err != nil {
					return fmt.Errorf("put %d: %w", i, err)
				}
				if ok, err := m.Delete(number(m, i-9)); err != nil || ok != (i >= 9) {
					return fmt.Errorf("delete %d: %v, %w", i-9, ok, err)
				}
			}
			if err := m.job.Barrier(context.Background()); err != nil {
				return err
			}
			n, err := m.Len(context.Background())
			if err == nil && n != 18 {
				err = fmt.Errorf("%d keys, not 18", n)
			}
			return errors.Join(err, m.Check(context.Background()),
				m.job.Barrier(context.Background()))
		})
		if err != nil {
			t.Errorf("%d slots: %v", slots, err)
		}
	}
}

// TestDefaultSurvivesChurn: a map with the least configuration takes ever new keys, of which each
// rank has one at a time, on all ways to the memory. Its slots run out first, or its items.
func TestDefaultSurvivesChurn(t *testing.T) {
	const ranks, slots = 2, 1024
	calls := replay.Often(20, 100) * slots // of each rank
	if testing.Short() || memory.RaceEnabled {
		calls = 4 * slots
	}
	for _, e := range slices.Concat(engines[:2], carriers) { // a simulated one takes too long
		for _, items := range []uint64{2 * slots, slots / 2} {
			cfg := Config{Slots: slots, Bytes: items * 64, MaxKey: 8, MaxValue: 8}
			err := withMap(e, ranks, cfg, func(m *Map) error {
				ctx := context.Background()
				for i := range calls {
					put := Call{Kind: Put, Key: number(m, i)}
					if err := m.call(&put); err != nil {
						return fmt.Errorf("put %d: %w", i, err)
					}
					remove := Call{Kind: Delete, Key: put.Key}
					if err := m.call(&remove); err != nil || !remove.Done {
						return fmt.Errorf("delete %d: done %v, error %v", i, remove.Done, err)
					}
				}
				if err := m.job.Barrier(ctx); err != nil {
					return err
				}
				return errors.Join(same(m, nil), m.Check(ctx), m.job.Barrier(ctx))
			})
			if err != nil {
				t.Errorf("%s, %d items: %v", e.Name, items, err)
			}
		}
	}
}

// TestFullGrown: a table that has become as large as it can says so, and loses nothing.
func TestFullGrown(t *testing.T) {
	cfg := Config{Slots: 8, MaxSlots: 40, Bytes: 1 << 13, MaxKey: 8,
		MaxValue: 8}
	err := withMap(engines[1], 1, cfg, func(m *Map) error {
		for i := range 40 {
			if _, err := m.Put([]byte{byte(i)}, []byte{1}); err != nil {
				return fmt.Errorf("put %d: %w", i, err)
			}
		}
		full := (*FullError)(nil)
		_, err := m.Put([]byte{99}, nil)
		if !errors.As(err, &full) || full.Items || full.Slots != 40 {
			return fmt.Errorf("the put of one more key returns %w", err)
		}
		n, err := m.Len(context.Background())
		if n != 40 {
			err = errors.Join(err, fmt.Errorf("%d keys, not 40", n))
		}
		for i := range 6 { // enough for a table to move because of them
			_, e := m.Delete([]byte{byte(i)})
			err = errors.Join(err, e)
		}
		_, e := m.Put([]byte{99}, nil)
		return errors.Join(err, e, goesOnGrown(m), m.Check(context.Background()))
	})
	if err != nil {
		t.Error(err)
	}
}

// goesOnGrown gets every key that is there.
func goesOnGrown(m *Map) error {
	for i := 6; i < 40; i++ {
		if _, _, ok, err := m.Get([]byte{byte(i)}, nil); err != nil || !ok {
			return fmt.Errorf("key %d: there %v, %w", i, ok, err)
		}
	}
	return nil
}

// TestGrownRoundTrips: when a table has grown, and it is known, nothing of that is left to
// be paid for.
func TestGrownRoundTrips(t *testing.T) {
	cfg := Config{Slots: 64, MaxSlots: 1 << 13, Bytes: 1 << 20, MaxKey: 8,
		MaxValue: 8}
	err := withMap(engines[1], 1, cfg, func(m *Map) error {
		n := uint64(0)
		for ; m.Slots() < 1<<13; n++ {
			if err := do(m, Put, n); err != nil {
				return err
			}
		}
		load := float64(n) / float64(1<<12)
		if load < .75 { // of the table before
			t.Errorf("the table has grown at load %.2f", load)
		}
		put, err := cost(m, Put, n, n+500)
		over, overErr := cost(m, Put, 0, n)
		get, getErr := cost(m, Get, 0, n)
		t.Logf("put %.3f, put again %.3f, get %.3f", put, over, get)
		if put > 2.1 || over > 3.005 || get > 2.01 {
			t.Error("more than 2.1, 3.005 and 2.01")
		}
		return errors.Join(err, overErr, getErr, m.Check(context.Background()))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Used counts slots of deleted keys until the table moves.
func TestUsed(t *testing.T) {
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		err := withMap(e, 2, moving(copies), func(m *Map) error {
			if m.job.Rank() > 0 {
				return nil
			}
			err := fill(m, 6, 1)
			for i := range 2 {
				_, gone := m.Delete(number(m, i))
				err = errors.Join(err, gone)
			}
			for _, taken := range []float64{6, 4} {
				used, usedErr := m.Used(t.Context())
				if err = errors.Join(err, usedErr); used != taken/float64(m.Slots()) {
					err = errors.Join(err, fmt.Errorf("%v of %d slots are used", used, m.Slots()))
				}
				err = errors.Join(err, moveTable(m, 0))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
