package diagram

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/symbolic"
	"github.com/farhash/farhash/statespace/symbolic/spread"
)

// TestSpread compares one diagram of all ranks with the one of a rank alone.
func TestSpread(t *testing.T) {
	placeless := &petri.Net{Transitions: []petri.Transition{{ID: "t"}}}
	nets := []*petri.Net{placeless}
	for name, size := range map[string]int{"philosophers": 8, "rwmutex": 6, "referendum": 5,
		"dekker": 5, "kanban": 4, "walker": 6} {
		net, err := petri.Family(name, size)
		must(t, err)
		nets = append(nets, net)
	}
	for seed := range uint64(4) {
		net, err := petri.Family("kanban", 3)
		must(t, err)
		naive.AddSpecial(rand.New(rand.NewPCG(seed, 5)), net)
		nets = append(nets, net)
	}
	for _, net := range nets {
		want, err := Explore(t.Context(), net, Options{MaxBytes: 64 << 20,
			Order: Choose(net).racing(symbolic.Saturation), Strategy: symbolic.Saturation})
		must(t, err)
		for _, e := range lab.Engines() {
			for _, ranks := range []int{1, 2} {
				must(t, e.Run(ranks, func(job rma.Job) error {
					got, err := ExploreSpread(t.Context(), job, net,
						uint64(ranks)*spread.MinBytes)
					if err != nil {
						return err
					}
					nodes := 0
					for _, n := range got.Nodes {
						nodes += int(n)
					}
					if got.States.Cmp(want.States) != 0 || nodes != want.Nodes ||
						len(got.Nodes) != ranks || got.Elapsed <= 0 {
						t.Errorf("%s, %s: %d ranks find %v states, %v nodes; not %v, %d", net.Name,
							e.Name, ranks, got.States, got.Nodes, want.States, want.Nodes)
					}
					return nil
				}))
			}
		}
	}
}

// TestSpreadFails: an entry of more than 32 bits, and a transition that one cannot express.
func TestSpreadFails(t *testing.T) {
	for _, weight := range []int64{1, math.MaxUint32 + 1} {
		net := &petri.Net{Places: []petri.Place{{ID: "p", Initial: math.MaxUint32}},
			Transitions: []petri.Transition{{ID: "t", Out: []petri.Arc{{Weight: weight}}}}}
		must(t, local.Run(2, func(job rma.Job) error {
			_, err := ExploreSpread(t.Context(), job, net, 2*spread.MinBytes)
			peer := (*rma.PeerError)(nil)
			if err == nil || weight == 1 && !errors.Is(err, symbolic.ErrValue) &&
				!errors.As(err, &peer) {
				t.Errorf("weight %d: %v", weight, err)
			}
			return nil
		}))
	}
}
