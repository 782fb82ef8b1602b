package symbolic

import (
	"errors"
	"math"
	"slices"
)

// walk is a pass over the nodes of sets. It ends with the context of the store, or after so many
// steps.
type walk struct {
	s     *Store
	left  int // steps
	looks int
}

const (
	unlimited = math.MaxInt
	// lookEvery is after how many nodes a walk looks at the context.
	lookEvery = 1024
)

// errSteps ends a walk that would need more steps.
var errSteps = errors.New("symbolic: a walk over the nodes of a set takes too long")

func (s *Store) newWalk(steps int) *walk { return &walk{s: s, left: steps} }

// look ends the walk after the end of the context.
func (k *walk) look() error {
	if k.looks%lookEvery == 0 && k.s.ctx.Err() != nil {
		return k.s.cause()
	}
	k.looks++
	return nil
}

// step is look at a node that counts.
func (k *walk) step() error {
	if k.left--; k.left < 0 {
		return errSteps
	}
	return k.look()
}

// byLevel is the nodes of sets, by level. A list is after the lists that it ends with. Each node is
// a step.
func (k *walk) byLevel(sets ...Node) ([][]Node, error) {
	m := k.s.newMarks()
	levels, lists := make([][]Node, 0, k.s.levels), sets
	for len(levels) < k.s.levels {
		var nodes []Node
		for _, list := range lists {
			first := len(nodes)
			for n := list; n > Unit && m.set(n); {
				if err := k.step(); err != nil {
					return nil, err
				}
				nodes = append(nodes, n)
				_, _, n = k.s.at(n)
			}
			slices.Reverse(nodes[first:])
		}
		lists = make([]Node, 0, len(nodes))
		for _, n := range nodes {
			_, down, _ := k.s.at(n)
			lists = append(lists, down)
		}
		levels = append(levels, nodes)
	}
	return levels, nil
}

// fold computes a value of each node of sets from its level and entry and from the values of what
// is below and to the right, and returns the values of the sets, with those of all lists of their
// level.
func fold[T any](k *walk, sets []Node, empty, unit T,
	of func(n Node, level int, value uint32, down, right T) T) (map[Node]T, error) {
	levels, err := k.byLevel(sets...)
	if err != nil {
		return nil, err
	}
	below := map[Node]T{Empty: empty, Unit: unit}
	for level, nodes := range slices.Backward(levels) {
		here := make(map[Node]T, len(nodes)+2)
		here[Empty], here[Unit] = empty, unit
		for _, n := range nodes {
			if err := k.look(); err != nil {
				return nil, err
			}
			value, down, right := k.s.at(n)
			here[n] = of(n, level, value, below[down], here[right])
		}
		levels[level], below = nil, here
	}
	return below, nil
}
