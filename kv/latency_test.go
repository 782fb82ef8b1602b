package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// far runs fn on one of two ranks that are far apart. Its argument rounds is how many round trips
// of virtual time a function takes.
func far(t *testing.T, cfg Config, fn func(m *Map, rounds func(fn func() error) int64) error) {
	t.Helper()
	const roundTrip = 20_000_000
	cost := sim.EDR()
	cost.LatencyNs = roundTrip / 2
	ctx := context.Background()
	_, err := sim.Run(sim.Options{Ranks: 2, Seed: 1, Cost: cost, View: sim.ViewOwn,
		PatienceNs: rma.Patience.Nanoseconds()}, func(job rma.Job) error {
		m, err := New(ctx, job, cfg)
		if err == nil && job.Rank() == 1 {
			err = fn(m, func(fn func() error) int64 {
				begin := job.(*sim.Job).NowNs()
				if err := fn(); err != nil {
					t.Error(err)
				}
				return (job.(*sim.Job).NowNs() - begin) / roundTrip
			})
			err = errors.Join(err, m.CheckAll(ctx))
		} else if err == nil {
			err = m.CheckAll(ctx)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// putsOf are calls that put keys from first on.
func putsOf(first, n int) []Call {
	calls := make([]Call, n)
	for i := range calls {
		key := binary.LittleEndian.AppendUint64(nil, uint64(first+i))
		calls[i] = Call{Kind: Put, Key: key, Value: key}
	}
	return calls
}

// A batch that has the table grow takes as many round trips as a few batches: slots move side by
// side.
func TestGrowthTakesFewRounds(t *testing.T) {
	for _, copies := range []bool{false, true} {
		cfg := Config{Slots: 1 << 11, MaxSlots: 1 << 12, Bytes: 1 << 20, Copies: copies, Depth: 16}
		far(t, cfg, func(m *Map, rounds func(func() error) int64) error {
			longest := int64(0)
			for first := 0; first < 3<<10; first += 64 {
				longest = max(longest, rounds(func() error { return m.Batch(putsOf(first, 64)) }))
			}
			t.Logf("copies %v: the longest batch takes %d round trips", copies, longest)
			if gen := m.latest.Load().gen; gen != 2 || longest > 70 {
				t.Errorf("copies %v: table %d, and a batch takes %d round trips", copies, gen,
					longest)
			}
			return nil
		})
	}
}

// The longer a get takes, the more slots move side by side.
func TestCrewFollowsLatency(t *testing.T) {
	for getNs, want := range map[int64]uint64{0: 2048, 2e3: 64, 320e3: 64, 1e6: 200, 20e6: 2048,
		math.MaxInt64: 2048} {
		if n := crewFor(64, getNs); n != want {
			t.Errorf("where a get takes %d ns, %d slots move at a time, want %d", getNs, n, want)
		}
	}
}

// Calls that find the table full have it grow together.
func TestCallsGrowTogether(t *testing.T) {
	cfg := Config{Slots: 16, MaxSlots: 1 << 10, Bytes: 1 << 20}
	far(t, cfg, func(m *Map, rounds func(func() error) int64) error {
		took := rounds(func() error { return m.Batch(putsOf(0, 512)) })
		if t.Logf("%d round trips", took); took > 500 {
			t.Errorf("a batch takes %d round trips", took)
		}
		return nil
	})
}

// Writes of frozen keys have all parts move that they need, side by side.
func TestPartsMoveTogether(t *testing.T) {
	const n = 1 << 10
	cfg := Config{Slots: 2 * n, Bytes: 1 << 20}
	far(t, cfg, func(m *Map, rounds func(func() error) int64) error {
		calls := putsOf(0, n)
		if err := m.Batch(calls); err != nil {
			return err
		}
		if err := freezeAll(m); err != nil {
			return err
		}
		took := rounds(func() error { return m.Batch(calls[:64]) })
		if t.Logf("%d round trips", took); took > 60 {
			t.Errorf("a batch takes %d round trips", took)
		}
		return nil
	})
}

// freezeAll begins to move the table, and freezes all keys.
func freezeAll(m *Map) error {
	ctx := context.Background()
	now, err := m.state(ctx)
	if err == nil {
		now, err = m.begin(ctx, now, now.shape().size())
	}
	if err != nil {
		return err
	}
	return m.withSession(func(s *session) error {
		from, _ := m.tables(now)
		for slot := range from.slots {
			rank, off, _ := from.place(slot)
			if err := core.Await(ctx, s.q, s.q.Get(s.chunk[:1], m.slots, rank, off)); err != nil {
				return err
			}
			if word := s.chunk[0]; word&occupied != 0 {
				err := core.Await(ctx, s.q, s.q.CompareAndSwap(m.slots, rank, off, word,
					freeze(word, from.gen)))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Maps of ranks that write and move tables at the same time are right where messages are lost.
func TestMessagesAreLost(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(16) {
		cost := sim.EDR()
		cost.LatencyNs = 1_000_000
		opts := sim.Options{Ranks: 2 + int(seed%3), Seed: seed, Cost: cost,
			View: sim.View(seed % 2), PatienceNs: 100_000,
			Faults: sim.Faults{LossEvery: 2 + int(seed%7), ResendNs: 5_000_000}}
		cfg := Config{Slots: 64, MaxSlots: 1024, Bytes: 1 << 20, Copies: seed%4 > 1,
			Depth: 1 + int(seed/2), Chunk: 8 * (1 + int(seed%3))}
		_, err := sim.Run(opts, func(job rma.Job) error {
			m, err := New(ctx, job, cfg)
			for i := 0; err == nil && i < 8; i++ {
				calls := putsOf(job.Rank()*1000+i*32, 32)
				if err = m.Batch(calls); err == nil && i%3 == 2 {
					for j := range calls {
						calls[j] = Call{Kind: Delete, Key: calls[j].Key}
					}
					err = m.Batch(calls)
				}
			}
			if err = errors.Join(err, job.Barrier(ctx)); err != nil {
				return err
			}
			if n, err := m.Len(ctx); err != nil || n != uint64(job.Size())*6*32 {
				t.Errorf("seed %d: %d keys, %v", seed, n, err)
			}
			return m.CheckAll(ctx)
		})
		if err != nil {
			t.Error(err)
		}
	}
}
