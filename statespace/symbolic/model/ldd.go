package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/farhash/farhash/statespace/symbolic"
)

// lists are the nodes of a file. The first two are the empty set and the set of the empty vector.
type lists struct {
	nodes []listNode
}

type listNode struct {
	value       uint32
	down, right uint32
	length      int32 // of vectors
	copy        bool
}

// lddGroup is a relation of the file.
type lddGroup struct {
	levels []levelAccess // in order
	root   uint32
	offset int64 // of the root in the file
}

// levelAccess is a level at which a relation has entries.
type levelAccess struct {
	level       int
	read, write bool
}

const (
	noVectors  = 0
	noEntries  = 1 // the set of the empty vector
	firstNamed = 2

	maxNodes = math.MaxInt32 - 1

	// maxPatterns is how many relations one with copy nodes may become.
	maxPatterns = 1024
)

func readLDD(in *input, integers int) *Model {
	l := &lists{nodes: make([]listNode, firstNamed)}
	initial := l.diagram(in)
	if initial == noVectors {
		in.fail("the initial set is empty")
	}
	if length := int(l.nodes[initial].length); length != integers {
		in.fail("the initial states have %d entries, and states %d", length, integers)
	}
	groups := make([]lddGroup, 0, 16)
	for range in.count("the number of relations", math.MaxInt32) {
		groups = append(groups, lddGroup{levels: projection(in, integers)})
	}
	for i := range groups {
		g := &groups[i]
		g.root, g.offset = l.diagram(in), in.at
		entries, length := g.entries(), int(l.nodes[g.root].length)
		if g.root != noVectors && length != entries && length != entries+1 {
			in.fail("vectors of relation %d have %d entries; its levels need %d, or one more for "+
				"an action label", i+1, length, entries)
		}
	}
	return &Model{Format: LDD, Integers: integers, Levels: integers, Groups: len(groups),
		load: func(s *symbolic.Store) (node symbolic.Node, all []symbolic.Relation, err error) {
			err = building(s, integers, func(b *builder) {
				x := &importer{builder: b, lists: l, stamps: make([]uint64, len(l.nodes)),
					made: make([]symbolic.Node, len(l.nodes))}
				node = x.convert(initial, make([]bool, integers))
				s.Hold(node)
				b.release()
				for i := range groups {
					all = append(all, x.relations(&groups[i])...)
				}
			})
			return node, all, err
		}}
}

// diagram reads nodes, and which one is the root.
func (l *lists) diagram(in *input) uint32 {
	for range in.word() {
		l.node(in)
	}
	root := in.word()
	if root >= uint64(len(l.nodes)) {
		in.fail("the root is node %d, and there are nodes up to %d", root, len(l.nodes)-1)
	}
	return uint32(root)
}

func (l *lists) node(in *input) {
	number := len(l.nodes)
	first, second := in.word(), in.word()
	in.at -= 8 // the node
	right, down := first<<16>>17, second>>17
	n := listNode{value: uint32(first>>48) | uint32(second)<<16, copy: second>>16&1 != 0}
	switch {
	case number > maxNodes:
		in.fail("there are more than %d nodes", maxNodes)
	case right >= uint64(number) || down >= uint64(number):
		in.fail("node %d names a node that is not before it", number)
	case down == noVectors:
		in.fail("nothing follows the entry of node %d", number)
	case right == noEntries:
		in.fail("the list of node %d ends like a vector", number)
	}
	n.down, n.right = uint32(down), uint32(right)
	n.length = l.nodes[down].length + 1
	if rest := &l.nodes[right]; right != noVectors {
		switch {
		case rest.length != n.length:
			in.fail("vectors of node %d have %d and %d entries", number, n.length, rest.length)
		case rest.copy || !n.copy && rest.value <= n.value:
			in.fail("the list of node %d is not sorted", number)
		}
	}
	l.nodes = append(l.nodes, n)
}

// projection reads the levels that a relation reads and writes.
func projection(in *input, integers int) (levels []levelAccess) {
	read := in.count("the number of levels that a relation reads", integers)
	written := in.count("the number of levels that a relation writes", integers)
	for _, part := range []struct {
		n     int
		write bool
	}{{read, false}, {written, true}} {
		last := -1
		for range part.n {
			level := in.count("a level of a relation", integers-1)
			if level <= last {
				in.fail("the levels of a relation are not sorted")
			}
			last = level
			levels = append(levels, levelAccess{level, !part.write, part.write})
		}
	}
	slices.SortStableFunc(levels, func(a, b levelAccess) int { return a.level - b.level })
	merged := levels[:0]
	for _, a := range levels {
		if n := len(merged); n > 0 && merged[n-1].level == a.level {
			merged[n-1].write = true
		} else {
			merged = append(merged, a)
		}
	}
	return slices.Clip(merged)
}

