package ltl

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/statespace/logic"
)

// formula is a formula in negation normal form of one builder. Equal ones are equal numbers.
type formula int

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
	args                []formula
	eventual, universal bool
	negation            formula // and 1; 0: not made yet
}

// builder makes formulas. The zero value is ready.
type builder struct {
	atoms   []*logic.Formula
	nodes   []node
	known   map[string]formula
	implied map[[2]formula]bool
}

// make returns the formula of a node, which is not to be simplified any more.
func (b *builder) make(n node) formula {
	key := fmt.Sprint(n.op, n.atom, n.args)
	if f, ok := b.known[key]; ok {
		return f
	}
	if b.known == nil {
		b.known = map[string]formula{}
	}
	all := func(is func(node) bool) bool {
		return !slices.ContainsFunc(n.args, func(f formula) bool { return !is(b.nodes[f]) })
	}
	eventual, universal := func(n node) bool { return n.eventual },
		func(n node) bool { return n.universal }
	constant := n.op == opTrue || n.op == opFalse
	composed := !constant && n.op != opAtom && n.op != opNotAtom
	n.eventual = constant || composed && all(eventual) || n.op == opUntil && b.isTrue(n.args[0])
	n.universal = constant || composed && all(universal) ||
		n.op == opRelease && b.isFalse(n.args[0])
	f := formula(len(b.nodes))
	b.nodes, b.known[key] = append(b.nodes, n), f
	return f
}

func (b *builder) isTrue(f formula) bool  { return b.nodes[f].op == opTrue }
func (b *builder) isFalse(f formula) bool { return b.nodes[f].op == opFalse }

// truth is the formula that is true of all words, or of no word.
func (b *builder) truth(yes bool) formula {
	if yes {
		return b.make(node{op: opTrue})
	}
	return b.make(node{op: opFalse})
}

// atom is the formula that an atom is true now.
func (b *builder) atom(i int) formula { return b.make(node{op: opAtom, atom: i}) }

// normal is the normal form of a formula.
func (b *builder) normal(f *logic.Formula) formula {
	if f.Op >= logic.Atom && f.Op < logic.Next || !f.Looks() && !f.Constant() {
		i := logic.Index(b.atoms, f)
		if i < 0 {
			i = len(b.atoms)
			b.atoms = append(b.atoms, f)
		}
		return b.atom(i % MaxAtoms) // Translate refuses more
	}
	var args []formula
	for _, arg := range f.Args {
		args = append(args, b.normal(arg))
	}
	switch f.Op {
	case logic.And:
		return b.and(args...)
	case logic.Or:
		return b.or(args...)
	case logic.Not:
		return b.not(args[0])
	case logic.Iff:
		return b.or(b.and(args...), b.and(b.not(args[0]), b.not(args[1])))
	case logic.Next:
		return b.next(args[0])
	case logic.Finally:
		return b.finally(args[0])
	case logic.Globally:
		return b.globally(args[0])
	}
	return b.until(args[0], args[1])
}

// not is the negation of a formula.
func (b *builder) not(f formula) formula {
	if known := b.nodes[f].negation; known > 0 {
		return known - 1
	}
	n := b.nodes[f]
	var args []formula
	for _, arg := range n.args {
		args = append(args, b.not(arg))
	}
	var not formula
	switch n.op {
	case opTrue:
		not = b.truth(false)
	case opFalse:
		not = b.truth(true)
	case opAtom, opNotAtom:
		not = b.make(node{op: opAtom + opNotAtom - n.op, atom: n.atom})
	case opAnd:
		not = b.or(args...)
	case opOr:
		not = b.and(args...)
	case opNext:
		not = b.next(args[0])
	case opUntil:
		not = b.release(args[0], args[1])
	default:
		not = b.until(args[0], args[1])
	}
	b.nodes[f].negation, b.nodes[not].negation = not+1, f+1
	return not
}

// and is the formula that all of some are true.
func (b *builder) and(of ...formula) formula { return b.join(opAnd, of) }

// or is the formula that one of some is true.
func (b *builder) or(of ...formula) formula { return b.join(opOr, of) }

