package ltl

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/statespace/logic"
)

// randomFormula is a formula over three atoms.
func randomFormula(rng *rand.Rand, depth int) *logic.Formula {
	if depth == 0 {
		return logic.Leaf(rng.IntN(3))
	}
	op := []logic.Op{logic.Atom, logic.Not, logic.And, logic.Or, logic.Iff, logic.Next,
		logic.Until, logic.Finally, logic.Globally}[rng.IntN(9)]
	f := logic.Of(op)
	switch op {
	case logic.Atom:
		return logic.Leaf(rng.IntN(3))
	case logic.And, logic.Or, logic.Iff, logic.Until:
		f.Args = append(f.Args, randomFormula(rng, depth-1))
	}
	f.Args = append(f.Args, randomFormula(rng, depth-1))
	return f
}

// seen is a word of the atoms of an automaton.
func (a *Automaton) seen(l lasso) lasso {
	letters := make([]uint64, len(l.letters))
	for number, f := range a.Atoms {
		for i, yes := range truth(f, l) {
			if yes {
				letters[i] |= 1 << number
			}
		}
	}
	return lasso{letters, l.back}
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
func truth(f *logic.Formula, l lasso) []bool {
	var args [][]bool
	for _, arg := range f.Args {
		args = append(args, truth(arg, l))
	}
	out := make([]bool, len(l.letters))
	step := func(i int) bool {
		switch f.Op {
		case logic.Atom:
			return l.letters[i]>>f.Atom.(int)&1 != 0
		case logic.Not:
			return !args[0][i]
		case logic.And:
			return args[0][i] && args[1][i]
		case logic.Or:
			return args[0][i] || args[1][i]
		case logic.Iff:
			return args[0][i] == args[1][i]
		case logic.Next:
			return args[0][l.after(i)]
		case logic.Until:
			return args[1][i] || args[0][i] && out[l.after(i)]
		case logic.Finally:
			return args[0][i] || out[l.after(i)]
		}
		return args[0][i] && out[l.after(i)]
	}
	for i := range out {
		out[i] = f.Op == logic.Globally
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
func accepts(a *Automaton, l lasso) bool {
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
func dead(a *Automaton) (Transition, bool) {
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
			return Transition{To: s}, true
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
	return Transition{}, false
}

// An automaton accepts the words of which its formula is true.
func TestTranslateRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	verdicts, large := map[bool]int{}, 0
	for i := range 1500 {
		f := randomFormula(rng, 1+rng.IntN(4))
		a, err := Translate(f)
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
			want := truth(f, l)[0]
			verdicts[want]++
			if accepts(a, a.seen(l)) != want {
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
	of, finally, globally := logic.Of, finallyOf, globallyOf
	p, q, r := logic.Leaf(0), logic.Leaf(1), logic.Leaf(2)
	again := func(f *logic.Formula) *logic.Formula { return globally(finally(f)) }
	for i, c := range []struct {
		f    *logic.Formula
		want int
	}{
		{logic.Truth(true), 1},
		{globally(p), 1},
		{finally(p), 2},
		{again(p), 1},
		{finally(globally(p)), 2},
		{globally(of(logic.Or, of(logic.Not, p), finally(q))), 2},
		{of(logic.Until, p, of(logic.Until, q, r)), 3},
		{of(logic.And, again(p), again(q), again(r)), 1},
		{finally(of(logic.And, p, again(q))), 2},
		{of(logic.Next, of(logic.Next, p)), 4},
	} {
		a, err := Translate(c.f)
		if err != nil || len(a.States) > c.want {
			t.Errorf("formula %d: %+v, %v, want %d states", i, a, err, c.want)
		}
	}
	var b builder
	x, y := b.atom(0), b.atom(1)
	for _, f := range []formula{x, b.until(x, y), b.release(x, y), b.next(x),
		b.globally(b.finally(x))} {
		if b.not(b.not(f)) != f {
			t.Errorf("formula %d is not the negation of its negation", f)
		}
	}
	all := of(logic.And)
	for i := range 8 {
		all.Args = append(all.Args, finally(of(logic.And, logic.Leaf(i),
			of(logic.Next, logic.Leaf(i+1)))))
	}
	if _, err := Translate(all); err == nil {
		t.Error("an automaton of 2^8 states was made")
	}
}

func finallyOf(f *logic.Formula) *logic.Formula  { return logic.Of(logic.Finally, f) }
func globallyOf(f *logic.Formula) *logic.Formula { return logic.Of(logic.Globally, f) }

// An automaton of MaxStates states is made, and none of more. What would have too many sets is
// refused before it is made.
func TestTranslateLimits(t *testing.T) {
	f := logic.Leaf(MaxAtoms - 1)
	for range MaxStates - 2 {
		f = logic.Of(logic.Next, f)
	}
	a, err := Translate(f)
	if err != nil || len(a.States) != MaxStates {
		t.Errorf("got %d states, %v", len(a.States), err)
	}
	or := logic.Of(logic.Or)
	for i := range MaxAtoms {
		p, q := logic.Leaf(i), logic.Leaf((i+1)%MaxAtoms)
		or.Args = append(or.Args, logic.Of(logic.Until, p, q),
			logic.Of(logic.Until, p, logic.Of(logic.Next, q)))
	}
	var large *TooLargeError
	for i, f := range []*logic.Formula{logic.Of(logic.Next, f), or} {
		if a, err := Translate(f); !errors.As(err, &large) {
			t.Errorf("formula %d: %+v, %v", i, a, err)
		}
	}
	f = logic.Leaf(0) // of MaxAtoms, and of one more
	for i := range MaxAtoms + 1 {
		a, err := Translate(f)
		if (err == nil) != (i < MaxAtoms) || err == nil && len(a.Atoms) != i+1 {
			t.Errorf("atom %d: %+v, %v", i, a, err)
		}
		f = logic.Of(logic.And, f, logic.Of(logic.Exists, logic.Leaf(i)))
	}
}
