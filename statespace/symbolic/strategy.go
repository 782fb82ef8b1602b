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

// run is a call of a strategy in progress, by transitions or relations, sorted by the level that
// they begin at.
type run struct {
	number uint64
	order  []int
	first  []int // by level, and one more: the index of the first one that begins there

	// after is the union of a set and of what follows it by one of order.
	after func(w *worker, n Node, x, level int) Node
	// follow adds to a row what follows entry i by all of order that begin at its level, within a
	// set, and returns where the entry is afterwards.
	follow func(w *worker, r *row, i int, in Node, level int) int
}

// begun begins a run: what the cache has of other runs does not count in it. What has a negative
// top, the level that it begins at, is left out.
func begun[T Transition | Relation](s *Store, by []T, top func(T) int) *run {
	s.runs++
	s.run = run{number: s.runs, first: make([]int, s.levels+1)}
	by = slices.DeleteFunc(slices.Clone(by), func(x T) bool { return top(x) < 0 })
	slices.SortStableFunc(by, func(a, b T) int { return cmp.Compare(top(a), top(b)) })
	for _, x := range by {
		s.run.order = append(s.run.order, int(x))
	}
	for level := range s.run.first {
		s.run.first[level] = sort.Search(len(by), func(i int) bool { return top(by[i]) >= level })
	}
	return &s.run
}

// fires begins a run by transitions.
func (s *Store) fires(transitions []Transition) {
	r := begun(s, transitions, func(t Transition) int { return s.transitions[t].top })
	r.follow = (*worker).fireEntry
	r.after = func(w *worker, n Node, t, level int) Node {
		return w.fire(n, Transition(t), level, n)
	}
}

// at is what begins at a level.
func (r *run) at(level int) []int { return r.order[r.first[level]:r.first[level+1]] }

// Reach is the vectors that are reachable from a set by any number of firings, the set included.
func (s *Store) Reach(from Node, transitions []Transition, strategy Strategy) (Node, error) {
	s.fires(transitions)
	return s.reach(from, Unit, strategy)
}

// ReachWithin is the vectors that are reachable from a set by firings that do not leave another
// one, within, which has the set. It saturates within a constraint (Zhao and Ciardo, Symbolic CTL
// Model Checking by Constrained Saturation, ATVA 2009).
func (s *Store) ReachWithin(from, within Node, transitions []Transition) (Node, error) {
	s.fires(transitions)
	return s.reach(from, within, Saturation)
}

// ReachBy is for relations what Reach is for transitions.
func (s *Store) ReachBy(from Node, by []Relation, strategy Strategy) (Node, error) {
	all := s.relations.all
	r := begun(s, by, func(x Relation) int {
		if all[x].pairs == Empty {
			return -1
		}
		return all[x].top
	})
	r.follow = (*worker).followEntry
	r.after = func(w *worker, n Node, x, _ int) Node {
		return w.image(n, all[x].pairs, all[x].from, n)
	}
	return s.reach(from, Unit, strategy)
}

// reach runs a strategy, Saturation within a set. Unit stands for all vectors.
func (s *Store) reach(from, within Node, strategy Strategy) (Node, error) {
	if !slices.Contains(Strategies(), strategy) {
		return Empty, fmt.Errorf("symbolic: there is no strategy %q", strategy)
	}
	s.front.level.Store(int64(s.levels))
	defer s.front.end()
	return s.do(func(w *worker) Node {
		if strategy == Saturation {
			return w.saturate(from, within, 0)
		}
		return w.loops(from, 0, 0)
	}, from, within)
}

// saturate is what is reachable from n, a part of in, within in, by what begins at a level or below
// it. Where in is Unit there is no constraint, and calls are tasks.
func (w *worker) saturate(n, in Node, level int) Node {
	// terminal
	if n <= Unit || n == in {
		return n
	}
	// cache
	k := keyOf(opSaturate, n, uint64(in), w.run.number)
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	r, tasks, left, room := w.openRow(), len(w.tasks) > 0 && in == Unit, in, Unit
	for rest := n; rest != Empty; {
		value, down, right := w.at(rest)
		if in != Unit {
			room, left = w.seek(left, value)
		}
		if !tasks {
			down = w.saturate(down, room, level+1)
		}
		r.entries = append(r.entries, rowEntry{value, true, down})
		rest = right
	}
	if tasks {
		w.each(r, opSaturate, 0, level+1)
	}
	w.front.opened(r, level)
	n = w.complete(r, in, level)
	w.front.completed(n, level)
	// store
	return w.end(&k, n)
}

