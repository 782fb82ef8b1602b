package symbolic

import (
	"slices"
)

// ReachBy is the vectors that are reachable from a set by any number of steps of relations, the set
// included: for relations what Reach is for transitions.
func (s *Store) ReachBy(from Node, by []Relation, strategy Strategy) (Node, error) {
	s.begunBy(by)
	return s.reach(from, strategy, func(w *worker) Node {
		if strategy == Saturation {
			return w.saturateBy(from, 0)
		}
		return w.loopsBy(from, 0, 0)
	})
}

// StuckBy is the vectors of a set that are followed by none.
func (s *Store) StuckBy(n Node, by []Relation) (Node, error) {
	return s.do(func(w *worker) Node {
		left := n
		for _, r := range by {
			x := &s.relations.all[r]
			w.push(left)
			after := w.image(left, x.pairs, x.all)
			w.push(after)
			moving := w.preimage(after, x.pairs, x.all, left)
			w.push(moving)
			left = w.minus(left, moving)
			w.stack = w.stack[:len(w.stack)-3]
		}
		return left
	}, n)
}

// begunBy begins a run by relations that lead anywhere.
func (s *Store) begunBy(by []Relation) {
	all := s.relations.all
	by = slices.DeleteFunc(slices.Clone(by), func(r Relation) bool {
		return all[r].top < 0 || all[r].pairs == Empty
	})
	s.relations.run = newRun(s, by, func(r Relation) int { return all[r].top })
}

// loopsBy is what is reachable from n by relations from a number on, which begin at a level or
// below it.
func (w *worker) loopsBy(n Node, first, level int) Node {
	run := &w.relations.run
	if n == Empty || first == len(run.order) {
		if n != Empty && first == run.first[level] {
			w.front.completed(n, level)
		}
		return n
	}
	k := keyOf(opLoopsBy, n, uint64(first), run.number)
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
	all := first == run.first[level] // that begin at the level
	if here := run.first[level+1]; here > first {
		n = w.fixpoint(n, func(n Node) Node {
			n = w.loopsBy(n, here, level)
			for _, r := range run.order[first:here] {
				x := &w.relations.all[r]
				w.push(n)
				n = w.imageUnion(n, x.pairs, x.from, n)
				w.pop()
				if all {
					w.front.reached(n, level)
				}
			}
			return n
		})
	} else {
		n = w.deeper(opLoopsBy, n, first, level)
	}
	if all {
		w.front.completed(n, level)
	}
	return w.end(&k, n)
}

// saturateBy is what is reachable from n by relations that begin at a level or below it.
func (w *worker) saturateBy(n Node, level int) Node {
	if n <= Unit {
		return n
	}
	k := keyOf(opSaturateBy, n, w.relations.run.number, 0)
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
	r := w.openRow()
	for rest := n; rest != Empty; {
		value, down, right := w.at(rest)
		r.entries = append(r.entries, rowEntry{value, true, down})
		rest = right
	}
	w.each(r, opSaturateBy, 0, level+1)
	w.front.opened(r, level)
	n = w.completeBy(r, level)
	w.front.completed(n, level)
	return w.end(&k, n)
}

// imageSaturate is saturateBy of image.
func (w *worker) imageSaturate(n, pairs Node, plan, level int) Node {
	if n == Empty || pairs == Empty {
		return Empty
	}
	if plan == endOfPlan {
		return n
	}
	k := keyOf(opImageSaturate, n, withPlan(pairs, plan), w.relations.run.number)
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
	st, r := w.relations.plans[plan], w.openRow()
	switch st.access {
	case Keep:
		for n != Empty {
			value, down, right := w.at(n)
			w.addTo(r, -1, value, w.imageSaturate(down, pairs, st.next, level+1))
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
				w.addTo(r, -1, value, w.imageSaturate(down, downPairs, st.next, level+1))
			} else {
				w.putInto(r, -1, down, downPairs, st.next, level)
			}
			n, pairs = w.match(right, rightPairs)
		}
	}
	return w.end(&k, w.completeBy(r, level))
}

// putInto adds to a row what a relation makes of n, which follows an entry of the row, by the plan
// whose access is put. It returns where entry i of the row is afterwards.
func (w *worker) putInto(r *row, i int, n, pairs Node, plan, level int) int {
	next := w.relations.plans[plan].next
	for pairs != Empty {
		value, down, right := w.at(pairs)
		i = w.addTo(r, i, value, w.imageSaturate(n, down, next, level+1))
		pairs = right
	}
	return i
}

// completeBy is complete for the relations of the run.
func (w *worker) completeBy(r *row, level int) Node {
	by := w.relations.run.at(level)
	for again := len(by) > 0; again; {
		again = false
		for i := 0; i < len(r.entries); i++ {
			if r.entries[i].fresh {
				r.entries[i].fresh, again = false, true
				i = w.followEntry(r, i, by, level)
			}
		}
	}
	return w.closeRow(r)
}

// followEntry follows relations from entry i of a row, and returns where the entry is afterwards.
func (w *worker) followEntry(r *row, i int, by []Relation, level int) int {
	for _, one := range by {
		x := &w.relations.all[one]
		st := w.relations.plans[x.from]
		pairs := x.pairs
		if st.access != Write {
			if pairs = w.find(pairs, r.entries[i].value); pairs == Empty {
				continue
			}
		}
		if st.access == Read {
			value := r.entries[i].value
			below := w.imageSaturate(r.entries[i].down, pairs, st.next, level+1)
			i = w.addTo(r, i, value, below)
		} else {
			w.push(r.entries[i].down) // the entry may change
			i = w.putInto(r, i, r.entries[i].down, pairs, st.next, level)
			w.pop()
		}
	}
	return i
}

// find is what follows an entry in a list, or Empty.
func (w *worker) find(n Node, value uint32) Node {
	for n != Empty {
		first, down, right := w.at(n)
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
