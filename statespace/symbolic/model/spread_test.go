package model

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/symbolic/spread"
)

// TestExploreSpread compares random models of both formats with a search one state at a time.
func TestExploreSpread(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		s, file := randomLDD(rng)
		if seed%2 == 1 {
			s, file = randomBDD(rng)
		}
		m, err := Read(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		all, _ := s.reachable()
		engines, ranks := lab.Engines(), 1+rng.IntN(3)
		e := engines[rng.IntN(len(engines))]
		err = e.Run(ranks, func(job rma.Job) error {
			res, err := ExploreSpread(t.Context(), job, m, uint64(ranks)*spread.MinBytes)
			if err == nil && (res.States.Int64() != int64(len(all)) || len(res.Nodes) != ranks ||
				res.Reaching <= 0 || res.Elapsed < res.Reaching) {
				t.Errorf("seed %d, %s, %d ranks: %+v, not %d states", seed, e.Name, ranks, res,
					len(all))
			}
			return err
		})
		if err != nil {
			t.Errorf("seed %d, %s: %v", seed, e.Name, err)
		}
	}
}
