package symbolic

import (
	"errors"
	"iter"
	"math"
	"math/big"
	"slices"
)

// Count is the number of vectors of a set.
func (s *Store) Count(n Node) *big.Int {
	return fold(s, n, new(big.Int), big.NewInt(1),
		func(_ Node, _ int, _ uint32, down, right *big.Int) *big.Int {
			if right.Sign() == 0 {
				return down
			}
			return new(big.Int).Add(down, right)
		})
}

// Size is the number of nodes of a set.
func (s *Store) Size(n Node) (nodes int) {
	for _, level := range s.byLevel(n) {
		nodes += len(level)
	}
	return nodes
}

// Largest is the largest weighted sum of entries of a vector, plus constant. Weights are by level.
func (s *Store) Largest(n Node, weights map[int]int64, constant int64) (int64, error) {
	if n == Empty {
		return 0, errors.New("symbolic: a set of no vectors has no largest sum")
	}
	if _, err := s.constraintOf(weights, constant); err != nil {
		return 0, err
	}
	return constant + fold(s, n, math.MinInt64, 0,
		func(_ Node, level int, value uint32, down, right int64) int64 {
			return max(right, down+weights[level]*int64(value))
		}), nil
}

// Extremes are the smallest and the largest entry at each level, of any vector; of an empty set
// zeros.
func (s *Store) Extremes(n Node) (low, high []uint32) {
	low, high = make([]uint32, s.levels), make([]uint32, s.levels)
	for level, nodes := range s.byLevel(n) {
		low[level] = math.MaxUint32
		for _, n := range nodes {
			value, _, _ := s.at(n)
			low[level], high[level] = min(low[level], value), max(high[level], value)
		}
	}
	return low, high
}

// Has reports whether a set has a vector.
func (s *Store) Has(n Node, vector []uint32) bool {
	for _, value := range vector {
		if n, _ = s.workers[0].seek(n, value); n == Empty {
			return false
		}
	}
	return n == Unit
}

// Example is one of the vectors, the first in the order of All; nil of an empty set.
func (s *Store) Example(n Node) []uint32 {
	for v := range s.All(n) {
		return v
	}
	return nil
}

// All iterates over the vectors of a set in lexicographic order. Each is valid until the loop
// continues. No operation may run in the loop unless n is held.
func (s *Store) All(n Node) iter.Seq[[]uint32] {
	return func(yield func([]uint32) bool) {
		if n == Empty {
			return
		}
		lists, vector := make([]Node, 1, s.levels), make([]uint32, s.levels)
		for lists[0] = n; len(lists) > 0; {
			level := len(lists) - 1
			if lists[level] == Empty {
				lists = lists[:level]
				continue
			}
			value, down, right := s.at(lists[level])
			vector[level], lists[level] = value, right
			if down != Unit {
				lists = append(lists, down)
			} else if !yield(vector) {
				return
			}
		}
	}
}

// Firings is the number of pairs of a vector of a set and a transition that can fire from it. ok is
// false where more than so many steps would be needed.
func (s *Store) Firings(n Node, transitions []Transition, steps int) (sum *big.Int, ok bool) {
	s.begun(transitions)
	levels := s.byLevel(n)
	for _, nodes := range levels {
		steps -= len(nodes)
	}
	counts := map[Node]*big.Int{Empty: new(big.Int), Unit: big.NewInt(1)}
	here := map[Node]*big.Int{} // of the firings of transitions that begin at a node
	for level, nodes := range slices.Backward(levels) {
		if steps < 0 {
			return nil, false
		}
		for _, n := range nodes {
			_, down, right := s.at(n)
			counts[n] = new(big.Int).Add(counts[down], counts[right])
		}
		for _, t := range s.run.at(level) {
			f := firings{s, t, counts, map[Node]*big.Int{}}
			for _, n := range nodes {
				value, down, _ := s.at(n)
				if value < s.transitions[t].steps[0].need {
					continue
				}
				if here[n] == nil {
					here[n] = new(big.Int)
				}
				here[n].Add(here[n], f.of(down, level+1))
			}
			if steps -= len(nodes) + len(f.known); steps < 0 {
				return nil, false
			}
		}
	}
	return fold(s, n, new(big.Int), new(big.Int),
		func(n Node, _ int, _ uint32, down, right *big.Int) *big.Int {
			sum := new(big.Int).Add(down, right)
			if own := here[n]; own != nil {
				sum.Add(sum, own)
			}
			return sum
		}), true
}

// firings counts the vectors that a transition can fire from.
type firings struct {
	s      *Store
	t      Transition
	counts map[Node]*big.Int // of vectors
	known  map[Node]*big.Int
}

func (f *firings) of(n Node, level int) *big.Int {
	x := &f.s.transitions[f.t]
	if level > x.bottom {
		return f.counts[n]
	}
	if n, _, _, _ = f.s.workers[0].enough(n, x.step(level).need); n == Empty {
		return f.counts[Empty]
	}
	if sum := f.known[n]; sum != nil {
		return sum
	}
	sum := new(big.Int)
	for rest := n; rest != Empty; {
		_, down, right := f.s.at(rest)
		sum.Add(sum, f.of(down, level+1))
		rest = right
	}
	f.known[n] = sum
	return sum
}

// byLevel is the nodes of a set, by level. A list is after the lists that it ends with.
func (s *Store) byLevel(n Node) [][]Node {
	if n <= Unit {
		return nil
	}
	m := s.newMarks()
	levels, lists := make([][]Node, 0, s.levels), []Node{n}
	for len(levels) < s.levels {
		var nodes []Node
		for _, list := range lists {
			first := len(nodes)
			for n := list; n != Empty && m.set(n); {
				nodes = append(nodes, n)
				_, _, n = s.at(n)
			}
			slices.Reverse(nodes[first:])
		}
		lists = lists[:0]
		for _, n := range nodes {
			if _, down, _ := s.at(n); down != Unit {
				lists = append(lists, down)
			}
		}
		levels = append(levels, nodes)
	}
	return levels
}

// fold computes a value of each node of a set from its level and entry and from the values of what
// is below and to the right, and returns the value of the set.
func fold[T any](s *Store, n Node, empty, unit T,
	of func(n Node, level int, value uint32, down, right T) T) T {
	switch n {
	case Empty:
		return empty
	case Unit:
		return unit
	}
	levels := s.byLevel(n)
	below := map[Node]T{}
	for level := len(levels) - 1; ; level-- {
		here := make(map[Node]T, len(levels[level]))
		here[Empty], below[Unit] = empty, unit
		for _, n := range levels[level] {
			value, down, right := s.at(n)
			here[n] = of(n, level, value, below[down], here[right])
		}
		if level == 0 {
			return here[n]
		}
		levels[level], below = nil, here
	}
}
