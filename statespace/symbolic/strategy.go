package symbolic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// Strategy is the order in which transitions fire. All give the same set.
type Strategy string

const (
	// Saturation fires transitions from the last level up: each list is made complete by those
	// whose first level is its own before a list above it is (Ciardo, Luettgen and Siminiceanu,
	// TACAS 2001).
	Saturation Strategy = "saturation"
	// Loops does the same with one loop for each level, over sets and not over entries, as Sylvan's
	// lddmc does (van Dijk and van de Pol, STTT 2017).
	Loops Strategy = "loops"
)

// Strategies are all strategies.
func Strategies() []Strategy { return []Strategy{Saturation, Loops} }

// run is a call of Reach or ReachBy in progress, by transitions or relations, sorted by the level
// that they begin at.
type run[T Transition | Relation] struct {
	number uint64
	order  []T
	first  []int // by level, and one more: the index of the first one that begins there
}

// newRun begins a run: what the cache has of other runs does not count in it. It sorts order by
// top, the level that one begins at.
func newRun[T Transition | Relation](s *Store, order []T, top func(T) int) run[T] {
	s.runs++
	r := run[T]{number: s.runs, order: order, first: make([]int, s.levels+1)}
	slices.SortStableFunc(order, func(a, b T) int { return cmp.Compare(top(a), top(b)) })
	for level := range r.first {
		r.first[level] = sort.Search(len(order), func(i int) bool { return top(order[i]) >= level })
	}
	return r
}

// at is what begins at a level.
func (r *run[T]) at(level int) []T { return r.order[r.first[level]:r.first[level+1]] }

// Reach is the vectors that are reachable from a set by any number of firings, the set included.
func (s *Store) Reach(from Node, transitions []Transition, strategy Strategy) (Node, error) {
	s.begun(transitions)
	return s.reach(from, strategy, func(w *worker) Node {
		if strategy == Saturation {
			return w.saturate(from, 0)
		}
		return w.saturateLevels(from, 0, 0)
	})
}

// reach runs a strategy.
func (s *Store) reach(from Node, strategy Strategy, run func(w *worker) Node) (Node, error) {
	if !slices.Contains(Strategies(), strategy) {
		return Empty, fmt.Errorf("symbolic: there is no strategy %q", strategy)
	}
	s.front.level.Store(int64(s.levels))
	defer s.front.end()
	return s.do(run, from)
}

// begun begins a run by transitions.
func (s *Store) begun(transitions []Transition) {
	s.run = newRun(s, slices.Clone(transitions),
		func(t Transition) int { return s.transitions[t].top })
}

// saturate is what is reachable from n by transitions that begin at a level or below it.
func (w *worker) saturate(n Node, level int) Node {
	if n <= Unit {
		return n
	}
	k := keyOf(opSaturate, n, w.run.number, 0)
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
	r := w.openRow()
	for rest := n; rest != Empty; {
		value, down, right := w.at(rest)
		if len(w.tasks) == 0 {
			down = w.saturate(down, level+1)
		}
		r.entries = append(r.entries, rowEntry{value, true, down})
		rest = right
	}
	if len(w.tasks) > 0 {
		w.each(r, opSaturate, 0, level+1)
	}
	w.front.opened(r, level)
	n = w.complete(r, level)
	w.front.completed(n, level)
	return w.end(&k, n)
}

// fireSaturate is saturate of fire, of the vectors that follow an entry at the level above.
func (w *worker) fireSaturate(n Node, t Transition, level int) Node {
	x := &w.transitions[t]
	if n == Empty || level > x.bottom {
		return n
	}
	k := keyOf(opFireSaturate, n, uint64(t), w.run.number)
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
	st, r := x.step(level), w.openRow()
	if len(w.tasks) > 0 {
		w.fireAllBelow(r, n, t, level)
		return w.end(&k, w.complete(r, level))
	}
	for rest := n; rest != Empty; {
		value, down, right := w.at(rest)
		if value >= st.need {
			if below := w.fireSaturate(down, t, level+1); below != Empty {
				r.entries = append(r.entries, rowEntry{st.after(value), true, below})
			}
		}
		rest = right
	}
	return w.end(&k, w.complete(r, level))
}

// fireAllBelow adds the entries of a list to a row, after a transition, with calls for what is
// below that other workers may make.
func (w *worker) fireAllBelow(r *row, n Node, t Transition, level int) {
	st := w.transitions[t].step(level)
	for rest := n; rest != Empty; {
		value, down, right := w.at(rest)
		if value >= st.need {
			r.entries = append(r.entries, rowEntry{value, true, down})
		}
		rest = right
	}
	w.each(r, opFireSaturate, uint64(t), level+1)
	fired := r.entries[:0]
	for _, e := range r.entries {
		if e.down != Empty {
			e.value = st.after(e.value)
			fired = append(fired, e)
		}
	}
	r.entries = fired
}

// row is a list that is being made. Its entries are in use.
type row struct{ entries []rowEntry }

type rowEntry struct {
	value uint32
	fresh bool // no transition has fired from it as it is now
	down  Node
}

// openRow is an empty row, open until complete closes it.
func (w *worker) openRow() *row {
	if w.openRows == len(w.rows) {
		w.rows = append(w.rows, new(row))
	}
	r := w.rows[w.openRows]
	r.entries = r.entries[:0]
	w.openRows++
	return r
}

// complete fires the transitions that begin at the level of a row until nothing changes any more,
// and closes the row. What is below its entries is complete already.
func (w *worker) complete(r *row, level int) Node {
	transitions := w.run.at(level)
	for again := len(transitions) > 0; again; {
		again = false
		for i := 0; i < len(r.entries); i++ {
			if r.entries[i].fresh {
				r.entries[i].fresh, again = false, true
				i = w.fireEntry(r, i, transitions, level)
			}
		}
	}
	return w.closeRow(r)
}

