package packing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
)

// Each transition fires as often as in a plain search, and the result names what never fires.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	nets := []*petri.Net{mustFamily(t, "philosophers", 7), mustFamily(t, "kanban", 2),
		manyInputs()}
	for len(nets) < 60 {
		n := naive.AnyNet(rng, 1+rng.IntN(6), 1+rng.IntN(8))
		if all := markings(n, 2000); all != nil {
			nets = append(nets, n)
		}
	}
	never := 0
	for i, n := range nets {
		all := markings(n, 5000)
		want := make([]uint64, len(n.Transitions)) // firings
		for _, m := range all {
			for k := range n.Transitions {
				if n.Transitions[k].Enabled(m) {
					want[k]++
				}
			}
		}
		for _, ranks := range []int{1, 2, 4} {
			err := local.Run(ranks, func(job rma.Job) error {
				res, p, err := NewSearch(n).Run(t.Context(), job,
					explore.Options{Coverage: true, Mem: 64 << 20})
				if err != nil || job.Rank() != ranks-1 {
					return err
				}
				states := uint64(0)
				var idle []int
				for k, a := range res.Coverage {
					if states += a.States; a.Name != n.Transitions[k].ID || a.Arcs != want[k] ||
						a.States > a.Arcs {
						t.Errorf("net %d: %+v, want %d", i, a, want[k])
					}
					if a.Arcs == 0 {
						idle = append(idle, k)
					}
				}
				if len(res.Coverage) != len(want) || states != res.States-1 ||
					!slices.Equal(p.Unfired(res), idle) {
					t.Errorf("net %d: %+v of %d states, unfired %v", i, res.Coverage, res.States,
						p.Unfired(res))
				}
				never += len(idle)
				return nil
			})
			if err != nil {
				t.Fatal(fmt.Errorf("net %d: %w", i, err))
			}
		}
	}
	if never == 0 {
		t.Error("every transition fires")
	}
}

// A search that ends early does not say of transitions that they never fire.
func TestPartialCoverage(t *testing.T) {
	n := mustFamily(t, "philosophers", 4)
	job := local.Single()
	defer job.Close()
	res, p, err := NewSearch(n).Run(t.Context(), job,
		explore.Options{Coverage: true, MaxDepth: 1, Mem: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	idle := slices.ContainsFunc(res.Coverage, func(a explore.Action) bool { return a.Arcs == 0 })
	if res.Complete || !idle || len(p.Unfired(res)) > 0 {
		t.Errorf("%+v, unfired %v", res, p.Unfired(res))
	}
}
