package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// TestLostRank: the memory of a rank goes away. Keys of the others are answered, and the
// error says whose memory it was; nothing waits for ever.
func TestLostRank(t *testing.T) {
	const ranks, lost = 4, 2
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			cfg := s.cfg
			rng := rand.New(rand.NewPCG(3, 4))
			all := records(rng, cfg, 200, 4)
			m := modelOf(all)
			var keys [][]byte
			for key := range m {
				keys = append(keys, []byte(key))
			}
			met := make([]bool, ranks)
			const deathNs = 1_000_000_000 // when all have the index
			opts := sim.Options{Ranks: ranks, Seed: 1}
			opts.Faults.Kills = []sim.Kill{{Rank: lost, AtNs: deathNs}}
			_, err := sim.Run(opts, func(job rma.Job) error {
				ctx := context.Background()
				x, err := Build(ctx, job, cfg, each(all, job.Rank(), ranks))
				if err != nil {
					return err
				}
				if job.Rank() == lost {
					job.(*sim.Job).Sleep(2 * deathNs)
					return errors.New("it lives on")
				}
				// The next barrier fails when the rank is seen to be gone.
				var gone *rma.RankError
				if err := job.Barrier(ctx); !errors.As(err, &gone) {
					return fmt.Errorf("the barrier says %v", err)
				}
				met[job.Rank()] = true
				return half(x, m, keys, lost)
			})
			must(t, err)
			if !met[0] || !met[1] || !met[3] {
				t.Errorf("ranks that went on: %v", met)
			}
		})
	}
}

// half looks up keys when the memory of a rank is gone.
func half(x *Index, m model, keys [][]byte, lost int) error {
	answers := make([][]string, len(keys))
	err := x.LookupKeys(keys, func(i int, v Value) { answers[i] = append(answers[i], string(v)) })
	var gone *sim.LostError
	if !errors.As(err, &gone) {
		return fmt.Errorf("a batch says %v", err)
	}
	for i, key := range keys {
		rank, _ := place(hashKey(key), x.t.ranks)
		if rank != lost {
			if err := m.same("beside a lost rank", key, answers[i]); err != nil {
				return err
			}
			continue
		}
		failed := false
		for _, err := range x.Lookup(key) {
			failed = failed || errors.As(err, &gone)
		}
		if !failed {
			return fmt.Errorf("key %x of rank %d was looked up without an error", key, lost)
		}
	}
	return nil
}

// TestRankDiesWhileBuilding kills a rank at some call of the engine: the others get an error
// or, if it came late, an index, and nobody hangs.
func TestRankDiesWhileBuilding(t *testing.T) {
	cfg := Config{KeySize: 8, ValueSize: 40}
	all := records(rand.New(rand.NewPCG(5, 6)), cfg, 500, 2)
	failed, built, calls := 0, 0, 600
	for call := 1; call <= calls; call++ {
		opts := sim.Options{Ranks: 3, Seed: uint64(call)}
		opts.Faults.Kills = []sim.Kill{{Rank: 1, AtCall: uint64(call)}}
		errs := make([]error, 3)
		_, err := sim.Run(opts, func(job rma.Job) error {
			x, err := Build(context.Background(), job, cfg, each(all, job.Rank(), 3))
			if errs[job.Rank()] = err; err == nil {
				err = x.Close()
			}
			return err
		})
		var gone *rma.RankError
		if errs[0] != nil && !errors.As(errs[0], &gone) {
			t.Errorf("killed at call %d: %v, %v", call, errs[0], err)
		}
		if errs[0] != nil {
			failed++
		} else {
			built++
		}
	}
	if failed == 0 || built == 0 {
		t.Errorf("%d builds failed, %d did not; want some of both", failed, built)
	}
}

// TestLinkIsCutWhileBuilding cuts a link at some time, so that some puts of a round fail and
// others do not: every rank gets an error or an index, and none panics.
func TestLinkIsCutWhileBuilding(t *testing.T) {
	cfg := Config{KeySize: 8, ValueSize: 40}
	all := records(rand.New(rand.NewPCG(5, 6)), cfg, 500, 2)
	failed, calls := 0, 0
	for fromNs := int64(0); fromNs < 200_000; fromNs += 4000 {
		opts := sim.Options{Ranks: 4, Seed: 1}
		opts.Faults.RetryNs = 10_000
		opts.Faults.Cuts = []sim.Cut{{A: 0, B: 1, FromNs: fromNs, ToNs: fromNs + 40_000}}
		_, err := sim.Run(opts, func(job rma.Job) error {
			x, err := Build(context.Background(), job, cfg, each(all, job.Rank(), 4))
			if calls++; err != nil {
				failed++
				return nil
			}
			return x.Close()
		})
		must(t, err)
	}
	if failed == 0 || failed == calls {
		t.Errorf("%d of %d builds failed; want some, and not all", failed, calls)
	}
}