// entries is how many entries a vector of the relation has.
func (g *lddGroup) entries() (n int) {
	for _, a := range g.levels {
		if n++; a.read && a.write {
			n++
		}
	}
	return n
}

// importer makes the lists of a file in a store.
type importer struct {
	*builder
	*lists
	stamps []uint64 // the number of the conversion that has met a node
	stamp  uint64
	made   []symbolic.Node
}

// relations adds a relation to the store, as one for each pattern of copies.
func (x *importer) relations(g *lddGroup) (all []symbolic.Relation) {
	if g.root == noVectors {
		return nil
	}
	x.patterns(g, nil, []uint32{g.root}, func(copies []bool) {
		if len(all) == maxPatterns {
			panic(failure{&FormatError{g.offset, fmt.Sprintf("a relation has copy nodes in more "+
				"than %d combinations", maxPatterns)}})
		}
		pairs := x.convert(g.root, copies)
		all = append(all, x.relation(pairs, g.access(copies)))
		x.release()
	})
	return all
}

// patterns calls found for each combination of entries at which vectors of a relation have copy
// nodes. The lists are those that follow the entries so far.
func (x *importer) patterns(g *lddGroup, so []bool, lists []uint32, found func([]bool)) {
	if len(so) == g.entries() {
		found(so)
		return
	}
	var next [2][]uint32 // what follows plain nodes, and what follows copy nodes
	x.stamp++
	for _, n := range lists {
		for ; n != noVectors && x.stamps[n] != x.stamp; n = x.nodes[n].right {
			x.stamps[n] = x.stamp
			kind := 0
			if x.nodes[n].copy {
				kind = 1
			}
			next[kind] = append(next[kind], x.nodes[n].down)
		}
	}
	for kind, lists := range next {
		if slices.Sort(lists); len(lists) > 0 {
			x.patterns(g, append(so, kind == 1), slices.Compact(lists), found)
		}
	}
}

// access is what a relation does at each level, with these entries left out.
func (g *lddGroup) access(copies []bool) []symbolic.Access {
	var access []symbolic.Access
	for _, a := range g.levels {
		for len(access) < a.level {
			access = append(access, symbolic.Keep)
		}
		reads, writes := false, false
		if a.read {
			reads, copies = !copies[0], copies[1:]
		}
		if a.write {
			writes, copies = !copies[0], copies[1:]
		}
		switch {
		case reads && writes:
			access = append(access, symbolic.Change)
		case reads:
			access = append(access, symbolic.Read)
		case writes:
			access = append(access, symbolic.Write)
		default:
			access = append(access, symbolic.Keep)
		}
	}
	return access
}

// convert makes the vectors of a list that have copies at these entries and no others, without
// these. What comes after the entries, an action label, is left out as well.
func (x *importer) convert(root uint32, copies []bool) symbolic.Node {
	after := x.nodes[root].length - int32(len(copies)) // 0 or 1
	copied := func(n uint32) bool { return copies[len(copies)-int(x.nodes[n].length-after)] }
	x.stamp++
	var met []uint32
	for pending := []uint32{root}; len(pending) > 0; {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for ; n != noVectors && x.stamps[n] != x.stamp; n = x.nodes[n].right {
			x.stamps[n] = x.stamp
			met = append(met, n)
			if x.nodes[n].length > after {
				pending = append(pending, x.nodes[n].down)
			}
		}
	}
	slices.Sort(met) // what a node names is before it
	x.made[noVectors] = symbolic.Empty
	for _, number := range met {
		switch n := &x.nodes[number]; {
		case n.length == after:
			x.made[number] = symbolic.Unit
		case copied(number) && n.copy:
			x.made[number] = x.made[n.down]
		case copied(number):
			x.made[number] = symbolic.Empty // a copy node would be the first of the list
		case n.copy:
			x.made[number] = x.made[n.right]
		default:
			x.made[number] = x.list(n.value, x.made[n.down], x.made[n.right])
		}
	}
	return x.made[root]
}
