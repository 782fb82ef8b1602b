package model

import (
	"math"
	"slices"

	"github.com/farhash/farhash/statespace/symbolic"
)

// edge is a diagram: the number of its node, with the bit complement where it is negated.
type edge uint64

const (
	complement edge = 1 << 63
	numberMask edge = 1<<40 - 1

	isFalse edge = 0
	isTrue       = complement
)

func (e edge) number() edge { return e & numberMask }

type bddNode struct {
	variable  uint32
	low, high edge
}

// bdds are the nodes of a file; there is no node 0.
type bdds struct {
	bits  int // of a state
	nodes []bddNode
}

// bddGroup is a relation of the file.
type bddGroup struct {
	root edge
	bits []int // that it reads and writes, ascending
}

func readBDD(in *input, integers int, bits int32) *Model {
	if bits < 1 || int(bits) > maxLevels/integers {
		in.fail("an integer has %d bits; with %d integers it can have 1 to %d (or -1 stands here, "+
			"in files of list decision diagrams)", bits, integers, maxLevels/integers)
	}
	d := &bdds{bits: integers * int(bits), nodes: make([]bddNode, 1)}
	in.count("the number of bits of an action label", math.MaxInt32)
	d.read(in)
	initial := d.edge(in)
	in.word() // the number of integers again
	state := d.variables(in)
	if len(state) != d.bits {
		in.fail("the initial set has %d variables, and a state %d bits", len(state), d.bits)
	}
	for i, v := range state {
		if v != uint32(2*i) {
			in.fail("variable %d of the initial set is %d and not %d", i, v, 2*i)
		}
	}
	d.check(in, initial, state)
	var groups []bddGroup
	for range in.count("the number of relations", math.MaxInt32) {
		d.read(in)
		g := bddGroup{root: d.edge(in)}
		g.bits = d.pairs(in)
		d.check(in, g.root, g.variables())
		groups = append(groups, g)
	}
	return &Model{Format: BDD, Integers: integers, Levels: d.bits, Groups: len(groups),
		load: func(s *symbolic.Store) (node symbolic.Node, all []symbolic.Relation, err error) {
			err = building(s, d.bits, func(b *builder) {
				node = d.convert(b, initial, state)
				s.Hold(node)
				b.release()
				for i := range groups {
					all = append(all, d.relation(b, &groups[i]))
				}
			})
			return node, all, err
		}}
}

// read reads nodes.
func (d *bdds) read(in *input) {
	for range in.word() {
		number := edge(len(d.nodes))
		first, second := in.word(), in.word()
		in.at -= 8 // the node
		n := bddNode{uint32(second >> 40), edge(second) & numberMask,
			edge(first) & (numberMask | complement)}
		if number > maxNodes {
			in.fail("there are more than %d nodes", maxNodes)
		}
		for _, next := range []edge{n.low, n.high} {
			if next.number() >= number {
				in.fail("node %d names a node that is not before it", number)
			}
			if next.number() > 0 && d.nodes[next.number()].variable <= n.variable {
				in.fail("the variables of node %d and below it are not sorted", number)
			}
		}
		d.nodes = append(d.nodes, n)
	}
}

// edge reads a root.
func (d *bdds) edge(in *input) edge {
	root := edge(in.word())
	if root&^complement >= edge(len(d.nodes)) {
		in.fail("the root is node %d, and there are nodes up to %d", root&^complement,
			len(d.nodes)-1)
	}
	return root
}

// parts is what is left of a diagram where the variable of its node is 0 and where it is 1.
func (d *bdds) parts(e edge) (variable uint32, low, high edge) {
	n := &d.nodes[e.number()]
	return n.variable, n.low ^ e&complement, n.high ^ e&complement
}

// variables reads a conjunction of variables.
func (d *bdds) variables(in *input) (all []uint32) {
	rest := d.edge(in)
	for rest.number() > 0 {
		variable, low, high := d.parts(rest)
		if low != isFalse {
			break
		}
		all, rest = append(all, variable), high
	}
	if rest != isTrue {
		in.fail("a list of variables is no conjunction")
	}
	return all
}

// pairs reads the variables of a relation, and returns the bits that they are of.
func (d *bdds) pairs(in *input) (bits []int) {
	all := d.variables(in)
	for len(all) > 0 && all[0] < uint32(2*d.bits) {
		if len(all) < 2 || all[0]%2 != 0 || all[1] != all[0]+1 {
			in.fail("a relation has a variable of bit %d, and not the other one", all[0]/2)
		}
		bits, all = append(bits, int(all[0]/2)), all[2:]
	}
	return bits
}

// variables is the variables of the bits of a relation.
func (g *bddGroup) variables() (all []uint32) {
	for _, bit := range g.bits {
		all = append(all, uint32(2*bit), uint32(2*bit+1))
	}
	return all
}

// check refuses a diagram that has other variables. Those of action labels come last.
func (d *bdds) check(in *input, root edge, variables []uint32) {
	known := make(map[edge]bool)
	for pending := []edge{root.number()}; len(pending) > 0; {
		e := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if e == 0 || known[e] {
			continue
		}
		known[e] = true
		variable, low, high := d.parts(e)
		if variable >= uint32(2*d.bits) {
			continue // an action label, or what follows one
		}
		if _, found := slices.BinarySearch(variables, variable); !found {
			in.fail("a diagram has variable %d, which its list of variables has not", variable)
		}
		pending = append(pending, low.number(), high.number())
	}
}

func (d *bdds) relation(b *builder, g *bddGroup) symbolic.Relation {
	var access []symbolic.Access
	for _, bit := range g.bits {
		for len(access) < bit {
			access = append(access, symbolic.Keep)
		}
		access = append(access, symbolic.Change)
	}
	r := b.relation(d.convert(b, g.root, g.variables()), access)
	b.release()
	return r
}

// place is a diagram from a variable on, which its node need not have.
type place struct {
	e  edge
	at int
}

// convert makes a diagram as lists, with an entry for each variable.
func (d *bdds) convert(b *builder, root edge, variables []uint32) symbolic.Node {
	known := map[place]symbolic.Node{}
	var made func(p place) symbolic.Node
	made = func(p place) symbolic.Node {
		switch {
		case p.e == isFalse:
			return symbolic.Empty
		case p.at == len(variables):
			return symbolic.Unit // true, or what only an action label decides
		}
		if n, ok := known[p]; ok {
			return n
		}
		low, high := p.e, p.e
		if p.e.number() > 0 && d.nodes[p.e.number()].variable == variables[p.at] {
			_, low, high = d.parts(p.e)
		}
		n := made(place{high, p.at + 1})
		if n != symbolic.Empty {
			n = b.list(1, n, symbolic.Empty)
		}
		if below := made(place{low, p.at + 1}); below != symbolic.Empty {
			n = b.list(0, below, n)
		}
		known[p] = n
		return n
	}
	return made(place{root, 0})
}
