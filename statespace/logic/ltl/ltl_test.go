package ltl_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/statespace/logic/ltl"
)

// tree is a formula with its meaning.
type tree struct {
	op   string
	atom int
	args []*tree
}

func randomTree(rng *rand.Rand, depth int) *tree {
	if depth == 0 {
		return &tree{op: "atom", atom: rng.IntN(3)}
	}
	op := []string{"atom", "not", "and", "or", "next", "until", "release", "finally",
		"globally"}[rng.IntN(9)]
	t := &tree{op: op, atom: rng.IntN(3)}
	switch op {
	case "and", "or", "until", "release":
		t.args = append(t.args, randomTree(rng, depth-1))
		fallthrough
	case "not", "next", "finally", "globally":
		t.args = append(t.args, randomTree(rng, depth-1))
	}
	return t
}

func (t *tree) String() string {
	if t.op == "atom" {
		return fmt.Sprint("p", t.atom)
	}
	return fmt.Sprint(t.op, t.args)
}

func (t *tree) build(b *ltl.Builder) ltl.Formula {
	var args []ltl.Formula
	for _, arg := range t.args {
		args = append(args, arg.build(b))
	}
	switch t.op {
	case "atom":
		return b.Atom(t.atom)
	case "not":
		return b.Not(args[0])
	case "and":
		return b.And(args...)
	case "or":
		return b.Or(args...)
	case "next":
		return b.Next(args[0])
	case "until":
		return b.Until(args[0], args[1])
	case "release":
		return b.Release(args[0], args[1])
	case "finally":
		return b.Finally(args[0])
	}
	return b.Globally(args[0])
}

// lasso is a word that repeats from a letter on.
type lasso struct {
	letters []uint64
	back    int
}

func (l lasso) after(i int) int {
	if i+1 == len(l.letters) {
		return l.back
	}
	return i + 1
}

// truth is whether a formula holds from each letter on.
func (t *tree) truth(l lasso) []bool {
	var args [][]bool
	for _, arg := range t.args {
		args = append(args, arg.truth(l))
	}
	out := make([]bool, len(l.letters))
	step := func(i int) bool {
		switch t.op {
		case "atom":
			return l.letters[i]>>t.atom&1 != 0
		case "not":
			return !args[0][i]
		case "and":
			return args[0][i] && args[1][i]
		case "or":
			return args[0][i] || args[1][i]
		case "next":
			return args[0][l.after(i)]
		case "until":
			return args[1][i] || args[0][i] && out[l.after(i)]
		case "release":
			return args[1][i] && (args[0][i] || out[l.after(i)])
		case "finally":
			return args[0][i] || out[l.after(i)]
		}
		return args[0][i] && out[l.after(i)]
	}
	for i := range out {
		out[i] = t.op == "release" || t.op == "globally"
	}
	for range 2*len(out) + 1 {
		for i := range out {
			out[i] = step(i)
		}
	}
	return out
}

// accepts reports whether an automaton accepts a word: whether a part of the graph of letters and
// states that is reached, and in which all are reached from all, has transitions of all sets.
func accepts(a *ltl.Automaton, l lasso) bool {
	type arc struct {
		to   int
		sets uint64
	}
	n := len(a.States)
	arcs := make([][]arc, n*len(l.letters))
	for i, letter := range l.letters {
		for s, ts := range a.States {
			for _, t := range ts {
				if t.True&^letter == 0 && t.False&letter == 0 {
					arcs[i*n+s] = append(arcs[i*n+s], arc{l.after(i)*n + t.To, t.Sets})
				}
			}
		}
	}
	reached := func(from int) []bool {
		seen := make([]bool, len(arcs))
		for todo := []int{from}; len(todo) > 0; todo = todo[1:] {
			for _, x := range arcs[todo[0]] {
				if !seen[x.to] {
					seen[x.to] = true
					todo = append(todo, x.to)
				}
			}
		}
		return seen
	}
	all := make([][]bool, len(arcs))
	for node := range arcs {
		all[node] = reached(node)
	}
	for node := range arcs {
		if node != 0 && !all[0][node] || !all[node][node] {
			continue
		}
		sets := uint64(0)
		for other := range arcs {
			for _, x := range arcs[other] {
				if all[node][other] && all[x.to][node] {
					sets |= x.sets
				}
			}
		}
		if sets == 1<<a.Sets-1 {
			return true
		}
	}
	return false
}

