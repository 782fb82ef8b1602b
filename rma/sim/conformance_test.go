package sim_test

import (
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// rough is a cluster in which everything but a death happens often.
var rough = sim.Options{RanksPerHost: 2, TearNs: 3000, JitterNs: 5000, StallEvery: 20,
	StallNs: 50_000, Faults: sim.Faults{Slow: []sim.Slow{{Rank: 0, Factor: 7}}}}

func TestConformance(t *testing.T) {
	own, incoherent, all := rough, rough, rough
	own.View = sim.ViewOwn
	incoherent.View, incoherent.Incoherent = sim.ViewOwn, true
	all.View = sim.ViewAll
	for _, c := range []struct {
		name string
		opts sim.Options
	}{
		{"fast", sim.Options{}}, {"own words", own}, {"incoherent", incoherent},
		{"all words", all},
	} {
		t.Run(c.name, func(t *testing.T) {
			if invariant.Enabled && c.name != "own words" {
				t.Skip("one kind is enough with the race detector, under which it takes long")
			}
			rmatest.Test(t, func(ranks int, fn func(job rma.Job) error) error {
				c.opts.Ranks = ranks
				_, err := sim.Run(c.opts, fn)
				return err
			}, rmatest.OneGoroutine)
		})
	}
}

func TestConformanceAtRandom(t *testing.T) {
	seeds := uint64(3)
	if invariant.Enabled {
		seeds = 1
	}
	replay.Seeds(t, seeds, func(t *testing.T, seed uint64) {
		rmatest.Test(t, func(ranks int, fn func(job rma.Job) error) error {
			_, err := sim.Run(sim.Random(ranks, seed), fn)
			return err
		}, rmatest.OneGoroutine)
	})
}
