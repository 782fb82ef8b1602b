package symbolic

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
)

// Count is the number of vectors of a set.
func (s *Store) Count(n Node) (*big.Int, error) {
	return s.newWalk(unlimited).count(n)
}

// count is the number of vectors of all sets together. A node of several of them is one step.
func (k *walk) count(sets ...Node) (*big.Int, error) {
	counts, err := fold(k, sets, new(big.Int), big.NewInt(1),
		func(_ Node, _ int, _ uint32, down, right *big.Int) *big.Int {
			if right.Sign() == 0 {
				return down
			}
			return new(big.Int).Add(down, right)
		})
	sum := new(big.Int)
	for _, n := range sets {
		if err == nil {
			sum.Add(sum, counts[n])
		}
	}
	return sum, err
}

// Size is the number of nodes of a set.
func (s *Store) Size(n Node) (nodes int, err error) {
	levels, err := s.newWalk(unlimited).byLevel(n)
	for _, level := range levels {
		nodes += len(level)
	}
	return nodes, err
}

// Entry is the first entry of a set that has one, what may follow it, and the rest of the set.
func (s *Store) Entry(n Node) (value uint32, down, right Node) { return s.at(n) }

// Largest is the largest weighted sum of entries of a vector, plus constant. Weights are by level.
func (s *Store) Largest(n Node, weights map[int]int64, constant int64) (int64, error) {
	if n == Empty {
		return 0, errors.New("symbolic: a set of no vectors has no largest sum")
	}
	if _, err := s.constraintOf(weights, constant); err != nil {
		return 0, err
	}
	sums, err := fold(s.newWalk(unlimited), []Node{n}, math.MinInt64, 0,
		func(_ Node, level int, value uint32, down, right int64) int64 {
			return max(right, down+weights[level]*int64(value))
		})
	return constant + sums[n], err
}

// Extremes are the smallest and the largest entry at each level, of any vector; of an empty set
// zeros.
func (s *Store) Extremes(n Node) (low, high []uint32, err error) {
	low, high = make([]uint32, s.levels), make([]uint32, s.levels)
	if n == Empty {
		return low, high, nil
	}
	levels, err := s.newWalk(unlimited).byLevel(n)
	if err != nil {
		return nil, nil, err
	}
	for level, nodes := range levels {
		low[level] = math.MaxUint32
		for _, n := range nodes {
			value, _, _ := s.at(n)
			low[level], high[level] = min(low[level], value), max(high[level], value)
		}
	}
	return low, high, nil
}

// Nearest is a vector of a set with the least sum of differences from the entries of another
// vector; nil of an empty set, and of one with more than so many nodes.
func (s *Store) Nearest(n Node, to []uint32, nodes int) ([]uint32, error) {
	if len(to) != s.levels {
		return nil, fmt.Errorf("symbolic: a vector of %d entries; in this store all have %d",
			len(to), s.levels)
	}
	if n == Empty {
		return nil, nil
	}
	nearest := map[Node]Node{} // entry of a list
	_, err := fold(s.newWalk(nodes), []Node{n}, math.MaxInt64, 0,
		func(n Node, level int, value uint32, down, right int64) int64 {
			here := down + max(int64(value)-int64(to[level]), int64(to[level])-int64(value))
			nearest[n] = n
			if right < here {
				_, _, rest := s.at(n)
				nearest[n] = nearest[rest]
			}
			return min(here, right)
		})
	if err == errSteps {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var vector []uint32
	for n != Unit {
		value, down, _ := s.at(nearest[n])
		vector = append(vector, value)
		n = down
	}
	return vector, nil
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
