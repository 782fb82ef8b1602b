package temporal

import (
	"slices"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/logic/ltl"
)

// Atoms says which formulas are true of states. One goroutine uses it.
type Atoms interface {
	// See has Holds be about a packed state with so many successors.
	See(state []uint64, successors int)
	// Holds reports whether a formula that does not look along paths is true: one that Solve was
	// given, or a part of it, as large as it can be.
	Holds(f *logic.Formula) bool
}

// Fairness says which paths count, by conditions on actions. An arc takes action i where the word
// that explore.Visit.Marks has for it has bit i. It is for Atoms to have. A path that ends is fair.
type Fairness interface {
	// Conditions is how many actions are fair, up to 32 together. The weak ones come first: one
	// that can be taken at any time from some moment on is taken again and again. A strong one is
	// if it can be taken again and again.
	Conditions() (weak, strong int)
}

// Chooser is for Atoms that are [Fairness] too. Fairness is for those formulas, by their numbers,
// that Shows reports, and a path is shown for these alone.
type Chooser interface {
	Shows(number int) bool
}

// conditions are how many conditions of fairness there are.
type conditions struct{ weak, strong int }

// A value is a formula of a state that is read from the words of the state: its atoms are bits.
type value = logic.Formula

// bitOf is the value of a bit.
func bitOf(bit int) *value { return logic.Leaf(bit) }

// holds reads a value from the words of a state.
func holds(v *value, words []uint64) bool {
	switch v.Op {
	case logic.Atom:
		return bitAt(words, v.Atom.(int))
	case logic.Not:
		return !holds(v.Args[0], words)
	case logic.Iff:
		return holds(v.Args[0], words) == holds(v.Args[1], words)
	}
	for _, arg := range v.Args {
		if holds(arg, words) == (v.Op == logic.Or) {
			return v.Op == logic.Or
		}
	}
	return v.Op == logic.And
}

// question is a formula with its bits.
type question struct {
	begin, end int              // its bits; those of the atoms come first
	atoms      []*logic.Formula // the largest parts that do not look along paths
	steps      []step           // inner ones first
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
func compile(f *logic.Formula, begin int, fair *conditions) *question {
	q := &question{begin: begin, end: begin, fair: fair}
	operators := q.collect(f)
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
func (q *question) collect(f *logic.Formula) (operators int) {
	if !f.Looks() {
		if !f.Constant() && logic.Index(q.atoms, f) < 0 {
			q.atoms = append(q.atoms, f)
			q.end++
		}
		return 0
	}
	if f.Op > logic.Atom {
		operators++
	}
	for _, arg := range f.Args {
		operators += q.collect(arg)
	}
	return operators
}

// value makes the steps that a formula of a state needs, and what is to be read then.
func (q *question) value(f *logic.Formula) *value {
	switch {
	case f.Constant():
		return f
	case !f.Looks():
		return bitOf(q.begin + logic.Index(q.atoms, f))
	case f.Op < logic.Atom:
		v := logic.Of(f.Op)
		for _, arg := range f.Args {
			v.Args = append(v.Args, q.value(arg))
		}
		return v
	}
	path := f.Args[0]
	if path.OfState() {
		return q.value(path) // of the first state of the path
	}
	ofPath := func(arg *logic.Formula) bool { return !arg.OfState() }
	if q.fair == nil && path.Op >= logic.Next && !slices.ContainsFunc(path.Args, ofPath) {
		return q.simple(f.Op == logic.Forall, path)
	}
	return q.product(f.Op == logic.Forall, path)
}

// take takes bits, at least one.
func (q *question) take(n int) (first int) {
	n = max(n, 1)
	q.end += n
	return q.end - n
}

// simple is one operator of a path whose operands are of states.
func (q *question) simple(all bool, path *logic.Formula) *value {
	var args []*value
	for _, arg := range path.Args {
		args = append(args, q.value(arg))
	}
	last := args[len(args)-1]
	first := logic.Truth(true)
	if path.Op == logic.Until {
		first = args[0]
	}
	bit := q.take(1)
	found := bitOf(bit)
	s := &fixpoint{op: path.Op, all: all, bit: bit}
	q.steps = append(q.steps, s)
	switch path.Op {
	case logic.Next:
		s.may, s.next = logic.Truth(true), last
		return found
	case logic.Globally: // the bit says that it is false
		s.may = logic.Of(logic.And, last, logic.Of(logic.Not, found))
		s.next = s.may
		return s.may
	}
	truth := logic.Of(logic.Or, last, found)
	s.may, s.next = logic.Of(logic.And, first, logic.Of(logic.Not, truth)), truth
	return truth
}

// product is any formula of a path.
func (q *question) product(all bool, path *logic.Formula) *value {
	if all {
		path = logic.Of(logic.Not, path)
	}
	p := &product{}
	if q.fair != nil {
		p.conditions = *q.fair
	}
	automaton, err := ltl.Translate(path)
	if err == nil && !p.take(automaton) {
		err = tooLargeError{}
	}
	if err != nil {
		q.err = err
		return nil
	}
	for _, atom := range automaton.Atoms {
		p.labels = append(p.labels, q.value(atom))
	}
	p.gone, p.reached = q.take(p.inner), q.take(p.lanes*p.inner)
	p.dead, p.leads, p.enabled = q.take(p.states), q.take(p.states), q.take(p.strong)
	q.steps = append(q.steps, p)
	v := bitOf(p.leads + p.start)
	if all {
		return logic.Of(logic.Not, v)
	}
	return v
}
