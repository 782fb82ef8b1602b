package sim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/set"
)

// crowd is a set of so many ranks, each of which inserts a few words; done is called after each.
func crowd(ctx context.Context, ranks int, done func()) error {
	_, err := sim.Run(sim.Options{Ranks: ranks, RanksPerHost: 16, Seed: 1, View: sim.ViewOwn,
		Context: ctx}, func(job rma.Job) error {
		ctx := context.Background() // the context of the run is enough to end it
		s, err := set.New(ctx, job, set.Config{Buckets: uint64(ranks) * 64, Chunk: 8, Depth: 4})
		if err != nil {
			return err
		}
		rng := job.(*sim.Job).Rand()
		words, results := make([]uint64, 4), make([]set.Result, 4)
		for i := range words {
			words[i] = 1 + rng.Uint64N(uint64(ranks)*16)
		}
		if err := s.FindOrPutBatch(words, results); err != nil {
			return err
		}
		done()
		return errors.Join(job.Barrier(ctx), s.Close(), job.Close())
	})
	return err
}

// The memory of a simulation grows with the ranks, and not with their square: with so many ranks
// 100 bytes for each two are 900 MB.
func TestThousands(t *testing.T) {
	if err := crowd(t.Context(), 3000, func() {}); err != nil {
		t.Fatal(err)
	}
}

// A run whose context ends stops where it is, whatever the ranks do and wait for.
func TestContextEndsRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := 0
	err := crowd(ctx, 500, func() {
		if done++; done == 100 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || done == 500 {
		t.Errorf("%d of 500 ranks were done: %v", done, err)
	}
}
