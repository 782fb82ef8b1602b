package symbolic

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// relationRun is a call of ReachBy in progress. Its relations are sorted by the level that they
// begin at.
type relationRun struct {
	order []Relation
	first []int // by level, and one more: the index of the first relation that begins there
}

// at is the relations that begin at a level.
func (r *relationRun) at(level int) []Relation { return r.order[r.first[level]:r.first[level+1]] }

// ReachBy is the vectors that are reachable from a set by any number of steps of relations, the set
// included: for relations what Reach is for transitions.
func (s *Store) ReachBy(from Node, by []Relation, strategy Strategy) (Node, error) {
	var reach func(Node) Node
	switch strategy {
	case Saturation:
		reach = func(n Node) Node { return s.saturateBy(n, 0) }
	case Loops:
		reach = func(n Node) Node { return s.loopsBy(n, 0, 0) }
	case Chaining:
		reach = func(n Node) Node { return s.fixpoint(n, s.eachImage) }
	case BreadthFirst:
		reach = s.levelsBy
	default:
		return Empty, fmt.Errorf("symbolic: there is no strategy %q", strategy)
	}
	s.begunBy(by)
	return s.do(func() Node { return reach(from) }, from)
}

// StuckBy is the vectors of a set that are followed by none.
func (s *Store) StuckBy(n Node, by []Relation) (Node, error) {
	return s.do(func() Node {
		left := n
		for _, r := range by {
			x := &s.relations.all[r]
			s.push(left)
			after := s.image(left, x.pairs, x.all)
			s.push(after)
			moving := s.preimage(after, x.pairs, x.all, left)
			s.push(moving)
			left = s.minus(left, moving)
			s.stack = s.stack[:len(s.stack)-3]
		}
		return left
	}, n)
}

// begunBy begins a run by relations that lead anywhere.
func (s *Store) begunBy(by []Relation) {
	s.runs++
	all := s.relations.all
	r := relationRun{first: make([]int, s.levels+1)}
	for _, one := range by {
		if all[one].top >= 0 && all[one].pairs != Empty {
			r.order = append(r.order, one)
		}
	}
	slices.SortStableFunc(r.order, func(a, b Relation) int {
		return cmp.Compare(all[a].top, all[b].top)
	})
	for level := range r.first {
		r.first[level] = sort.Search(len(r.order), func(i int) bool {
			return all[r.order[i]].top >= level
		})
	}
	s.relations.run = r
}

// eachImage adds to a set what follows by one relation after the other.
func (s *Store) eachImage(n Node) Node {
	for _, r := range s.relations.run.order {
		x := &s.relations.all[r]
		s.push(n)
		n = s.imageUnion(n, x.pairs, x.all, n)
		s.pop()
	}
	return n
}

// levelsBy follows all relations from what was new in the step before.
func (s *Store) levelsBy(from Node) Node {
	all, front := from, from
	for front != Empty {
		s.push(all)
		s.push(front)
		next := s.images(front, s.relations.run.order)
		s.push(next)
		fresh := s.minus(next, all)
		s.push(fresh)
		more := s.union(all, fresh)
		s.stack = s.stack[:len(s.stack)-4]
		all, front = more, fresh
	}
	return all
}

// images is the union of the images of relations.
func (s *Store) images(n Node, by []Relation) Node {
	switch len(by) {
	case 0:
		return Empty
	case 1:
		x := &s.relations.all[by[0]]
		return s.image(n, x.pairs, x.all)
	}
	half := len(by) / 2
	a := s.images(n, by[:half])
	s.push(a)
	b := s.images(n, by[half:])
	s.push(b)
	sum := s.union(a, b)
	s.pop()
	s.pop()
	return sum
}

// loopsBy is what is reachable from n by relations from a number on, which begin at a level or
// below it.
func (s *Store) loopsBy(n Node, first, level int) Node {
	run := &s.relations.run
	if n == Empty || first == len(run.order) {
		return n
	}
	k := keyOf(opLoopsBy, n, uint64(first), s.runs)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	if here := run.first[level+1]; here > first {
		all := s.fixpoint(n, func(n Node) Node {
			n = s.loopsBy(n, here, level)
			for _, r := range run.order[first:here] {
				x := &s.relations.all[r]
				s.push(n)
				n = s.imageUnion(n, x.pairs, x.from, n)
				s.pop()
			}
			return n
		})
		return s.end(&k, all)
	}
	value, down, right := s.at(n)
	rest := s.loopsBy(right, first, level)
	s.push(rest)
	below := s.loopsBy(down, first, level+1)
	s.pop()
	return s.end(&k, s.node(value, below, rest))
}

