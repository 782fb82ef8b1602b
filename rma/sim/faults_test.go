package sim_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// program does a bit of everything with few calls.
func program(m *member) error {
	if err := m.put((m.Rank()+1)%m.Size(), 0, 1, 2); err != nil {
		return err
	}
	if err := m.barrier(); err != nil {
		return err
	}
	if _, err := m.get((m.Rank()+2)%m.Size(), 0, 2); err != nil {
		return err
	}
	h := m.q.FetchAdd(m.w, 0, 3, 1)
	if err := m.q.Submit(); err != nil {
		return err
	}
	if err := m.q.Wait(m.ctx, h); err != nil {
		return err
	}
	if _, err := m.q.Value(h); err != nil {
		return err
	}
	return m.barrier()
}

// Wherever a rank is killed, the others come to an end: they succeed, or get an error that names
// the dead rank.
func TestKillAtEveryCall(t *testing.T) {
	for _, survives := range []bool{false, true} {
		killed := 0
		for call := uint64(1); ; call++ {
			errs := make([]error, 3)
			opts := sim.Options{Ranks: 3, Seed: call, TearNs: 1000, Faults: sim.Faults{
				MemorySurvives: survives, Kills: []sim.Kill{{Rank: 1, AtCall: call}}}}
			r, err := together(opts, 4, func(m *member) error {
				errs[m.Rank()] = program(m)
				return errs[m.Rank()]
			})
			if errs[1] != nil {
				t.Fatalf("killed in call %d: rank 1 continues and returns %v", call, errs[1])
			}
			for _, e := range append(errs, err) {
				var gone *rma.RankError
				if e != nil && (!errors.As(e, &gone) || gone.Left) {
					t.Errorf("killed in call %d: %v", call, e)
				}
			}
			if r.Kills == 0 {
				if err != nil {
					t.Error(err)
				}
				break
			}
			killed++
		}
		if killed < 15 {
			t.Errorf("the program has only %d calls", killed)
		}
	}
}

// Killed by time, also while it waits, a rank does nothing more; others learn of it.
func TestKillByTime(t *testing.T) {
	deferred, unwoundFirst, failed, after := false, false, "", false
	opts := sim.Options{Ranks: 3, Faults: sim.Faults{Kills: []sim.Kill{{Rank: 2, AtNs: 50_000}}}}
	_, err := together(opts, 1, func(m *member) error {
		if m.Rank() == 2 {
			defer func() { deferred = true }()
			err := m.barrier() // to which the others come later
			after = true
			return err
		}
		for range 100 { // so that no rank runs alone
			m.Sleep(1000)
		}
		unwoundFirst = deferred
		failed = fmt.Sprint(m.Failed())
		if err := m.barrier(); err != nil {
			return fmt.Errorf("the barrier that rank 2 has come to: %v", err)
		}
		return m.barrier()
	})
	var gone *rma.RankError
	if !errors.As(err, &gone) || gone.Rank != 2 || gone.Left || !unwoundFirst || after ||
		failed != "[2]" {
		t.Errorf("%v; deferred calls were made in time: %v, it continued: %v, failed are %v",
			err, unwoundFirst, after, failed)
	}
}

// A killed rank's deferred functions cannot use the engine.
func TestKilledRankIsSilent(t *testing.T) {
	opts := sim.Options{Ranks: 2, Faults: sim.Faults{MemorySurvives: true,
		Kills: []sim.Kill{{Rank: 1, AtNs: 50_000}}}}
	r := mustTogether(t, opts, 1, func(m *member) error {
		if m.Rank() == 1 {
			defer func() { _ = m.put(0, 0, 13) }()
			defer m.Sleep(1e12)
			defer func() { _ = m.Close() }()
			m.Sleep(100_000)
		}
		m.Sleep(1_000_000)
		if got, err := m.get(0, 0, 1); err != nil || got[0] != 0 {
			t.Errorf("the dead rank's deferred function put %d, %v", got[0], err)
		}
		return nil
	})
	if r.TimeNs > 1e9 || r.Puts > 0 {
		t.Errorf("the dead rank's deferred functions made %d puts, slept until %d ns",
			r.Puts, r.TimeNs)
	}
}

