package symbolic

import (
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

// marks has a bit for each node that is in use.
type marks []uint64

func (s *Store) newMarks() marks { return make(marks, s.last()/64+1) }

// last is the largest reference of a node.
func (s *Store) last() (ref set.Ref) {
	for _, w := range s.workers {
		ref = max(ref, w.last)
	}
	return ref
}

// nodes is how many nodes the set has. No worker runs.
func (s *Store) nodes() uint64 {
	n := s.live
	for _, w := range s.workers {
		n += w.made
	}
	return n
}

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
func (s *Store) mark(m marks) (live uint64, err error) {
	pending := []Node{s.front.set}
	for n := range s.roots {
		pending = append(pending, n)
	}
	for _, w := range s.workers {
		pending = append(pending, w.stack...)
		for _, r := range w.rows[:w.openRows] {
			for _, e := range r.entries {
				pending = append(pending, e.down)
			}
		}
		for i := range w.tasks[:w.forked] {
			if t := &w.tasks[i]; t.state == done {
				pending = append(pending, t.result)
			}
		}
	}
	for visit := s.newWalk(unlimited); len(pending) > 0; {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for n >= firstNode && m.set(n) {
			if err := visit.look(); err != nil {
				return 0, err
			}
			live++
			_, down, right := s.at(n)
			pending = append(pending, down)
			n = right
		}
	}
	return live, nil
}

// collect removes the nodes that no root reaches, and results in the cache that have such nodes. No
// worker runs.
func (s *Store) collect() error {
	m, before := s.newMarks(), s.nodes()
	live, err := s.mark(m)
	if err != nil {
		return err
	}
	var pairs []*set.Pairs
	for _, w := range s.workers {
		pairs = append(pairs, w.pairs)
	}
	if err := pairs[0].Collect(s.ctx, m.has, pairs[1:]...); err != nil {
		return fmt.Errorf("symbolic: collecting garbage: %w", err)
	}
	s.cache.sweep(m.live)
	for _, w := range s.workers {
		w.made, w.left = 0, 0
	}
	s.counted.Store(live)
	s.live, s.freed = live, before-live
	s.collections++
	s.next = max(firstCollect, garbageFactor*live)
	if s.pace > 0 {
		s.next = live + s.pace
	}
	return nil
}

// collectKeeping collects garbage in an operation that needs two more nodes.
func (w *worker) collectKeeping(a, b Node) { w.collectAfter(w.collections, a, b) }

// collectAfter collects garbage, unless another worker does so first: there were so many
// collections.
func (w *worker) collectAfter(collections uint64, a, b Node) {
	w.push(a)
	w.push(b)
	var err error
	w.alone(func() {
		if w.collections == collections {
			err = w.collect()
		}
	})
	if err != nil {
		panic(stop{err})
	}
	w.pop()
	w.pop()
}

// count counts nodes that the worker may make, where it has made those that it has counted, and
// collects garbage where these are too many. It needs two nodes.
func (w *worker) count(a, b Node) {
	n := uint64(nodesAhead)
	if w.pace > 0 {
		n = 1
	}
	for w.counted.Add(n) > w.next {
		w.collectKeeping(a, b)
	}
	w.left = int(n)
}

// full inserts a node into a set that has refused it, after a collection.
func (w *worker) full(first, second uint64, err error) (set.Ref, set.Result) {
	collections, refusal := w.collections, (*set.FullError)(nil)
	if !errors.As(err, &refusal) {
		panic(stop{fmt.Errorf("symbolic: %w", err)})
	}
	w.collectAfter(collections, Node(first&nodeMask), Node(second&nodeMask))
	if w.freed < (w.live+w.freed)/leastFreed {
		panic(stop{&FullError{w.live, w.maxBytes, err}})
	}
	ref, r, err := w.pairs.FindOrPut(first, second)
	if err != nil {
		panic(stop{&FullError{w.live, w.maxBytes, err}})
	}
	return ref, r
}
