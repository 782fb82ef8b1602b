package symbolic

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/set"
)

// FullError says that the nodes that are in use take all memory.
type FullError struct {
	Nodes    uint64 // in use
	MaxBytes uint64 // as configured
	Cause    error  // what the set says
}

func (e *FullError) Error() string {
	return fmt.Sprintf("symbolic: %d nodes are in use, and there is no memory for more: %v",
		e.Nodes, e.Cause)
}

func (e *FullError) Unwrap() error { return e.Cause }

const (
	// firstCollect is the number of nodes at which garbage is collected for the first time.
	firstCollect = 1 << 20
	// garbageFactor is how many nodes there may be for each that was in use at the last collection.
	garbageFactor = 4
	// leastFreed is the part of the nodes, one in so many, that a collection of a full store must
	// free. With less, collecting would take all time.
	leastFreed = 8
)

// Hold makes a node a root: it and all nodes below it stay until Release is called as often as Hold
// was.
func (s *Store) Hold(n Node) { s.roots[n]++ }

// Release takes back one Hold of a node.
func (s *Store) Release(n Node) {
	if s.roots[n]--; s.roots[n] <= 0 {
		delete(s.roots, n)
	}
}

// push keeps a node while an operation runs, until pop.
func (s *Store) push(n Node) { s.stack = append(s.stack, n) }

func (s *Store) pop() { s.stack = s.stack[:len(s.stack)-1] }

// marks has a bit for each node that is in use.
type marks []uint64

func (s *Store) newMarks() marks { return make(marks, s.last/64+1) }

// set sets the bit of a node, and reports whether it was not set before.
func (m marks) set(n Node) bool {
	word, bit := &m[(n-firstNode)/64], uint64(1)<<((n-firstNode)%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

func (m marks) has(ref set.Ref) bool { return m[ref/64]>>(ref%64)&1 != 0 }

// live reports whether a node is in use.
func (m marks) live(n Node) bool { return n < firstNode || m.has(set.Ref(n-firstNode)) }

// mark sets the bits of all nodes that the roots reach, and returns how many these are.
func (s *Store) mark(m marks) (live uint64) {
	pending := append([]Node{s.run.above}, s.stack...)
	for n := range s.roots {
		pending = append(pending, n)
	}
	for _, r := range s.rows[:s.openRows] {
		for _, e := range r.entries {
			pending = append(pending, e.down)
		}
	}
	for len(pending) > 0 {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for n >= firstNode && m.set(n) {
			live++
			_, down, right := s.at(n)
			pending = append(pending, down)
			n = right
		}
	}
	return live
}

// collect removes the nodes that no root reaches, and results in the cache that have such nodes.
func (s *Store) collect() error {
	m := s.newMarks()
	live := s.mark(m)
	if err := s.pairs.Collect(context.Background(), m.has); err != nil {
		return fmt.Errorf("symbolic: collecting garbage: %w", err)
	}
	s.cache.sweep(m.live)
	s.nodes = live
	s.collections++
	s.next = max(firstCollect, garbageFactor*live)
	if s.pace > 0 {
		s.next = live + s.pace
	}
	return nil
}

// collectKeeping collects garbage in an operation that needs two more nodes.
func (s *Store) collectKeeping(a, b Node) {
	s.push(a)
	s.push(b)
	if err := s.collect(); err != nil {
		panic(stop{err})
	}
	s.pop()
	s.pop()
}

// full inserts a node into a set that has refused it, after a collection.
func (s *Store) full(first, second uint64, err error) (set.Ref, set.Result) {
	before, refusal := s.nodes, (*set.FullError)(nil)
	if !errors.As(err, &refusal) {
		panic(stop{fmt.Errorf("symbolic: %w", err)})
	}
	s.collectKeeping(Node(first&nodeMask), Node(second&nodeMask))
	if before-s.nodes < before/leastFreed {
		panic(stop{&FullError{s.nodes, s.maxBytes, err}})
	}
	ref, r, err := s.pairs.FindOrPut(first, second)
	if err != nil {
		panic(stop{&FullError{s.nodes, s.maxBytes, err}})
	}
	return ref, r
}