// saturateFire is saturate of the part of fire that is within in, of the vectors that follow an
// entry at the level above. What n was saturated within may be another set: where the transition
// has ended it is saturated again.
func (w *worker) saturateFire(n Node, t Transition, in Node, level int) Node {
	// terminal
	x := &w.transitions[t]
	switch {
	case n == Empty || in == Empty:
		return Empty
	case level > x.bottom && in == Unit:
		return n
	case level > x.bottom:
		part := w.intersect(n, in)
		w.push(part)
		n = w.saturate(part, in, level)
		w.pop()
		return n
	}
	// cache
	k := keyOf(opSaturateFire, n, uint64(in), w.run.number<<32|uint64(t))
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	st, r, tasks, left, room := x.step(level), w.openRow(), len(w.tasks) > 0 && in == Unit, in, Unit
	if st.set != nil {
		all := w.allBelow(n, st)
		w.setEntries(r, -1, all, t, st, in, level)
		n = w.complete(r, in, level)
		return w.end(&k, n)
	}
	for rest := n; rest != Empty; {
		value, down, right := w.at(rest)
		if rest = right; !st.fits(value) {
			continue
		}
		value = st.after(value)
		if in != Unit {
			room, left = w.seek(left, value)
		}
		if !tasks {
			if down = w.saturateFire(down, t, room, level+1); down == Empty {
				continue
			}
		}
		r.entries = append(r.entries, rowEntry{value, true, down})
	}
	if tasks {
		w.each(r, opSaturateFire, uint64(t), level+1)
		r.entries = slices.DeleteFunc(r.entries, func(e rowEntry) bool { return e.down == Empty })
	}
	n = w.complete(r, in, level)
	// store
	return w.end(&k, n)
}

// seek is what is below the entry of a list that has a value, Empty if there is none, and the rest
// of the list from there on.
func (w *worker) seek(n Node, value uint32) (down, rest Node) {
	for n != Empty {
		at, down, right := w.at(n)
		if at == value {
			return down, n
		}
		if at > value {
			break
		}
		n = right
	}
	return Empty, n
}

// row is a list that is being made. Its entries are in use.
type row struct{ entries []rowEntry }

