package kv

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// holdAll holds every area.
func holdAll(m *Map) (h hold, err error) {
	h.m = m
	for area := range m.areas {
		h.delta |= 1 << (holdBits * area)
	}
	_, err = h.take(context.Background())
	return h, err
}

// TestWaitsForArea: a table that can move to no area moves when one is released, or when the rank
// that holds it has died.
func TestWaitsForArea(t *testing.T) {
	allHeld.Claim(t)
	for _, dies := range []bool{false, true} {
		opts := sim.Options{Ranks: 2, MaxTimeNs: 1_000_000_000,
			Faults: sim.Faults{MemorySurvives: true}}
		if dies {
			opts.Faults.Kills = []sim.Kill{{Rank: 1, AtNs: 2_000_000}}
		}
		releasedNs, begunNs := int64(0), int64(0)
		_, err := sim.Run(opts, func(j rma.Job) error {
			ctx, job := context.Background(), j.(*sim.Job)
			m, err := New(ctx, job, Config{Slots: 16, MaxSlots: 16, Bytes: 1 << 12, MaxKey: 8,
				MaxValue: 8})
			if err != nil {
				return err
			}
			if job.Rank() == 1 {
				h, err := holdAll(m)
				if err = errors.Join(err, job.Barrier(ctx)); err != nil {
					return err
				}
				job.Sleep(1_000_000)
				releasedNs = job.NowNs()
				if dies {
					job.Sleep(100_000_000)
				}
				return h.release()
			}
			now, err := m.state(ctx)
			if err = errors.Join(err, job.Barrier(ctx)); err != nil {
				return err
			}
			now, err = m.begin(ctx, now, 0)
			begunNs = job.NowNs()
			if err == nil && !now.moving() {
				err = errors.New("the table does not move")
			}
			return errors.Join(err, moveTable(m, 0), m.Check(ctx))
		})
		if err != nil || releasedNs == 0 || begunNs < releasedNs {
			t.Errorf("rank 1 dies %v: held until %d ns, moved after %d ns: %v", dies, releasedNs,
				begunNs, err)
		}
	}
}

// TestReleasesArea: all that movers have in flight has arrived when they release their areas.
func TestReleasesArea(t *testing.T) {
	for seed := range uint64(40) {
		opts := sim.Options{Ranks: 1, Seed: 1 + seed, StallEvery: 2 + int(seed),
			StallNs: 10_000_000}
		_, err := sim.Run(opts, func(job rma.Job) error {
			ctx := context.Background()
			m, err := New(ctx, job, Config{Slots: 64, MaxSlots: 64, Bytes: 1 << 14, MaxKey: 8,
				MaxValue: 8})
			for i := 0; i < 40 && err == nil; i++ {
				_, err = m.Put(numbered(i), numbered(i))
			}
			if err != nil {
				return err
			}
			now, err := m.state(ctx)
			if err == nil {
				now, err = m.begin(ctx, now, 0)
			}
			if err != nil {
				return err
			}
			_, into := m.tables(now)
			return m.withSession(func(s *session) error {
				return errors.Join(s.finishMove(ctx, now), thawed(ctx, m, into))
			})
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// thawed makes sure that nobody holds an area, and no slot of a table is frozen.
func thawed(ctx context.Context, m *Map, t *table) error {
	held, err := m.held(ctx)
	if err != nil || held != 0 {
		return fmt.Errorf("%#x is held: %w", held, err)
	}
	w, err := m.walker(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	for s := range w.table(t, 0, t.slots) {
		if s.word&occupied != 0 && s.word&frozen != 0 {
			return fmt.Errorf("slot %d is frozen: %#x", s.slot, s.word)
		}
	}
	return w.err
}
