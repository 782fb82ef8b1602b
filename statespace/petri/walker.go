package petri

import "fmt"

// walker returns the net of a molecule that walks on a ring of n anchorages, 2 to 10000. A step
// leads to one of the next 6 anchorages on either side, which must be intact, and uses up the one
// that it leaves. Every fourth anchorage is blocked at first; then the blockade is lifted, or the
// anchorage is lost.
//
// An anchorage has 2 tokens where the walker is, 1 while it is intact and none when it is used up
// or blocked: no invariant bounds them. The net has n anchorages and n/4 blockades, 12n + n/2
// transitions from n = 13 on, and 6 steps to either side at most. It has the shape of the DNAwalker
// nets of the Model Checking Contest: 21 anchorages have about the size of DNAwalker-08.
func walker(n int) (*Net, error) {
	const maxSize, reach, apart = 10_000, 6, 4
	if err := checkSize("anchorages", n, 2, maxSize); err != nil {
		return nil, err
	}
	b := newBuilder(fmt.Sprintf("Walker-%d", n), n+n/apart, 2*reach*n+2*(n/apart))
	first := b.places("Anchorage", n, 1)
	b.net.Places[first].Initial = 2
	for i := apart - 1; i < n; i += apart {
		b.net.Places[first+i].Initial = 0
		blockade := b.place(fmt.Sprintf("Blockade_%d", i+1), 1)
		b.transition(fmt.Sprintf("lift_%d", i+1), []int{blockade}, []int{first + i})
		b.transition(fmt.Sprintf("lose_%d", i+1), []int{blockade}, nil)
	}
	for i := range n {
		for j := range n {
			if ahead := (j - i + n) % n; ahead == 0 || min(ahead, n-ahead) > reach {
				continue
			}
			from, to := first+i, first+j
			b.transition(fmt.Sprintf("step_%d_%d", i+1, j+1),
				[]int{from, from, to}, []int{to, to})
		}
	}
	return b.net, nil
}