// A rank may die before it has begun, and all may die.
func TestAllDie(t *testing.T) {
	begun := map[int]int{}
	for seed := range uint64(50) {
		opts := sim.Options{Ranks: 3, Seed: seed, Faults: sim.Faults{Kills: []sim.Kill{
			{Rank: 0, AtNs: 0}, {Rank: 1, AtNs: 5000}, {Rank: 2, AtNs: 5000}}}}
		_, err := sim.Run(opts, func(job rma.Job) error {
			begun[job.Rank()]++
			job.(*sim.Job).Sleep(10_000)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if begun[0] < 5 || begun[0] > 45 || begun[1] != 50 || begun[2] != 50 {
		t.Errorf("in 50 runs the ranks began so often: %v", begun)
	}
}

// An operation that a rank has sent before it dies takes effect, or not.
func TestKilledOperationArrivesOrNot(t *testing.T) {
	arrived := 0
	const runs = 50
	for seed := range uint64(runs) {
		opts := sim.Options{Ranks: 2, Seed: seed, View: sim.ViewOwn, Faults: sim.Faults{
			Kills: []sim.Kill{{Rank: 0, AtCall: 5}}}} // the call after Submit
		mustTogether(t, opts, 1, func(m *member) error {
			if m.Rank() == 0 {
				m.q.FetchAdd(m.w, 1, 0, 1)
				if err := m.q.Submit(); err != nil {
					return err
				}
				m.Sleep(0)
				t.Error("it was not killed")
			}
			m.Sleep(100_000)
			arrived += int(m.w.Words(1)[0])
			return nil
		})
	}
	if arrived < runs/5 || arrived > runs*4/5 {
		t.Errorf("%d of %d arrived", arrived, runs)
	}
}

// The memory of a killed rank fails with an error, or outlives it.
func TestMemoryOfKilledRank(t *testing.T) {
	for _, survives := range []bool{false, true} {
		opts := sim.Options{Ranks: 2, Faults: sim.Faults{MemorySurvives: survives,
			Kills: []sim.Kill{{Rank: 1, AtNs: 50_000}}, DetectNs: 7000}}
		mustTogether(t, opts, 1, func(m *member) error {
			if m.Rank() == 1 {
				m.Sleep(60_000)
			}
			if _, err := m.add(1, 0, 1); err != nil {
				return err
			}
			m.Sleep(60_000)
			begin := m.NowNs()
			seen, err := m.add(1, 0, 1)
			took := m.NowNs() - begin
			var lost *sim.LostError
			var gone *rma.RankError
			switch {
			case survives && (err != nil || seen != 1):
				t.Errorf("adding to memory that survives: %d, %v", seen, err)
			case !survives && (!errors.As(err, &lost) || !lost.Died || lost.Rank != 1 ||
				!errors.As(err, &gone) || gone.Rank != 1 || took < 7000 || took > 9000):
				t.Errorf("adding to memory that is gone: %v after %d ns", err, took)
			}
			return nil
		})
	}
}

// Of a torn put whose rank is killed while it is written, everything, nothing or a part arrives.
func TestKilledPutArrivesInPart(t *testing.T) {
	outcomes := map[string]int{}
	replay.Seeds(t, 200, func(t *testing.T, seed uint64) {
		opts := sim.Options{Ranks: 2, Seed: seed, TearNs: 4000, Faults: sim.Faults{
			Kills: []sim.Kill{{Rank: 0, AtNs: 3000}}}}
		mustTogether(t, opts, 8, func(m *member) error {
			if m.Rank() == 0 {
				return m.put(1, 0, slices.Repeat([]uint64{1}, 8)...)
			}
			m.Sleep(100_000)
			got, err := m.get(1, 0, 8)
			switch slices.Max(got) + slices.Min(got) {
			case 0:
				outcomes["nothing"]++
			case 1:
				outcomes["a part"]++
			case 2:
				outcomes["everything"]++
			}
			return err
		})
	})
	if !t.Failed() && len(outcomes) < 3 {
		t.Errorf("what arrived: %v", outcomes)
	}
}

func TestKillsByChance(t *testing.T) {
	kills := uint64(0)
	replay.Seeds(t, 20, func(t *testing.T, seed uint64) {
		opts := sim.Options{Ranks: 8, Seed: seed, Faults: sim.Faults{KillEvery: 50, MaxKills: 3,
			MemorySurvives: true}}
		r, err := together(opts, 1, func(m *member) error {
			for range 300 {
				if _, err := m.add(0, 0, 1); err != nil {
					return err
				}
			}
			return nil
		})
		var gone *rma.RankError
		if err != nil && !errors.As(err, &gone) {
			t.Error(err)
		}
		if r.Kills > 3 {
			t.Errorf("%d kills, want up to 3", r.Kills)
		}
		kills += r.Kills
	})
	if !t.Failed() && kills < 40 { // fewer than 60 only where nobody had the window
		t.Errorf("%d kills in 20 runs", kills)
	}
}
