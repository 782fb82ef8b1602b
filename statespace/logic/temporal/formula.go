package temporal

import (
	"slices"

	"github.com/farhash/farhash/statespace/logic/ltl"
)

// Op is what a formula does.
type Op int

// The operators.
const (
	And      Op = iota // of Args; true if there are none
	Or                 // of Args; false if there are none
	Not                // of the only one of Args
	Atom               // Formula.Atom is true in this state
	Exists             // the only one of Args is true of a path from here
	Forall             // the only one of Args is true of all paths from here
	Next               // the only one of Args is true from the next state on
	Finally            // it is true from some state on
	Globally           // it is true from each state on
	Until              // the second of Args is true from some state on, and the first until then
)

// Formula is true or false of a state, or, within Exists and Forall, of a path.
type Formula struct {
	Op   Op
	Atom int
	Args []*Formula
}

// Atoms says which atoms are true in states. One goroutine uses it.
type Atoms interface {
	// See has Holds be about a packed state with so many successors.
	See(state []uint64, successors int)
	Holds(atom int) bool
}

// Fairness says which paths count, by conditions on actions. An arc takes action i where the word
// that explore.Visit.Marks has for it has bit i. It is for Atoms to have. A path that ends is fair.
type Fairness interface {
	// Conditions is how many actions are fair, up to 32 together. The weak ones come first: one
	// that can be taken at any time from some moment on is taken again and again. A strong one is
	// if it can be taken again and again.
	Conditions() (weak, strong int)
}

// conditions are how many conditions of fairness there are.
type conditions struct{ weak, strong int }

// ofState reports whether a formula is of a state: nothing of it is of a path.
func (f *Formula) ofState() bool {
	ofPath := func(arg *Formula) bool { return !arg.ofState() }
	return f.Op < Next && (f.Op > Not || !slices.ContainsFunc(f.Args, ofPath))
}

// value is a formula of a state that can be read from the words of the state.
type value struct {
	op   Op // And, Or, Not; Atom: a bit
	bit  int
	args []*value
}

// holds reads a value from the words of a state.
func (v *value) holds(words []uint64) bool {
	switch v.op {
	case Atom:
		return words[v.bit/64]>>(v.bit%64)&1 != 0
	case Not:
		return !v.args[0].holds(words)
	}
	for _, arg := range v.args {
		if arg.holds(words) == (v.op == Or) {
			return v.op == Or
		}
	}
	return v.op == And
}

func not(v *value) *value { return &value{op: Not, args: []*value{v}} }

// question is a formula with its bits.
type question struct {
	begin, end int // its bits; those of the atoms come first
	atoms      []int
	steps      []step // inner ones first
	root       *value
	at         int         // the step that is being done
	fair       *conditions // nil: each path counts, and none is shown
	err        error       // why it cannot be answered
}

// maxBits is how many bits a formula has at most, and maxOperators of how many operators of paths
// it is.
const (
	maxBits      = 1024
	maxOperators = 256
)

type tooLargeError struct{}

func (tooLargeError) Error() string { return "the formula is too large" }

// compile gives a formula bits, from one on.
func compile(f *Formula, begin int, fair *conditions) *question {
	q := &question{begin: begin, end: begin, fair: fair}
	known := map[int]bool{}
	operators := q.collect(f, known)
	if q.end-begin > maxBits || operators > maxOperators {
		q.err = tooLargeError{}
		return q
	}
	q.root = q.value(f)
	if q.err == nil && q.end-begin > maxBits {
		q.err = tooLargeError{}
	}
	return q
}

// collect gives the atoms of a formula bits. It returns how many operators of paths there are.
func (q *question) collect(f *Formula, known map[int]bool) (operators int) {
	if f.Op == Atom && !known[f.Atom] {
		known[f.Atom] = true
		q.atoms = append(q.atoms, f.Atom)
		q.end++
	}
	if f.Op > Atom {
		operators++
	}
	for _, arg := range f.Args {
		operators += q.collect(arg, known)
	}
	return operators
}

