package symbolic

import (
	"math/big"
	"slices"
)

// Firings is the number of pairs of a vector of a set and a transition that can fire from it, nil
// where more than so many steps would be needed.
func (s *Store) Firings(n Node, transitions []Transition, steps int) (*big.Int, error) {
	s.fires(transitions)
	sum, err := s.newWalk(steps).firings(n)
	if err == errSteps {
		return nil, nil
	}
	return sum, err
}

// firings counts the firings of the transitions of the run.
func (k *walk) firings(n Node) (*big.Int, error) {
	levels, err := k.byLevel(n)
	if err != nil {
		return nil, err
	}
	counts := map[Node]*big.Int{Empty: new(big.Int), Unit: big.NewInt(1)}
	here := map[Node]*big.Int{} // of the firings of transitions that begin at a node
	for level, nodes := range slices.Backward(levels) {
		for _, n := range nodes {
			if err := k.look(); err != nil {
				return nil, err
			}
			_, down, right := k.s.at(n)
			counts[n] = new(big.Int).Add(counts[down], counts[right])
		}
		for _, t := range k.s.run.at(level) {
			f := firings{k, Transition(t), counts, map[Node]*big.Int{}}
			if err := f.add(here, nodes, level); err != nil {
				return nil, err
			}
		}
	}
	sums, err := fold(&walk{s: k.s, left: unlimited}, []Node{n}, new(big.Int), new(big.Int),
		func(n Node, _ int, _ uint32, down, right *big.Int) *big.Int {
			sum := new(big.Int).Add(down, right)
			if own := here[n]; own != nil {
				sum.Add(sum, own)
			}
			return sum
		})
	return sums[n], err
}

// firings counts the vectors that a transition can fire from.
type firings struct {
	*walk
	t      Transition
	counts map[Node]*big.Int // of vectors
	known  map[Node]*big.Int
}

// add adds the vectors that begin with each of some nodes of the level that the transition begins
// at.
func (f *firings) add(to map[Node]*big.Int, nodes []Node, level int) error {
	for _, n := range nodes {
		if err := f.step(); err != nil {
			return err
		}
		value, down, _ := f.s.at(n)
		if !f.s.transitions[f.t].steps[0].fits(value) {
			continue
		}
		count, err := f.of(down, level+1)
		if err != nil {
			return err
		}
		if to[n] == nil {
			to[n] = new(big.Int)
		}
		to[n].Add(to[n], count)
	}
	return nil
}

func (f *firings) of(n Node, level int) (*big.Int, error) {
	x := &f.s.transitions[f.t]
	if level > x.bottom {
		return f.counts[n], nil
	}
	st := x.step(level)
	if n, _, _, _ = f.s.workers[0].enough(n, st.need); n == Empty {
		return f.counts[Empty], nil
	}
	if sum := f.known[n]; sum != nil {
		return sum, nil
	}
	if err := f.step(); err != nil {
		return nil, err
	}
	sum := new(big.Int)
	for rest := n; rest != Empty; {
		value, down, right := f.s.at(rest)
		if st.exceeds(value) {
			break
		}
		below, err := f.of(down, level+1)
		if err != nil {
			return nil, err
		}
		sum.Add(sum, below)
		rest = right
	}
	f.known[n] = sum
	return sum, nil
}
