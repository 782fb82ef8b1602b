package symbolic

import (
	"fmt"
	"math"
	"math/bits"
)

// Disabled is the vectors of a set that a transition cannot fire from.
func (s *Store) Disabled(n Node, t Transition) (Node, error) {
	return s.do(func(w *worker) Node { return w.disabled(n, t, 0) }, n)
}

// Stuck is the vectors of a set that none of the transitions can fire from.
func (s *Store) Stuck(n Node, transitions []Transition) (Node, error) {
	s.fires(transitions)
	return s.do(func(w *worker) Node { return w.stuck(n, 0, 0) }, n)
}

func (w *worker) disabled(n Node, t Transition, level int) Node {
	// terminal
	x := &w.transitions[t]
	if n == Empty || level > x.bottom {
		return Empty
	}
	// cache
	k := keyOf(opDisabled, n, uint64(t), 0)
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	value, down, right := w.at(n)
	if !x.step(level).fits(value) {
		n = w.node(value, down, w.disabled(right, t, level))
	} else {
		forked := w.fork(opDisabled, down, uint64(t), 0, level+1)
		w.push(w.disabled(right, t, level))
		below, ok := w.join(forked)
		if !ok {
			below = w.disabled(down, t, level+1)
		}
		n = w.node(value, below, w.pop())
	}
	// store
	return w.end(&k, n)
}

// stuck is for the transitions of the run from a number on, which begin at a level or below it.
func (w *worker) stuck(n Node, first, level int) Node {
	// terminal
	if n == Empty || first == len(w.run.order) {
		return n
	}
	// cache
	k := keyOf(opStuck, n, uint64(first), w.run.number)
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	if here := w.run.first[level+1]; here > first {
		for _, t := range w.run.order[first:here] {
			w.push(n)
			n = w.disabled(n, Transition(t), level)
			w.pop()
		}
		w.push(n)
		n = w.stuck(n, here, level)
		w.pop()
	} else {
		value, down, right := w.at(n)
		below, rest := w.both(call{opStuck, level + 1, down, uint64(first), 0},
			call{opStuck, level, right, uint64(first), 0})
		n = w.node(value, below, rest)
	}
	// store
	return w.end(&k, n)
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
func (w *worker) atMost(n Node, number, level int, left int64) Node {
	// terminal
	c := &w.constraints[number]
	switch {
	case n == Empty, level >= c.end() && left < 0:
		return Empty
	case level >= c.end():
		return n
	}
	// cache
	k := keyOf(opAtMost, n, uint64(number), uint64(left))
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	value, down, right := w.at(n)
	less := left - c.weight(level)*int64(value)
	forked := w.fork(opAtMost, down, uint64(number), uint64(less), level+1)
	w.push(w.atMost(right, number, level, left))
	below, ok := w.join(forked)
	if !ok {
		below = w.atMost(down, number, level+1, less)
	}
	// store
	return w.end(&k, w.node(value, below, w.pop()))
}