// join is and, or or.
func (b *builder) join(o op, of []formula) formula {
	neutral, deciding := b.truth(true), b.truth(false)
	if o == opOr {
		neutral, deciding = deciding, neutral
	}
	var args []formula
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
			if slices.Contains(args, b.not(f)) {
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
func (b *builder) absorb(o op, args []formula) []formula {
	for i := 0; i < len(args); {
		f := args[i]
		if slices.ContainsFunc(args, func(g formula) bool {
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
func (b *builder) implies(f, g formula) bool {
	pair := [2]formula{f, g}
	yes, known := b.implied[pair]
	if !known {
		if b.implied == nil {
			b.implied = map[[2]formula]bool{}
		}
		yes = b.compare(f, g)
		b.implied[pair] = yes
	}
	return yes
}

// compare is implies of formulas that have not been compared yet.
func (b *builder) compare(f, g formula) bool {
	m, n := b.nodes[f], b.nodes[g]
	switch {
	case f == g || m.op == opFalse || n.op == opTrue:
		return true
	case m.op == opOr:
		return !slices.ContainsFunc(m.args, func(a formula) bool { return !b.implies(a, g) })
	case n.op == opAnd:
		return !slices.ContainsFunc(n.args, func(a formula) bool { return !b.implies(f, a) })
	case m.op == opAnd && slices.ContainsFunc(m.args, func(a formula) bool {
		return b.implies(a, g)
	}):
		return true
	case n.op == opOr && slices.ContainsFunc(n.args, func(a formula) bool {
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

// next is the formula that f is true at the next moment.
func (b *builder) next(f formula) formula {
	if n := b.nodes[f]; n.eventual && n.universal {
		return f
	}
	return b.make(node{op: opNext, args: []formula{f}})
}

// until is the formula that g is true now or later, and f until then.
func (b *builder) until(f, g formula) formula {
	m, n := b.nodes[f], b.nodes[g]
	switch {
	case n.eventual || b.implies(f, g):
		return g
	case m.op == opNext && n.op == opNext, m.op == opTrue && n.op == opNext:
		first := f
		if m.op == opNext {
			first = m.args[0]
		}
		return b.next(b.until(first, n.args[0]))
	case m.op == opTrue && n.op == opOr:
		return b.or(b.each(n.args, b.finally)...)
	case m.op == opTrue && n.op == opUntil:
		return b.finally(n.args[1])
	case m.op == opTrue && n.op == opAnd:
		if same, rest := b.constant(n.args); len(same) > 0 {
			return b.and(append(same, b.finally(b.and(rest...)))...)
		}
	case n.op == opUntil && b.implies(f, n.args[0]):
		return g
	case b.implies(b.not(g), f):
		f = b.truth(true)
	}
	return b.make(node{op: opUntil, args: []formula{f, g}})
}

// release is the formula that g is true until f is, inclusively, or for ever.
func (b *builder) release(f, g formula) formula {
	if n := b.nodes[g]; n.universal || b.implies(g, f) {
		return g
	}
	return b.dual(b.until(b.not(f), b.not(g)))
}

// dual is the negation of a simplified Until: a Release, if that is an Until still.
func (b *builder) dual(until formula) formula {
	if n := b.nodes[until]; n.op == opUntil && n.negation == 0 {
		args := []formula{b.not(n.args[0]), b.not(n.args[1])}
		not := b.make(node{op: opRelease, args: args})
		b.nodes[until].negation, b.nodes[not].negation = not+1, until+1
		return not
	}
	return b.not(until)
}

// constant divides formulas into those that are as true now as later, and the others.
func (b *builder) constant(of []formula) (same, rest []formula) {
	for _, f := range of {
		if n := b.nodes[f]; n.eventual && n.universal {
			same = append(same, f)
		} else {
			rest = append(rest, f)
		}
	}
	return same, rest
}

func (b *builder) each(of []formula, do func(formula) formula) (all []formula) {
	for _, f := range of {
		all = append(all, do(f))
	}
	return all
}

// finally is the formula that f is true now or later.
func (b *builder) finally(f formula) formula { return b.until(b.truth(true), f) }

// globally is the formula that f is true now and ever after.
func (b *builder) globally(f formula) formula { return b.release(b.truth(false), f) }
