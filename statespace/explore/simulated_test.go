package explore_test

import (
	"context"
	"testing"

	seeds "github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/statespace/explore"
)

// On clusters where messages are torn, late and overtake each other every rank counts
// what is there.
func TestSimulatedClusters(t *testing.T) {
	orders := []explore.Order{explore.BreadthFirst, explore.AnyOrder}
	seeds.Seeds(t, 12, func(t *testing.T, seed uint64) {
		opts := explore.Options{Order: orders[seed%2], Encoding: encodings[seed/2%3], Check: true}
		want := wantDoubling(6, opts.Order)
		_, err := sim.Run(sim.Random(1+int(seed%4), seed), func(job rma.Job) error {
			r, err := explore.Run(context.Background(), job, doubling(6), opts)
			if err == nil && (!r.Complete || countsOf(r) != want) {
				t.Errorf("rank %d: complete %v, %+v, want %+v", job.Rank(), r.Complete,
					countsOf(r), want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