// closeRow is the list that a row has become.
func (w *worker) closeRow(r *row) Node {
	n := Empty
	for i := len(r.entries) - 1; i >= 0; i-- {
		n = w.node(r.entries[i].value, r.entries[i].down, n)
	}
	w.openRows--
	return n
}

// fireEntry fires transitions from entry i of a row, and returns where the entry is afterwards.
func (w *worker) fireEntry(r *row, i int, transitions []Transition, level int) int {
	value := r.entries[i].value
	if len(w.tasks) > 0 && len(transitions) > 1 {
		return w.fireEntryTasks(r, i, transitions, level)
	}
	for _, t := range transitions {
		st := w.transitions[t].steps[0]
		if value < st.need {
			continue
		}
		below := w.fireSaturate(r.entries[i].down, t, level+1)
		if below == Empty {
			continue
		}
		i = w.addTo(r, i, st.after(value), below)
	}
	return i
}

// fireEntryTasks is fireEntry, with calls that other workers may make, all but one: they fire from
// the entry as it is first.
func (w *worker) fireEntryTasks(r *row, i int, transitions []Transition, level int) int {
	value, down := r.entries[i].value, r.entries[i].down
	can := func(t Transition) bool { return value >= w.transitions[t].steps[0].need }
	calls, forked := 0, 0
	for _, t := range transitions {
		if can(t) {
			calls++
		}
	}
	for j := len(transitions) - 1; j >= 0 && forked < calls-1; j-- {
		if t := transitions[j]; can(t) {
			if !w.fork(opFireSaturate, down, uint64(t), 0, level+1) {
				break
			}
			forked++
		}
	}
	w.push(down) // the entry may change
	for _, t := range transitions {
		if !can(t) {
			continue
		}
		below, ok := w.join(calls <= forked)
		if !ok {
			below = w.fireSaturate(down, t, level+1)
		}
		i = w.addTo(r, i, w.transitions[t].steps[0].after(value), below)
		calls--
	}
	w.pop()
	return i
}

// addTo adds what follows a value to a row, and returns where entry i is afterwards.
func (w *worker) addTo(r *row, i int, value uint32, below Node) int {
	if below == Empty {
		return i
	}
	j, found := slices.BinarySearchFunc(r.entries, value, func(e rowEntry, v uint32) int {
		return cmp.Compare(e.value, v)
	})
	switch {
	case !found:
		w.push(below)
		w.mayGrow(r)
		w.pop()
		r.entries = slices.Insert(r.entries, j, rowEntry{value, true, below})
		if j <= i {
			i++
		}
	case r.entries[j].down != below:
		w.push(below)
		sum := w.union(r.entries[j].down, below)
		w.pop()
		if sum != r.entries[j].down {
			r.entries[j].down, r.entries[j].fresh = sum, true
		}
	}
	return i
}

// rowBytes is what an entry of a row takes while the row grows, and its node.
const rowBytes = 64

// mayGrow ends the operation where a row becomes too long for the memory, or the context has ended:
// the entries of a net without bounds grow for ever, and no operation begins in between.
func (w *worker) mayGrow(r *row) {
	if w.crew.signal.Load() != 0 {
		w.attend()
	}
	if uint64(len(r.entries)) >= w.maxBytes/rowBytes {
		panic(stop{&FullError{w.counted.Load(), w.maxBytes, errRow}})
	}
}

// errRow is the cause where memory ends with a list.
var errRow = errors.New("a list is too long")

// saturateLevels is saturate by transitions from a number on, which begin at a level or below it.
func (w *worker) saturateLevels(n Node, first, level int) Node {
	if n == Empty || first == len(w.run.order) {
		if n != Empty && first == w.run.first[level] {
			w.front.completed(n, level)
		}
		return n
	}
	k := keyOf(opSaturateLevels, n, uint64(first), w.run.number)
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
	all := first == w.run.first[level] // that begin at the level
	if here := w.run.first[level+1]; here > first {
		n = w.fixpoint(n, func(n Node) Node {
			n = w.saturateLevels(n, here, level)
			for _, t := range w.run.order[first:here] {
				w.push(n)
				n = w.fireUnion(n, t, level, n)
				w.pop()
				if all {
					w.front.reached(n, level)
				}
			}
			return n
		})
	} else {
		n = w.deeper(opSaturateLevels, n, first, level)
	}
	if all {
		w.front.completed(n, level)
	}
	return w.end(&k, n)
}

// deeper is what an operation makes of a list by what begins below its level, from a number on.
func (w *worker) deeper(op operation, n Node, first, level int) Node {
	value, down, right := w.at(n)
	lower := call{op, level + 1, down, uint64(first), 0}
	further := call{op, level, right, uint64(first), 0}
	if w.mirrored {
		below, rest := w.mirror(lower, further)
		return w.node(value, below, rest)
	}
	forked := w.fork(op, down, uint64(first), 0, level+1)
	rest := w.make(&further)
	w.push(rest)
	below, ok := w.join(forked)
	if !ok {
		below = w.make(&lower)
	}
	w.pop()
	return w.node(value, below, rest)
}

// fixpoint applies grow to a set until it stays the same. The set before a call is kept: a new one
// could else have its node.
func (w *worker) fixpoint(n Node, grow func(Node) Node) Node {
	for {
		w.push(n)
		next := grow(n)
		w.pop()
		if next == n {
			return n
		}
		n = next
	}
}
