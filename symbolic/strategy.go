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
	// Chaining fires one transition after the other, each from all that was found so far.
	Chaining Strategy = "chaining"
	// BreadthFirst fires all transitions from what was new in the step before.
	BreadthFirst Strategy = "bfs"
)

// Strategies are all strategies.
func Strategies() []Strategy { return []Strategy{Saturation, Loops, Chaining, BreadthFirst} }

// run is a call of Reach in progress. Its transitions are sorted by the level that they begin at.
type run struct {
	number uint64
	order  []Transition
	first  []int // by level, and one more: the index of the first transition that begins there

	level int  // lists of this level and those below it were complete once: they are saturated
	above Node // by Loops: what there is of the level above them so far
}

// Reach is the vectors that are reachable from a set by any number of firings, the set included.
func (s *Store) Reach(from Node, transitions []Transition, strategy Strategy) (Node, error) {
	var reach func(Node) Node
	switch strategy {
	case Saturation:
		reach = func(n Node) Node { return s.saturate(n, 0) }
	case Loops:
		reach = func(n Node) Node { return s.saturateLevels(n, 0, 0) }
	case Chaining:
		reach = s.chain
	case BreadthFirst:
		reach = s.breadthFirst
	default:
		return Empty, fmt.Errorf("symbolic: there is no strategy %q", strategy)
	}
	s.begun(transitions)
	defer func() { s.run.level, s.run.above = s.levels, Empty }()
	return s.do(func() Node { return reach(from) }, from)
}

// begun begins a run: what the cache has of other runs does not count in it.
func (s *Store) begun(transitions []Transition) {
	s.runs++
	r := run{number: s.runs, order: slices.Clone(transitions), first: make([]int, s.levels+1),
		level: s.levels}
	slices.SortStableFunc(r.order, func(a, b Transition) int {
		return cmp.Compare(s.transitions[a].top, s.transitions[b].top)
	})
	for level := range r.first {
		r.first[level] = sort.Search(len(r.order), func(i int) bool {
			return s.transitions[r.order[i]].top >= level
		})
	}
	s.run = r
}

// at is the transitions that begin at a level.
func (r *run) at(level int) []Transition { return r.order[r.first[level]:r.first[level+1]] }

// saturate is what is reachable from n by transitions that begin at a level or below it.
func (s *Store) saturate(n Node, level int) Node {
	if n <= Unit {
		return n
	}
	k := keyOf(opSaturate, n, s.run.number, 0)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	r := s.openRow()
	for rest := n; rest != Empty; {
		value, down, right := s.at(rest)
		r.entries = append(r.entries, rowEntry{value, true, s.saturate(down, level+1)})
		rest = right
	}
	n = s.complete(r, level)
	s.run.level = level
	return s.end(&k, n)
}

// fireSaturate is saturate of fire, of the vectors that follow an entry at the level above.
func (s *Store) fireSaturate(n Node, t Transition, level int) Node {
	x := &s.transitions[t]
	if n == Empty || level > x.bottom {
		return n
	}
	k := keyOf(opFireSaturate, n, uint64(t), s.run.number)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	st, r := x.step(level), s.openRow()
	for rest := n; rest != Empty; {
		value, down, right := s.at(rest)
		if value >= st.need {
			if below := s.fireSaturate(down, t, level+1); below != Empty {
				r.entries = append(r.entries, rowEntry{st.after(value), true, below})
			}
		}
		rest = right
	}
	return s.end(&k, s.complete(r, level))
}

// row is a list that is being made. Its entries are in use.
type row struct{ entries []rowEntry }

type rowEntry struct {
	value uint32
	fresh bool // no transition has fired from it as it is now
	down  Node
}

// openRow is an empty row, open until complete closes it.
func (s *Store) openRow() *row {
	if s.openRows == len(s.rows) {
		s.rows = append(s.rows, new(row))
	}
	r := s.rows[s.openRows]
	r.entries = r.entries[:0]
	s.openRows++
	return r
}

// complete fires the transitions that begin at the level of a row until nothing changes any more,
// and closes the row. What is below its entries is complete already.
func (s *Store) complete(r *row, level int) Node {
	transitions := s.run.at(level)
	for again := len(transitions) > 0; again; {
		again = false
		for i := 0; i < len(r.entries); i++ {
			if r.entries[i].fresh {
				r.entries[i].fresh, again = false, true
				i = s.fireEntry(r, i, transitions, level)
			}
		}
	}
	n := Empty
	for i := len(r.entries) - 1; i >= 0; i-- {
		n = s.node(r.entries[i].value, r.entries[i].down, n)
	}
	s.openRows--
	return n
}