// saturateBy is what is reachable from n by relations that begin at a level or below it.
func (s *Store) saturateBy(n Node, level int) Node {
	if n <= Unit {
		return n
	}
	k := keyOf(opSaturateBy, n, s.runs, 0)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	r := s.openRow()
	for rest := n; rest != Empty; {
		value, down, right := s.at(rest)
		r.entries = append(r.entries, rowEntry{value, true, s.saturateBy(down, level+1)})
		rest = right
	}
	return s.end(&k, s.completeBy(r, level))
}

// imageSaturate is saturateBy of image.
func (s *Store) imageSaturate(n, pairs Node, plan, level int) Node {
	if n == Empty || pairs == Empty {
		return Empty
	}
	if plan == endOfPlan {
		return n
	}
	k := keyOf(opImageSaturate, n, withPlan(pairs, plan), s.runs)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	st, r := s.relations.plans[plan], s.openRow()
	switch st.access {
	case Keep:
		for n != Empty {
			value, down, right := s.at(n)
			s.addTo(r, -1, value, s.imageSaturate(down, pairs, st.next, level+1))
			n = right
		}
	case Write:
		below := s.below(n)
		s.push(below)
		s.putInto(r, -1, below, pairs, st.next, level)
		s.pop()
	default:
		for n, pairs = s.match(n, pairs); n != Empty; {
			value, down, right := s.at(n)
			_, downPairs, rightPairs := s.at(pairs)
			if st.access == Read {
				s.addTo(r, -1, value, s.imageSaturate(down, downPairs, st.next, level+1))
			} else {
				s.putInto(r, -1, down, downPairs, st.next, level)
			}
			n, pairs = s.match(right, rightPairs)
		}
	}
	return s.end(&k, s.completeBy(r, level))
}

// putInto adds to a row what a relation makes of n, which follows an entry of the row, by the plan
// whose access is put. It returns where entry i of the row is afterwards.
func (s *Store) putInto(r *row, i int, n, pairs Node, plan, level int) int {
	next := s.relations.plans[plan].next
	for pairs != Empty {
		value, down, right := s.at(pairs)
		i = s.addTo(r, i, value, s.imageSaturate(n, down, next, level+1))
		pairs = right
	}
	return i
}

// addTo adds what follows a value to a row, and returns where entry i is afterwards.
func (s *Store) addTo(r *row, i int, value uint32, below Node) int {
	if below == Empty {
		return i
	}
	j, found := slices.BinarySearchFunc(r.entries, value, func(e rowEntry, v uint32) int {
		return cmp.Compare(e.value, v)
	})
	switch {
	case !found:
		s.mayGrow(r)
		r.entries = slices.Insert(r.entries, j, rowEntry{value, true, below})
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
	return i
}

// completeBy is complete for the relations of the run.
func (s *Store) completeBy(r *row, level int) Node {
	by := s.relations.run.at(level)
	for again := len(by) > 0; again; {
		again = false
		for i := 0; i < len(r.entries); i++ {
			if r.entries[i].fresh {
				r.entries[i].fresh, again = false, true
				i = s.followEntry(r, i, by, level)
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

// followEntry follows relations from entry i of a row, and returns where the entry is afterwards.
func (s *Store) followEntry(r *row, i int, by []Relation, level int) int {
	for _, one := range by {
		x := &s.relations.all[one]
		st := s.relations.plans[x.from]
		pairs := x.pairs
		if st.access != Write {
			if pairs = s.find(pairs, r.entries[i].value); pairs == Empty {
				continue
			}
		}
		if st.access == Read {
			value := r.entries[i].value
			below := s.imageSaturate(r.entries[i].down, pairs, st.next, level+1)
			i = s.addTo(r, i, value, below)
		} else {
			s.push(r.entries[i].down) // the entry may change
			i = s.putInto(r, i, r.entries[i].down, pairs, st.next, level)
			s.pop()
		}
	}
	return i
}

// find is what follows an entry in a list, or Empty.
func (s *Store) find(n Node, value uint32) Node {
	for n != Empty {
		first, down, right := s.at(n)
		if first == value {
			return down
		}
		if first > value {
			break
		}
		n = right
	}
	return Empty
}
