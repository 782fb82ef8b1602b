package packing

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri/property"
)

// A transition that is said not to fire does not, and after a question about all of them none is
// left out.
func TestUnfired(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	stable := []property.Property{{Kind: property.Stable}, {Kind: property.QuasiLive}}
	compared := 0
	for compared < 40 {
		n := naive.AnyNet(rng, 1+rng.IntN(6), 1+rng.IntN(6))
		all := markings(n, 1000)
		if all == nil {
			continue
		}
		var never []int
		for i := range n.Transitions {
			if !slices.ContainsFunc(all, n.Transitions[i].Enabled) {
				never = append(never, i)
			}
		}
		err := local.Run(2, func(job rma.Job) error {
			res, p, err := NewSearch(n, stable...).Run(t.Context(), job, explore.Options{})
			if err != nil || job.Rank() != 0 {
				return err
			}
			got := p.Unfired(res)
			for _, i := range got {
				if !slices.Contains(never, i) {
					t.Errorf("%d fires, of %v", i, never)
				}
			}
			if p.questions.fires > 0 && res.Complete {
				if compared++; !slices.Equal(got, never) {
					t.Errorf("%v, want %v", got, never)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
