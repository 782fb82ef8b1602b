package core

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// ownersOnly is a batch that says who owns what.
type ownersOnly struct {
	Ops
	owners []int32
}

func (o ownersOnly) Owners(owners []int32) { copy(owners, o.owners) }

// Both ways to divide a batch have the same result: the operations of each owner, in order.
func TestDivide(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		ranks, n := 1+rng.IntN(100), rng.IntN(50)
		o := ownersOnly{}
		for range n {
			o.owners = append(o.owners, rng.Int32N(int32(ranks)))
		}
		few, many := plan{}, plan{owners: o.owners, order: make([]int, n)}
		few.divide(n, 1<<20, o)
		many.count(ranks)
		if !slices.Equal(few.order, many.order) || !slices.Equal(few.parts, many.parts) {
			t.Fatalf("owners %v: %v in %v, and %v in %v", o.owners, few.order, few.parts,
				many.order, many.parts)
		}
		for _, p := range few.parts {
			for _, i := range few.order[p.next:p.end] {
				if int(o.owners[i]) != p.rank {
					t.Fatalf("owners %v: operation %d is among rank %d's", o.owners, i, p.rank)
				}
			}
		}
	}
}
