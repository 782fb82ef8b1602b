package symbolic

import (
	"errors"
	"fmt"
)

// Access is what a relation does with the entry at one level.
type Access uint8

const (
	Keep   Access = iota // the entry is any, and stays
	Read                 // the entry is one that the relation has, and stays
	Write                // the entry is any, and becomes one that the relation has
	Change               // the relation has two entries: what it is, then what it becomes
)

// Relation names a relation that a store knows: which vectors follow which. [Store.Image] is for
// relations what [Store.Fire] is for transitions.
type Relation int

// relation is the set of its vectors, with what their entries mean.
type relation struct {
	pairs Node
	top   int // the first level that it does not keep; there is one
	all   int // the plan of all levels
	from  int // the plan of levels from top on
}

// planStep says what entries at a level mean, and what comes after them.
type planStep struct {
	access Access
	next   int // the number of another planStep
}

// put is the second half of Write and Change: what the entry becomes. The set is then what follows
// the entry before.
const put Access = Change + 1

// endOfPlan is the plan that keeps all that follows.
const endOfPlan = 0

// relations is what a store knows of relations. Plans are lists that share their ends: so what is
// known of one relation counts for others that end alike.
type relations struct {
	all   []relation
	plans []planStep
	known map[planStep]int
}

// plan is the number of a plan.
func (r *relations) plan(st planStep) int {
	if st == (planStep{Keep, endOfPlan}) {
		return endOfPlan
	}
	if number, ok := r.known[st]; ok {
		return number
	}
	if r.known == nil {
		r.plans, r.known = make([]planStep, 1), map[planStep]int{}
	}
	r.plans = append(r.plans, st)
	r.known[st] = len(r.plans) - 1
	return len(r.plans) - 1
}

// List is the set of the vectors that begin with value and continue as a vector of down does, and
// of the vectors of right, whose first entries are larger. It is for relations, and for sets that
// come as diagrams. All vectors of a set must have one length: List does not check that.
func (s *Store) List(value uint32, down, right Node) (Node, error) {
	return s.do(func(w *worker) Node {
		if down == Empty {
			return right
		}
		if right != Empty {
			if right == Unit {
				panic(stop{errors.New("symbolic: a list cannot end with the empty vector")})
			}
			if first, _, _ := w.at(right); first <= value {
				panic(stop{fmt.Errorf("symbolic: the entry %d is before %d in a list", value,
					first)})
			}
		}
		return w.node(value, down, right)
	}, down, right)
}

// length is the length of the vectors of a set.
func (s *Store) length(n Node) (length int) {
	for ; n > Unit; length++ {
		_, n, _ = s.at(n)
	}
	return length
}

// NewRelation adds a relation to what the store knows, which holds its vectors from then on. Their
// entries are by level, none for Keep and two for Change; from the end of access on levels are
// kept.
func (s *Store) NewRelation(vectors Node, access []Access) (Relation, error) {
	if len(access) > s.levels {
		return 0, fmt.Errorf("symbolic: a relation of %d levels; a vector has %d", len(access),
			s.levels)
	}
	r, entries := relation{pairs: vectors, top: -1}, 0
	for level := len(access) - 1; level >= 0; level-- {
		st := planStep{access[level], r.all}
		switch st.access {
		case Keep:
		case Read:
			entries++
		case Write, Change:
			st.next = s.relations.plan(planStep{put, st.next})
			if entries++; st.access == Change {
				entries++
			}
		default:
			return 0, fmt.Errorf("symbolic: there is no access %d", st.access)
		}
		if r.all = s.relations.plan(st); st.access != Keep {
			r.top, r.from = level, r.all
		}
	}
	if len(s.relations.plans) > maxPlans {
		return 0, errors.New("symbolic: there are too many relations of different levels")
	}
	if length := s.length(vectors); vectors != Empty && length != entries {
		return 0, fmt.Errorf("symbolic: a vector of the relation has %d entries, and its levels "+
			"need %d", length, entries)
	}
	s.Hold(vectors)
	s.relations.all = append(s.relations.all, r)
	return Relation(len(s.relations.all) - 1), nil
}