// dead returns a transition from which no accepting run begins, or to a state that is not reached,
// and whether there is one.
func dead(a *ltl.Automaton) (ltl.Transition, bool) {
	reached := make([][]bool, len(a.States))
	for s := range a.States {
		reached[s] = make([]bool, len(a.States))
		for todo := []int{s}; len(todo) > 0; todo = todo[1:] {
			for _, t := range a.States[todo[0]] {
				if !reached[s][t.To] {
					reached[s][t.To] = true
					todo = append(todo, t.To)
				}
			}
		}
	}
	fair := make([]bool, len(a.States)) // a run may come back and take all sets
	for s := range a.States {
		sets := uint64(0)
		for u, ts := range a.States {
			for _, t := range ts {
				if (u == s || reached[s][u]) && (t.To == s || reached[t.To][s]) {
					sets |= t.Sets
				}
			}
		}
		fair[s] = reached[s][s] && sets == 1<<a.Sets-1
	}
	for s, ts := range a.States {
		if s > 0 && !reached[0][s] {
			return ltl.Transition{To: s}, true
		}
		for _, t := range ts {
			lives := fair[t.To]
			for s := range fair {
				lives = lives || fair[s] && reached[t.To][s]
			}
			if !lives || t.True&t.False != 0 {
				return t, true
			}
		}
	}
	return ltl.Transition{}, false
}

// An automaton accepts the words of which its formula is true.
func TestTranslateRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	verdicts, large := map[bool]int{}, 0
	for i := range 1500 {
		f := randomTree(rng, 1+rng.IntN(4))
		var b ltl.Builder
		a, err := b.Translate(f.build(&b))
		if err != nil {
			large++
			continue
		}
		if arc, found := dead(a); found {
			t.Fatalf("formula %d, %v: no accepting run takes %+v of %+v", i, f, arc, a)
		}
		for range 10 {
			l := lasso{letters: make([]uint64, 1+rng.IntN(5))}
			for k := range l.letters {
				l.letters[k] = rng.Uint64N(8)
			}
			l.back = rng.IntN(len(l.letters))
			want := f.truth(l)[0]
			verdicts[want]++
			if accepts(a, l) != want {
				t.Fatalf("formula %d, %v, of %+v: want %v, automaton %+v", i, f, l, want, a)
			}
		}
	}
	t.Log(verdicts, large)
	if verdicts[true] < 3000 || verdicts[false] < 3000 || large > 5 {
		t.Errorf("verdicts %v, %d too large", verdicts, large)
	}
}

// Formulas whose automata are known to be small have small ones.
func TestTranslateSizes(t *testing.T) {
	var b ltl.Builder
	p, q, r := b.Atom(0), b.Atom(1), b.Atom(2)
	for _, c := range []struct {
		f    ltl.Formula
		want int
	}{
		{b.True(), 1},
		{b.Globally(p), 1},
		{b.Finally(p), 2},
		{b.Globally(b.Finally(p)), 1},
		{b.Finally(b.Globally(p)), 2},
		{b.Globally(b.Or(b.Not(p), b.Finally(q))), 2},
		{b.Until(p, b.Until(q, r)), 3},
		{b.And(b.Globally(b.Finally(p)), b.Globally(b.Finally(q)), b.Globally(b.Finally(r))), 1},
		{b.Finally(b.And(p, b.Globally(b.Finally(q)))), 2},
		{b.Next(b.Next(p)), 4},
	} {
		a, err := b.Translate(c.f)
		if err != nil || len(a.States) > c.want {
			t.Errorf("formula %d: %+v, %v, want %d states", c.f, a, err, c.want)
		}
	}
	not := func(f ltl.Formula) bool { return b.Not(b.Not(f)) == f }
	for _, f := range []ltl.Formula{p, b.Until(p, q), b.Release(p, q), b.Next(p),
		b.Globally(b.Finally(p))} {
		if !not(f) {
			t.Errorf("formula %d is not the negation of its negation", f)
		}
	}
	all := b.True()
	for i := range 8 {
		all = b.And(all, b.Finally(b.And(b.Atom(i), b.Next(b.Atom(i+1)))))
	}
	if _, err := b.Translate(all); err == nil {
		t.Error("an automaton of 2^8 states was made")
	}
}

// An automaton of MaxStates states is made, and none of more. What would have too many sets is
// refused before it is made.
func TestTranslateLimits(t *testing.T) {
	var b ltl.Builder
	f := b.Atom(ltl.MaxAtoms - 1)
	for range ltl.MaxStates - 2 {
		f = b.Next(f)
	}
	a, err := b.Translate(f)
	if err != nil || len(a.States) != ltl.MaxStates {
		t.Errorf("got %d states, %v", len(a.States), err)
	}
	var or []ltl.Formula
	for i := range ltl.MaxAtoms {
		p, q := b.Atom(i), b.Atom((i+1)%ltl.MaxAtoms)
		or = append(or, b.Until(p, q), b.Until(p, b.Not(q)))
	}
	var large *ltl.TooLargeError
	for _, f := range []ltl.Formula{b.Next(f), b.Or(or...)} {
		if a, err := b.Translate(f); !errors.As(err, &large) {
			t.Errorf("formula %d: %+v, %v", f, a, err)
		}
	}
	for _, i := range []int{-1, ltl.MaxAtoms} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("there is an atom %d", i)
				}
			}()
			b.Atom(i)
		}()
	}
}
