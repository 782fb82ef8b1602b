package symbolic

import (
	"fmt"
	"math"
	"math/bits"
)

// Disabled is the vectors of a set that a transition cannot fire from.
func (s *Store) Disabled(n Node, t Transition) (Node, error) {
	return s.do(func() Node { return s.disabled(n, t, 0) }, n)
}

// Stuck is the vectors of a set that none of the transitions can fire from.
func (s *Store) Stuck(n Node, transitions []Transition) (Node, error) {
	s.begun(transitions)
	return s.do(func() Node { return s.stuck(n, 0, 0) }, n)
}

func (s *Store) disabled(n Node, t Transition, level int) Node {
	x := &s.transitions[t]
	if n == Empty || level > x.bottom {
		return Empty
	}
	k := keyOf(opDisabled, n, uint64(t), 0)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	value, down, right := s.at(n)
	rest := s.disabled(right, t, level)
	if value >= x.step(level).need {
		s.push(rest)
		down = s.disabled(down, t, level+1)
		s.pop()
	}
	return s.end(&k, s.node(value, down, rest))
}

// stuck is for the transitions of the run from a number on, which begin at a level or below it.
func (s *Store) stuck(n Node, first, level int) Node {
	if n == Empty || first == len(s.run.order) {
		return n
	}
	k := keyOf(opStuck, n, uint64(first), s.run.number)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	if here := s.run.first[level+1]; here > first {
		left := n
		for _, t := range s.run.order[first:here] {
			s.push(left)
			left = s.disabled(left, t, level)
			s.pop()
		}
		s.push(left)
		left = s.stuck(left, here, level)
		s.pop()
		return s.end(&k, left)
	}
	value, down, right := s.at(n)
	rest := s.stuck(right, first, level)
	s.push(rest)
	below := s.stuck(down, first, level+1)
	s.pop()
	return s.end(&k, s.node(value, below, rest))
}

// constraint is a weighted sum of entries: the weights from level top on, up to the last that is
// not zero.
type constraint struct {
	top     int
	weights []int64
}

// weight is of a level above the end.
func (c *constraint) weight(level int) int64 {
	if level < c.top {
		return 0
	}
	return c.weights[level-c.top]
}

// end is the level from which on all weights are zero.
func (c *constraint) end() int { return c.top + len(c.weights) }

// constraintOf refuses sums that may not fit into an int64.
func (s *Store) constraintOf(weights map[int]int64, constant int64) (constraint, error) {
	c, largest := constraint{top: s.levels}, uint64(0)
	last := -1
	add := func(w int64, times uint64) error {
		high, low := bits.Mul64(uint64(max(w, -w)), times)
		sum, carry := bits.Add64(largest, low, 0)
		if largest = sum; w == math.MinInt64 || high+carry > 0 || sum > math.MaxInt64 {
			return fmt.Errorf("symbolic: a sum with the weight or constant %d is too large", w)
		}
		return nil
	}
	if err := add(constant, 1); err != nil {
		return c, err
	}
	for level, w := range weights {
		if level < 0 || level >= s.levels {
			return c, fmt.Errorf("symbolic: a weight is at level %d, and a vector has %d",
				level, s.levels)
		}
		if err := add(w, math.MaxUint32); err != nil {
			return c, err
		}
		if w != 0 {
			c.top, last = min(c.top, level), max(last, level)
		}
	}
	for level := c.top; level <= last; level++ {
		c.weights = append(c.weights, weights[level])
	}
	return c, nil
}

// atMost is the vectors whose sum from a level on is left at most.
func (s *Store) atMost(n Node, number, level int, left int64) Node {
	c := &s.constraints[number]
	switch {
	case n == Empty, level >= c.end() && left < 0:
		return Empty
	case level >= c.end():
		return n
	}
	k := keyOf(opAtMost, n, uint64(number), uint64(left))
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	value, down, right := s.at(n)
	rest := s.atMost(right, number, level, left)
	s.push(rest)
	below := s.atMost(down, number, level+1, left-c.weight(level)*int64(value))
	s.pop()
	return s.end(&k, s.node(value, below, rest))
}