// value makes the steps that a formula of a state needs, and what is to be read then.
func (q *question) value(f *Formula) *value {
	switch f.Op {
	case And, Or, Not:
		v := &value{op: f.Op}
		for _, arg := range f.Args {
			v.args = append(v.args, q.value(arg))
		}
		return v
	case Atom:
		for i, atom := range q.atoms {
			if atom == f.Atom {
				return &value{op: Atom, bit: q.begin + i}
			}
		}
	}
	path := f.Args[0]
	if path.ofState() {
		return q.value(path) // of the first state of the path
	}
	ofPath := func(arg *Formula) bool { return !arg.ofState() }
	if q.fair == nil && path.Op >= Next && !slices.ContainsFunc(path.Args, ofPath) {
		return q.simple(f.Op == Forall, path)
	}
	return q.product(f.Op == Forall, path)
}

// take takes bits, at least one.
func (q *question) take(n int) (first int) {
	n = max(n, 1)
	q.end += n
	return q.end - n
}

// simple is one operator of a path whose operands are of states.
func (q *question) simple(all bool, path *Formula) *value {
	var args []*value
	for _, arg := range path.Args {
		args = append(args, q.value(arg))
	}
	last := args[len(args)-1]
	first := &value{op: And} // true
	if path.Op == Until {
		first = args[0]
	}
	bit := q.take(1)
	found := &value{op: Atom, bit: bit}
	s := &fixpoint{op: path.Op, all: all, bit: bit}
	q.steps = append(q.steps, s)
	switch path.Op {
	case Next:
		s.may, s.next = &value{op: And}, last
		return found
	case Globally: // the bit says that it is false
		s.may = &value{op: And, args: []*value{last, not(found)}}
		s.next = s.may
		return s.may
	}
	truth := &value{op: Or, args: []*value{last, found}}
	s.may, s.next = &value{op: And, args: []*value{first, not(truth)}}, truth
	return truth
}

// product is any formula of a path.
func (q *question) product(all bool, path *Formula) *value {
	b := &translation{question: q}
	f := b.formula(path)
	if q.err != nil {
		return nil
	}
	if all {
		f = b.Not(f)
	}
	automaton, err := b.Translate(f)
	p := &product{labels: b.labels}
	if q.fair != nil {
		p.conditions = *q.fair
	}
	if err == nil && !p.take(automaton) {
		err = tooLargeError{}
	}
	if err != nil {
		q.err = err
		return nil
	}
	p.gone, p.reached = q.take(p.inner), q.take(p.lanes*p.inner)
	p.dead, p.leads, p.enabled = q.take(p.states), q.take(p.states), q.take(p.strong)
	q.steps = append(q.steps, p)
	v := &value{op: Atom, bit: p.leads + p.start}
	if all {
		return not(v)
	}
	return v
}

// translation has the formulas of states within a formula of a path as atoms.
type translation struct {
	ltl.Builder
	*question
	labels []*value // by atom of the automaton
}

func (t *translation) formula(f *Formula) ltl.Formula {
	if t.err != nil {
		return 0
	}
	var args []ltl.Formula
	if f.Op != Exists && f.Op != Forall {
		for _, arg := range f.Args {
			args = append(args, t.formula(arg))
		}
	}
	switch f.Op {
	case And:
		return t.And(args...)
	case Or:
		return t.Or(args...)
	case Not:
		return t.Not(args[0])
	case Next:
		return t.Next(args[0])
	case Finally:
		return t.Finally(args[0])
	case Globally:
		return t.Globally(args[0])
	case Until:
		return t.Until(args[0], args[1])
	}
	return t.label(t.value(f))
}

// label is the atom of the automaton for a value.
func (t *translation) label(v *value) ltl.Formula {
	for i, known := range t.labels {
		if known.op == v.op && known.op == Atom && known.bit == v.bit {
			return t.Atom(i)
		}
	}
	if len(t.labels) == ltl.MaxAtoms {
		t.err = tooLargeError{}
		return t.True()
	}
	t.labels = append(t.labels, v)
	return t.Atom(len(t.labels) - 1)
}
