package ltl

import (
	"fmt"
	"slices"
)

// Formula is a formula of one Builder. Equal ones are equal numbers.
type Formula int

// op is what a formula does.
type op uint8

const (
	opTrue op = iota
	opFalse
	opAtom
	opNotAtom
	opAnd // of at least two
	opOr  // of at least two
	opNext
	opUntil
	opRelease
)

// node is a formula. It is eventual if it is true wherever it is true later, and universal if it is
// true later wherever it is true.
type node struct {
	op                  op
	atom                int
	args                []Formula
	eventual, universal bool
	negation            Formula // and 1; 0: not made yet
}

// Builder makes formulas. The zero value is ready.
type Builder struct {
	nodes   []node
	known   map[string]Formula
	implied map[[2]Formula]bool
}

// make returns the formula of a node, which is not to be simplified any more.
func (b *Builder) make(n node) Formula {
	key := fmt.Sprint(n.op, n.atom, n.args)
	if f, ok := b.known[key]; ok {
		return f
	}
	if b.known == nil {
		b.known = map[string]Formula{}
	}
	all := func(is func(node) bool) bool {
		return !slices.ContainsFunc(n.args, func(f Formula) bool { return !is(b.nodes[f]) })
	}
	eventual, universal := func(n node) bool { return n.eventual },
		func(n node) bool { return n.universal }
	constant := n.op == opTrue || n.op == opFalse
	composed := !constant && n.op != opAtom && n.op != opNotAtom
	n.eventual = constant || composed && all(eventual) || n.op == opUntil && b.isTrue(n.args[0])
	n.universal = constant || composed && all(universal) ||
		n.op == opRelease && b.isFalse(n.args[0])
	f := Formula(len(b.nodes))
	b.nodes, b.known[key] = append(b.nodes, n), f
	return f
}

func (b *Builder) isTrue(f Formula) bool  { return b.nodes[f].op == opTrue }
func (b *Builder) isFalse(f Formula) bool { return b.nodes[f].op == opFalse }

// True is the formula that is true of all words.
func (b *Builder) True() Formula { return b.make(node{op: opTrue}) }

// False is the formula that is true of no word.
func (b *Builder) False() Formula { return b.make(node{op: opFalse}) }

// Atom is the formula that an atom, 0 to 63, is true now.
func (b *Builder) Atom(i int) Formula {
	if i < 0 || i >= MaxAtoms {
		panic(fmt.Sprintf("ltl: there is no atom %d", i))
	}
	return b.make(node{op: opAtom, atom: i})
}

// MaxAtoms is how many atoms there are.
const MaxAtoms = 64

// Not is the negation of a formula.
func (b *Builder) Not(f Formula) Formula {
	if known := b.nodes[f].negation; known > 0 {
		return known - 1
	}
	n := b.nodes[f]
	var args []Formula
	for _, arg := range n.args {
		args = append(args, b.Not(arg))
	}
	var not Formula
	switch n.op {
	case opTrue:
		not = b.False()
	case opFalse:
		not = b.True()
	case opAtom, opNotAtom:
		not = b.make(node{op: opAtom + opNotAtom - n.op, atom: n.atom})
	case opAnd:
		not = b.Or(args...)
	case opOr:
		not = b.And(args...)
	case opNext:
		not = b.Next(args[0])
	case opUntil:
		not = b.Release(args[0], args[1])
	default:
		not = b.Until(args[0], args[1])
	}
	b.nodes[f].negation, b.nodes[not].negation = not+1, f+1
	return not
}

// And is the formula that all of some are true.
func (b *Builder) And(of ...Formula) Formula { return b.join(opAnd, of) }

// Or is the formula that one of some is true.
func (b *Builder) Or(of ...Formula) Formula { return b.join(opOr, of) }

// join is And or Or.
func (b *Builder) join(o op, of []Formula) Formula {
	neutral, deciding := b.True(), b.False()
	if o == opOr {
		neutral, deciding = deciding, neutral
	}
	var args []Formula
	for _, f := range of {
		switch {
		case f == deciding:
			return f
		case b.nodes[f].op == o:
			args = append(args, b.nodes[f].args...)
		case f != neutral:
			args = append(args, f)
		}
	}
	slices.Sort(args)
	args = slices.Compact(args)
	for _, f := range args {
		if n := b.nodes[f]; n.op == opAtom || n.op == opNotAtom || n.negation > 0 {
			if slices.Contains(args, b.Not(f)) {
				return deciding
			}
		}
	}
	args = b.absorb(o, args)
	switch len(args) {
	case 0:
		return neutral
	case 1:
		return args[0]
	}
	return b.make(node{op: o, args: args})
}

// absorb drops arguments that others decide, one after the other: b where there is a U b in an Or;
// a U b where there is b in an And.
func (b *Builder) absorb(o op, args []Formula) []Formula {
	for i := 0; i < len(args); {
		f := args[i]
		if slices.ContainsFunc(args, func(g Formula) bool {
			return f != g && (o == opOr && b.implies(f, g) || o == opAnd && b.implies(g, f))
		}) {
			args = slices.Delete(args, i, i+1)
		} else {
			i++
		}
	}
	return args
}