// Image is the vectors that follow those of a set.
func (s *Store) Image(n Node, r Relation) (Node, error) {
	x := &s.relations.all[r]
	return s.do(func(w *worker) Node { return w.image(n, x.pairs, x.all, Empty) }, n)
}

// ImageUnion is the union of Image and another set.
func (s *Store) ImageUnion(n Node, r Relation, with Node) (Node, error) {
	x := &s.relations.all[r]
	return s.do(func(w *worker) Node { return w.image(n, x.pairs, x.all, with) }, n, with)
}

// Preimage is the vectors of within that are followed by one of a set.
func (s *Store) Preimage(n Node, r Relation, within Node) (Node, error) {
	x := &s.relations.all[r]
	return s.do(func(w *worker) Node { return w.preimage(n, x.pairs, x.all, within) }, n, within)
}

// StuckBy is the vectors of a set that are followed by none.
func (s *Store) StuckBy(n Node, by []Relation) (Node, error) {
	return s.do(func(w *worker) Node {
		left := n
		for _, r := range by {
			x := &s.relations.all[r]
			w.push(left)
			after := w.image(left, x.pairs, x.all, Empty)
			w.push(after)
			moving := w.preimage(after, x.pairs, x.all, left)
			w.push(moving)
			left = w.minus(left, moving)
			w.stack = w.stack[:len(w.stack)-3]
		}
		return left
	}, n)
}

// maxPlans is how many plans fit into a word of the cache beside a node.
const maxPlans = 1 << (64 - nodeBits)

// withPlan is a word of the cache for a relation from a plan on.
func withPlan(pairs Node, plan int) uint64 { return uint64(pairs) | uint64(plan)<<nodeBits }

// fromPlan is what withPlan has put together.
func fromPlan(word uint64) (pairs Node, plan int) {
	return Node(word & nodeMask), int(word >> nodeBits)
}

// match skips entries of two lists up to the first that both have; without one both are Empty.
func (w *worker) match(a, b Node) (Node, Node) {
	if a == Empty || b == Empty {
		return Empty, Empty
	}
	valueA, _, rightA := w.at(a)
	valueB, _, rightB := w.at(b)
	for valueA != valueB {
		if valueA < valueB {
			if a = rightA; a == Empty {
				return Empty, Empty
			}
			valueA, _, rightA = w.at(a)
		} else {
			if b = rightB; b == Empty {
				return Empty, Empty
			}
			valueB, _, rightB = w.at(b)
		}
	}
	return a, b
}

// halves divides an image into the entry that it begins with and the rest: for each a set and the
// part of a relation for it. Of Read the lists match.
func (w *worker) halves(n, pairs Node, access Access) (value uint32, down, downPairs, right,
	rightPairs Node) {
	switch access {
	case Keep:
		value, down, right = w.at(n)
		return value, down, pairs, right, pairs
	case Read:
		value, down, right = w.at(n)
		_, downPairs, rightPairs = w.at(pairs)
		return value, down, downPairs, right, rightPairs
	}
	value, downPairs, rightPairs = w.at(pairs)
	return value, n, downPairs, n, rightPairs
}

// image is the union of with and what follows the vectors of n by a relation, from a plan on.
func (w *worker) image(n, pairs Node, plan int, with Node) Node {
	// terminal
	switch {
	case n == Empty || pairs == Empty:
		return with
	case plan == endOfPlan:
		return w.union(n, with)
	}
	st := w.relations.plans[plan]
	if st.access == Read || st.access == Change {
		if n, pairs = w.match(n, pairs); n == Empty {
			return with
		}
	}
	// cache
	k := keyOf(opImage, n, withPlan(pairs, plan), uint64(with))
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	if st.access == Write || st.access == Change {
		return w.end(&k, w.changes(n, pairs, st, with))
	}
	value, down, downPairs, right, rightPairs := w.halves(n, pairs, st.access)
	result, first, withDown, withRight := with, value, Empty, with
	if with != Empty {
		if v, d, r := w.at(with); v <= value {
			first, withDown, withRight = v, d, r
		}
	}
	if first < value {
		if rest := w.image(n, pairs, plan, withRight); rest != withRight {
			result = w.node(first, withDown, rest)
		}
		return w.end(&k, result)
	}
	var below, rest Node
	if w.mirrored {
		below, rest = w.both(
			call{opImage, 0, down, withPlan(downPairs, st.next), uint64(withDown)},
			call{opImage, 0, right, withPlan(rightPairs, plan), uint64(withRight)})
	} else {
		forked := w.fork(opImage, down, withPlan(downPairs, st.next), uint64(withDown), 0)
		w.push(w.image(right, rightPairs, plan, withRight))
		var ok bool
		if below, ok = w.join(forked); !ok {
			below = w.image(down, downPairs, st.next, withDown)
		}
		rest = w.pop()
	}
	if below != withDown || rest != withRight {
		result = w.node(value, below, rest)
	}
	// store
	return w.end(&k, result)
}