// fireEntry fires transitions from entry i of a row, and returns where the entry is afterwards.
func (s *Store) fireEntry(r *row, i int, transitions []Transition, level int) int {
	value := r.entries[i].value
	for _, t := range transitions {
		st := s.transitions[t].steps[0]
		if value < st.need {
			continue
		}
		below := s.fireSaturate(r.entries[i].down, t, level+1)
		if below == Empty {
			continue
		}
		after := st.after(value)
		j, found := slices.BinarySearchFunc(r.entries, after, func(e rowEntry, v uint32) int {
			return cmp.Compare(e.value, v)
		})
		switch {
		case !found:
			s.mayGrow(r)
			r.entries = slices.Insert(r.entries, j, rowEntry{after, true, below})
			if j <= i {
				i++
			}
		case r.entries[j].down != below:
			s.push(below)
			sum := s.union(r.entries[j].down, below)
			s.pop()
			if sum != r.entries[j].down {
				r.entries[j].down, r.entries[j].fresh = sum, true
			}
		}
	}
	return i
}

// rowBytes is what an entry of a row takes while the row grows, and its node.
const rowBytes = 64

// mayGrow ends the operation where a row becomes too long for the memory, or the context has ended:
// the entries of a net without bounds grow for ever, and no operation begins in between.
func (s *Store) mayGrow(r *row) {
	if s.called.Load() {
		s.attend()
	}
	if uint64(len(r.entries)) >= s.maxBytes/rowBytes {
		panic(stop{&FullError{s.nodes, s.maxBytes, errRow}})
	}
}

// errRow is the cause where memory ends with a list.
var errRow = errors.New("a list is too long")

// saturateLevels is saturate by transitions from a number on, which begin at a level or below it.
func (s *Store) saturateLevels(n Node, first, level int) Node {
	if n == Empty || first == len(s.run.order) {
		return n
	}
	k := keyOf(opSaturateLevels, n, uint64(first), s.run.number)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	if here := s.run.first[level+1]; here > first {
		all := s.fixpoint(n, func(n Node) Node {
			n = s.saturateLevels(n, here, level)
			for _, t := range s.run.order[first:here] {
				s.push(n)
				n = s.fireUnion(n, t, level, n)
				s.pop()
				s.reached(n, first, level)
			}
			return n
		})
		s.completed(all, first, level)
		return s.end(&k, all)
	}
	value, down, right := s.at(n)
	rest := s.saturateLevels(right, first, level)
	s.push(rest)
	below := s.saturateLevels(down, first, level+1)
	s.pop()
	all := s.node(value, below, rest)
	s.completed(all, first, level)
	return s.end(&k, all)
}

// reached notes what there is of the level above the saturated ones.
func (s *Store) reached(n Node, first, level int) {
	if level == s.run.level-1 && first == s.run.first[level] {
		s.run.above = n
	}
}

// completed notes that a list is complete by all transitions that begin at its level or below it.
func (s *Store) completed(n Node, first, level int) {
	if level < s.run.level && first == s.run.first[level] {
		s.run.level, s.run.above = level, n
	}
}

// fixpoint applies grow to a set until it stays the same. The set before a call is kept: a new one
// could else have its node.
func (s *Store) fixpoint(n Node, grow func(Node) Node) Node {
	for {
		s.push(n)
		next := grow(n)
		s.pop()
		if next == n {
			return n
		}
		n = next
	}
}

func (s *Store) chain(from Node) Node {
	return s.fixpoint(from, func(n Node) Node {
		for _, t := range s.run.order {
			s.push(n)
			n = s.fireUnion(n, t, 0, n)
			s.pop()
		}
		return n
	})
}

func (s *Store) breadthFirst(from Node) Node {
	all, front := from, from
	for front != Empty {
		s.push(all)
		s.push(front)
		next := s.fireAll(front, s.run.order)
		s.pop()
		s.push(next)
		front = s.minus(next, all)
		s.pop()
		s.push(front)
		more := s.union(all, front)
		s.pop()
		s.pop()
		all = more
	}
	return all
}

// fireAll is the union of what transitions make of a set.
func (s *Store) fireAll(n Node, transitions []Transition) Node {
	switch len(transitions) {
	case 0:
		return Empty
	case 1:
		return s.fire(n, transitions[0], 0)
	}
	half := len(transitions) / 2
	a := s.fireAll(n, transitions[:half])
	s.push(a)
	b := s.fireAll(n, transitions[half:])
	s.push(b)
	sum := s.union(a, b)
	s.pop()
	s.pop()
	return sum
}