// implies reports whether g is true wherever f is, as far as their forms say so.
func (b *Builder) implies(f, g Formula) bool {
	pair := [2]Formula{f, g}
	yes, known := b.implied[pair]
	if !known {
		if b.implied == nil {
			b.implied = map[[2]Formula]bool{}
		}
		yes = b.compare(f, g)
		b.implied[pair] = yes
	}
	return yes
}

// compare is implies of formulas that have not been compared yet.
func (b *Builder) compare(f, g Formula) bool {
	m, n := b.nodes[f], b.nodes[g]
	switch {
	case f == g || m.op == opFalse || n.op == opTrue:
		return true
	case m.op == opOr:
		return !slices.ContainsFunc(m.args, func(a Formula) bool { return !b.implies(a, g) })
	case n.op == opAnd:
		return !slices.ContainsFunc(n.args, func(a Formula) bool { return !b.implies(f, a) })
	case m.op == opAnd && slices.ContainsFunc(m.args, func(a Formula) bool {
		return b.implies(a, g)
	}):
		return true
	case n.op == opOr && slices.ContainsFunc(n.args, func(a Formula) bool {
		return b.implies(f, a)
	}):
		return true
	case m.op == opNext && n.op == opNext:
		return b.implies(m.args[0], n.args[0])
	case m.op == opUntil && n.op == opUntil, m.op == opRelease && n.op == opRelease:
		if b.implies(m.args[0], n.args[0]) && b.implies(m.args[1], n.args[1]) {
			return true
		}
	}
	switch {
	case n.op == opUntil && b.implies(f, n.args[1]):
		return true
	case m.op == opRelease && b.implies(m.args[1], g):
		return true
	case m.op == opUntil && b.implies(m.args[0], g) && b.implies(m.args[1], g):
		return true
	}
	return n.op == opRelease && b.implies(f, n.args[0]) && b.implies(f, n.args[1])
}

// Next is the formula that f is true at the next moment.
func (b *Builder) Next(f Formula) Formula {
	if n := b.nodes[f]; n.eventual && n.universal {
		return f
	}
	return b.make(node{op: opNext, args: []Formula{f}})
}

// Until is the formula that g is true now or later, and f until then.
func (b *Builder) Until(f, g Formula) Formula {
	m, n := b.nodes[f], b.nodes[g]
	switch {
	case n.eventual || b.implies(f, g):
		return g
	case m.op == opNext && n.op == opNext, m.op == opTrue && n.op == opNext:
		first := f
		if m.op == opNext {
			first = m.args[0]
		}
		return b.Next(b.Until(first, n.args[0]))
	case m.op == opTrue && n.op == opOr:
		return b.Or(b.each(n.args, b.Finally)...)
	case m.op == opTrue && n.op == opUntil:
		return b.Finally(n.args[1])
	case m.op == opTrue && n.op == opAnd:
		if same, rest := b.constant(n.args); len(same) > 0 {
			return b.And(append(same, b.Finally(b.And(rest...)))...)
		}
	case n.op == opUntil && b.implies(f, n.args[0]):
		return g
	case b.implies(b.Not(g), f):
		f = b.True()
	}
	return b.make(node{op: opUntil, args: []Formula{f, g}})
}

// Release is the formula that g is true until f is, inclusively, or for ever.
func (b *Builder) Release(f, g Formula) Formula {
	if n := b.nodes[g]; n.universal || b.implies(g, f) {
		return g
	}
	return b.dual(b.Until(b.Not(f), b.Not(g)))
}

// dual is the negation of a simplified Until: a Release, if that is an Until still.
func (b *Builder) dual(until Formula) Formula {
	if n := b.nodes[until]; n.op == opUntil && n.negation == 0 {
		args := []Formula{b.Not(n.args[0]), b.Not(n.args[1])}
		not := b.make(node{op: opRelease, args: args})
		b.nodes[until].negation, b.nodes[not].negation = not+1, until+1
		return not
	}
	return b.Not(until)
}

// constant divides formulas into those that are as true now as later, and the others.
func (b *Builder) constant(of []Formula) (same, rest []Formula) {
	for _, f := range of {
		if n := b.nodes[f]; n.eventual && n.universal {
			same = append(same, f)
		} else {
			rest = append(rest, f)
		}
	}
	return same, rest
}

func (b *Builder) each(of []Formula, do func(Formula) Formula) (all []Formula) {
	for _, f := range of {
		all = append(all, do(f))
	}
	return all
}

// Finally is the formula that f is true now or later.
func (b *Builder) Finally(f Formula) Formula { return b.Until(b.True(), f) }

// Globally is the formula that f is true now and ever after.
func (b *Builder) Globally(f Formula) Formula { return b.Release(b.False(), f) }