// changes is image of Write and Change, united with a set.
func (w *worker) changes(n, pairs Node, st planStep, with Node) Node {
	if st.access == Write {
		below := w.below(n)
		w.push(below)
		with = w.image(below, pairs, st.next, with)
		w.pop()
		return with
	}
	for n != Empty {
		_, down, right := w.at(n)
		_, downPairs, rightPairs := w.at(pairs)
		w.push(with)
		with = w.image(down, downPairs, st.next, with)
		w.pop()
		n, pairs = w.match(right, rightPairs)
	}
	return with
}

// below is what follows any entry of a list.
func (w *worker) below(n Node) Node {
	// terminal
	if n == Empty {
		return Empty
	}
	_, down, right := w.at(n)
	if right == Empty {
		return down
	}
	// cache
	k := keyOf(opBelow, n, 0, 0)
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	rest := w.below(right)
	w.push(rest)
	all := w.union(down, rest)
	w.pop()
	// store
	return w.end(&k, all)
}

// preimage is the vectors of within that are followed by one of n, from a plan on.
func (w *worker) preimage(n, pairs Node, plan int, within Node) Node {
	// terminal
	if plan == endOfPlan && pairs != Empty {
		return w.intersect(n, within)
	}
	n, pairs, within = w.matchBack(n, pairs, plan, within)
	if n == Empty || pairs == Empty || within == Empty {
		return Empty
	}
	// cache
	k := keyOf(opPreimage, n, withPlan(pairs, plan), uint64(within))
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	st := w.relations.plans[plan]
	down, right, downPairs, rightPairs := n, n, pairs, pairs
	value, downWithin, rightWithin := uint32(0), within, within
	if st.access != Write && st.access != Change {
		_, down, right = w.at(n)
	}
	if st.access == Read || st.access == Change || st.access == put {
		_, downPairs, rightPairs = w.at(pairs)
	}
	if st.access != put {
		value, downWithin, rightWithin = w.at(within)
	}
	below, rest := w.both(
		call{opPreimage, 0, down, withPlan(downPairs, st.next), uint64(downWithin)},
		call{opPreimage, 0, right, withPlan(rightPairs, plan), uint64(rightWithin)})
	var result Node
	if st.access == put {
		w.push(rest)
		w.push(below)
		result = w.union(below, rest)
		w.stack = w.stack[:len(w.stack)-2]
	} else {
		result = w.node(value, below, rest)
	}
	// store
	return w.end(&k, result)
}

// matchBack skips entries that have no part in preimage.
func (w *worker) matchBack(n, pairs Node, plan int, within Node) (Node, Node, Node) {
	if n == Empty || pairs == Empty || within == Empty {
		return Empty, Empty, Empty
	}
	switch w.relations.plans[plan].access {
	case Keep:
		n, within = w.match(n, within)
	case put:
		n, pairs = w.match(n, pairs)
	case Change:
		within, pairs = w.match(within, pairs)
	case Read:
		for {
			n, pairs = w.match(n, pairs)
			before := pairs
			if within, pairs = w.match(within, pairs); pairs == before {
				break
			}
		}
	}
	return n, pairs, within
}

// Related is what NewRelation was given for a relation.
func (s *Store) Related(r Relation) (vectors Node, access []Access) {
	x := &s.relations.all[r]
	for plan := x.all; plan != endOfPlan; plan = s.relations.plans[plan].next {
		if a := s.relations.plans[plan].access; a != put {
			access = append(access, a)
		}
	}
	return x.pairs, access
}