type rowEntry struct {
	value uint32
	fresh bool // nothing has followed from it as it is now
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

// complete follows what begins at the level of a row, within in, until nothing changes any more,
// closes the row and returns its list. What is below its entries is complete already.
func (w *worker) complete(r *row, in Node, level int) Node {
	for again := w.run.first[level] < w.run.first[level+1]; again; {
		again = false
		for i := 0; i < len(r.entries); i++ {
			if r.entries[i].fresh {
				r.entries[i].fresh, again = false, true
				i = w.run.follow(w, r, i, in, level)
			}
		}
	}
	n := Empty
	for i := len(r.entries) - 1; i >= 0; i-- {
		n = w.node(r.entries[i].value, r.entries[i].down, n)
	}
	w.openRows--
	return n
}

// fireEntry is follow of the transitions of the run.
func (w *worker) fireEntry(r *row, i int, in Node, level int) int {
	value, transitions := r.entries[i].value, w.run.at(level)
	if len(w.tasks) > 0 && len(transitions) > 1 && in == Unit {
		return w.fireEntryTasks(r, i, transitions, level)
	}
	for _, t := range transitions {
		st, room := w.transitions[t].steps[0], Unit
		if !st.fits(value) {
			continue
		}
		if st.set != nil {
			i = w.setEntries(r, i, r.entries[i].down, Transition(t), st, in, level)
			continue
		}
		after := st.after(value)
		if in != Unit {
			room, _ = w.seek(in, after)
		}
		below := w.saturateFire(r.entries[i].down, Transition(t), room, level+1)
		i = w.addTo(r, i, after, below)
	}
	return i
}

// setEntries adds to a row, within a set, what follows n by a transition that sets the entry. It
// returns where entry i is afterwards.
func (w *worker) setEntries(r *row, i int, n Node, t Transition, st step, in Node, level int) int {
	w.push(n) // the entry may change
	if in == Unit {
		below := w.saturateFire(n, t, Unit, level+1)
		w.push(below)
		i = w.addAll(r, i, st.set, below)
		w.pop()
	}
	for rest := in; rest > Unit; {
		value, room, right := w.at(rest)
		if value > st.set.high {
			break
		}
		if rest = right; value >= st.set.low {
			i = w.addTo(r, i, value, w.saturateFire(n, t, room, level+1))
		}
	}
	w.pop()
	return i
}

// addAll adds what follows each of some values to a row, and returns where entry i is afterwards.
func (w *worker) addAll(r *row, i int, all *values, below Node) int {
	for v := all.low; ; v++ {
		if i = w.addTo(r, i, v, below); v == all.high {
			return i
		}
	}
}

// fireEntryTasks is fireEntry, with calls that other workers may make, all but one: they fire from
// the entry as it is first.
func (w *worker) fireEntryTasks(r *row, i int, transitions []int, level int) int {
	value, down := r.entries[i].value, r.entries[i].down
	can := func(t int) bool { return w.transitions[t].steps[0].fits(value) }
	calls, forked := 0, 0
	for _, t := range transitions {
		if can(t) {
			calls++
		}
	}
	for j := len(transitions) - 1; j >= 0 && forked < calls-1; j-- {
		if t := transitions[j]; can(t) {
			if !w.fork(opSaturateFire, down, uint64(t), 0, level+1) {
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
			below = w.saturateFire(down, Transition(t), Unit, level+1)
		}
		if st := w.transitions[t].steps[0]; st.set != nil {
			w.push(below)
			i = w.addAll(r, i, st.set, below)
			w.pop()
		} else {
			i = w.addTo(r, i, st.after(value), below)
		}
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

// saturateImage is saturate of image.
func (w *worker) saturateImage(n, pairs Node, plan, level int) Node {
	// terminal
	if n == Empty || pairs == Empty {
		return Empty
	}
	if plan == endOfPlan {
		return n
	}
	// cache
	k := keyOf(opSaturateImage, n, withPlan(pairs, plan), w.run.number)
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	st, r := w.relations.plans[plan], w.openRow()
	switch st.access {
	case Keep:
		for n != Empty {
			value, down, right := w.at(n)
			w.addTo(r, -1, value, w.saturateImage(down, pairs, st.next, level+1))
			n = right
		}
	case Write:
		below := w.below(n)
		w.push(below)
		w.putInto(r, -1, below, pairs, st.next, level)
		w.pop()
	default:
		for n, pairs = w.match(n, pairs); n != Empty; {
			value, down, right := w.at(n)
			_, downPairs, rightPairs := w.at(pairs)
			if st.access == Read {
				w.addTo(r, -1, value, w.saturateImage(down, downPairs, st.next, level+1))
			} else {
				w.putInto(r, -1, down, downPairs, st.next, level)
			}
			n, pairs = w.match(right, rightPairs)
		}
	}
	n = w.complete(r, Unit, level)
	// store
	return w.end(&k, n)
}

// putInto adds to a row what a relation makes of n, which follows an entry of the row, by the plan
// whose access is put. It returns where entry i of the row is afterwards.
func (w *worker) putInto(r *row, i int, n, pairs Node, plan, level int) int {
	next := w.relations.plans[plan].next
	for pairs != Empty {
		value, down, right := w.at(pairs)
		i = w.addTo(r, i, value, w.saturateImage(n, down, next, level+1))
		pairs = right
	}
	return i
}

// followEntry is follow of the relations of the run.
func (w *worker) followEntry(r *row, i int, _ Node, level int) int {
	for _, one := range w.run.at(level) {
		x := &w.relations.all[one]
		st := w.relations.plans[x.from]
		pairs := x.pairs
		if st.access != Write {
			if pairs, _ = w.seek(pairs, r.entries[i].value); pairs == Empty {
				continue
			}
		}
		if st.access == Read {
			value := r.entries[i].value
			below := w.saturateImage(r.entries[i].down, pairs, st.next, level+1)
			i = w.addTo(r, i, value, below)
		} else {
			w.push(r.entries[i].down) // the entry may change
			i = w.putInto(r, i, r.entries[i].down, pairs, st.next, level)
			w.pop()
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

// loops is saturate, without a constraint, by what begins at a level or below it, from a number on.
func (w *worker) loops(n Node, first, level int) Node {
	// terminal
	run := &w.run
	all := first == run.first[level] // that begin at the level
	if n == Empty || first == len(run.order) {
		if n != Empty && all {
			w.front.completed(n, level)
		}
		return n
	}
	// cache
	k := keyOf(opLoops, n, uint64(first), run.number)
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	if here := run.first[level+1]; here > first {
		for before := Empty; n != before; {
			before = n
			w.push(before) // else a new set could have its node
			n = w.loops(n, here, level)
			for _, x := range run.order[first:here] {
				w.push(n)
				n = run.after(w, n, x, level)
				w.pop()
				if all {
					w.front.reached(n, level)
				}
			}
			w.pop()
		}
	} else {
		value, down, right := w.at(n)
		below, rest := w.both(call{opLoops, level + 1, down, uint64(first), 0},
			call{opLoops, level, right, uint64(first), 0})
		n = w.node(value, below, rest)
	}
	if all {
		w.front.completed(n, level)
	}
	// store
	return w.end(&k, n)
}
