package symbolic

import (
	"errors"

	"github.com/farhash/farhash/set"
)

// worker is what a goroutine needs for itself while an operation runs. The first one is of the
// goroutine that has called; the others help it.
type worker struct {
	*Store
	pairs   *set.Pairs
	entries []entry  // of the cache
	prints  []uint32 // of entries

	left int     // nodes that it may make until it counts them
	made uint64  // nodes since the last collection
	last set.Ref // the largest that it has made

	// mirrored workers begin at the other end of a list: where two make the same call, they meet in
	// the middle of it, and each takes the results of the other one.
	mirrored bool

	stack     []Node // that operations need
	rows      []*row // those in front are open
	openRows  int
	depth     int
	fuse      int // operations that begin until the next tick
	firstTick int

	tasks   []task // those in front are calls that it has to make; none: there is one goroutine
	forked  int    // tasks
	offered int    // of them

	lookups, hits, replaced uint64

	_ [64]byte // others write to what follows
}

// call is a call of an operation.
type call struct {
	op    operation
	level int
	a     Node
	b, c  uint64
}

// task is a call that any worker may make.
type task struct {
	call
	result Node
	state  taskState
}

// taskState is changed under the lock of the crew, once the task is offered.
type taskState int

const (
	private taskState = iota
	offered
	taken
	done
)

const (
	// maxTasks is how many calls may wait. Those that were first are the largest ones.
	maxTasks = 256
	// leastForked is how many calls a worker must have to make before others make the oldest one.
	leastForked = 1
	// firstTick is how many operations begin until the first tick, and tickEvery how many begin
	// between two.
	firstTick = 4096
	tickEvery = 4096
	// nodesAhead is how many nodes a worker counts at a time.
	nodesAhead = 1024
)

// hire makes so many workers.
func (s *Store) hire(goroutines int, eager bool) error {
	for range goroutines {
		pairs, err := set.NewPairs(s.elements)
		if err != nil {
			return err
		}
		w := &worker{Store: s, pairs: pairs, entries: s.cache.entries,
			prints: s.cache.prints, firstTick: firstTick,
			mirrored: len(s.workers)%2 == 1}
		if eager {
			w.firstTick = 0
		}
		s.workers = append(s.workers, w)
	}
	if len(s.workers) > 1 {
		for _, w := range s.workers {
			w.tasks = make([]task, maxTasks)
		}
	}
	return nil
}

// begun makes a worker ready for an operation.
func (w *worker) begun() {
	w.stack, w.openRows, w.depth, w.forked, w.offered = w.stack[:0], 0, 0, 0, 0
	w.fuse = w.firstTick
}

// tick does what is due after many operations: it grows the cache, and calls the other workers.
func (w *worker) tick() {
	w.fuse = tickEvery
	replaced := w.cache.replaced.Add(w.replaced)
	w.replaced = 0
	found := w.hits > w.lookups/2
	if w.cache.growth(replaced, found) > 1 {
		w.alone(func() {
			// another worker may have made it grow
			if times := w.cache.growth(w.cache.replaced.Load(), found); times > 1 {
				w.growCache(times)
			}
		})
	}
	if w == w.workers[0] {
		w.callHelpers()
	}
}

// push keeps a node while an operation runs, until pop.
func (w *worker) push(n Node) { w.stack = append(w.stack, n) }

// pop takes back the last push, and returns its node.
func (w *worker) pop() Node {
	last := len(w.stack) - 1
	n := w.stack[last]
	w.stack = w.stack[:last]
	return n
}

// fork lets other workers make a call until join. What the call needs is reachable until then.
func (w *worker) fork(op operation, a Node, b, c uint64, level int) bool {
	if w.forked == len(w.tasks) {
		return false
	}
	w.tasks[w.forked].call = call{op, level, a, b, c}
	w.forked++
	return true
}

// join ends the last fork. Where another worker has made the call it returns the result; else the
// caller has to make it.
func (w *worker) join(forked bool) (Node, bool) {
	if !forked {
		return Empty, false
	}
	if w.forked--; w.forked >= w.offered {
		return Empty, false
	}
	return w.joinOffered()
}

// both makes the calls for what is below an entry and for the rest of its list. The second one is a
// task while the worker makes the first: the rest, or what is below if the worker is mirrored. The
// operations that are called most often make their calls themselves, unless the worker is mirrored:
// an operation takes up to a tenth longer by both and make.
func (w *worker) both(lower, further call) (below, rest Node) {
	first, second := &further, &lower
	if w.mirrored {
		first, second = second, first
	}
	forked := w.fork(second.op, second.a, second.b, second.c, second.level)
	w.push(w.make(first))
	n, ok := w.join(forked)
	if !ok {
		n = w.make(second)
	}
	if w.mirrored {
		return w.pop(), n
	}
	return n, w.pop()
}

// make makes a call.
func (w *worker) make(x *call) Node {
	a, b, c, level := x.a, x.b, x.c, x.level
	switch x.op {
	case opUnion:
		return w.union(a, Node(b))
	case opIntersect:
		return w.intersect(a, Node(b))
	case opMinus:
		return w.minus(a, Node(b))
	case opFire:
		return w.fire(a, Transition(b), level, Node(c))
	case opDisabled:
		return w.disabled(a, Transition(b), level)
	case opStuck:
		return w.stuck(a, int(b), level)
	case opAtMost:
		return w.atMost(a, int(b), level, int64(c))
	case opImage:
		pairs, plan := fromPlan(b)
		return w.image(a, pairs, plan, Node(c))
	case opPreimage:
		pairs, plan := fromPlan(b)
		return w.preimage(a, pairs, plan, Node(c))
	case opSaturate:
		return w.saturate(a, Unit, level)
	case opSaturateFire:
		return w.saturateFire(a, Transition(b), Unit, level)
	case opLoops:
		return w.loops(a, int(b), level)
	}
	panic(errors.New("symbolic: a task without an operation"))
}

// each replaces what is below the entries of an open row by what an operation makes of it. All
// calls but the first are tasks.
func (w *worker) each(r *row, op operation, b uint64, level int) {
	n := len(r.entries)
	entry := func(i int) *rowEntry {
		if w.mirrored {
			i = n - 1 - i
		}
		return &r.entries[i]
	}
	forked := 0
	for i := n - 1; i > 0 && w.fork(op, entry(i).down, b, 0, level); i-- {
		forked++
	}
	for i := range n {
		e := entry(i)
		down, ok := w.join(i >= n-forked)
		if !ok {
			down = w.make(&call{op, level, e.down, b, 0})
		}
		e.down = down
	}
}
