package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/set"
)

// gets keeps depth gets of 8 words of random ranks in flight.
func gets(job rma.Job, depth, n int) error {
	ctx := context.Background()
	w, err := job.NewWindow(ctx, rma.Spec{Name: "bench", Words: 64})
	if err != nil {
		return err
	}
	q, err := job.NewQueue(depth)
	if err != nil {
		return err
	}
	rng := job.(*sim.Job).Rand()
	bufs, err := q.Alloc(8 * depth)
	if err != nil {
		return err
	}
	flying := make([]rma.Handle, 0, depth)
	for i := range n {
		if len(flying) == depth {
			h := flying[0]
			flying = append(flying[:0], flying[1:]...)
			if err := q.Wait(ctx, h); err != nil {
				return err
			}
			if _, err := q.Value(h); err != nil {
				return err
			}
		}
		buf := bufs[i%depth*8 : i%depth*8+8]
		flying = append(flying, q.Get(buf, w, rng.IntN(job.Size()), rng.IntN(57)))
		if err := q.Submit(); err != nil {
			return err
		}
	}
	return job.Barrier(ctx)
}

// BenchmarkMessages is the real time of a simulated operation.
func BenchmarkMessages(b *testing.B) {
	for _, c := range []struct{ ranks, perHost, depth int }{
		{2, 1, 1}, {2, 1, 16}, {48, 1, 16}, {768, 16, 1}, {768, 16, 16}, {10_000, 16, 1},
	} {
		b.Run(fmt.Sprintf("ranks=%d/depth=%d", c.ranks, c.depth), func(b *testing.B) {
			b.ReportAllocs()
			each := b.N/c.ranks + 1
			opts := sim.Options{Ranks: c.ranks, RanksPerHost: c.perHost, Seed: 1}
			r, err := sim.Run(opts, func(job rma.Job) error { return gets(job, c.depth, each) })
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(r.Events), "ns/event")
		})
	}
}

// BenchmarkSmallCluster is a whole schedule of a small test: 3 ranks, a set, 50 operations.
func BenchmarkSmallCluster(b *testing.B) {
	b.ReportAllocs()
	seed := uint64(0)
	for b.Loop() {
		seed++
		opts := sim.Random(3, seed)
		_, err := sim.Run(opts, func(job rma.Job) error {
			ctx := context.Background()
			s, err := set.New(ctx, job, set.Config{Buckets: 128, Chunk: 8, Depth: 4})
			if err != nil {
				return err
			}
			for i := range 17 {
				if _, err := s.FindOrPut(uint64(i)); err != nil {
					return err
				}
			}
			return job.Barrier(ctx)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
