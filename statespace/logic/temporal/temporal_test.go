package temporal_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/logic/temporal"
)

// graph is a model whose states are numbers. Atom i is true where bit i of a label is set.
type graph struct {
	next   [][]uint64
	labels []uint64
	first  []uint64
}

func (g *graph) StateBits() int                { return 20 }
func (g *graph) StateWords() int               { return 1 }
func (g *graph) Initial(out []uint64) []uint64 { return append(out, g.first...) }
func (g *graph) NewExpander() explore.Expander { return &walker{g, 0} }
func (g *graph) Findings() int                 { return 0 }
func (g *graph) Decided([]uint64) bool         { return false }

// walker expands states, and knows the label of one.
type walker struct {
	*graph
	label uint64
}

func (w *walker) Findings() []uint64 { return nil }
func (w *walker) Found() int         { return 0 }
func (w *walker) Expand(state, out []uint64) ([]uint64, error) {
	return append(out, w.next[state[0]]...), nil
}
func (w *walker) See(state []uint64, _ int) { w.label = w.labels[state[0]] }

func (w *walker) Holds(f *logic.Formula) bool {
	return trueFrom(f, []uint64{w.label}, 0)[0]
}

// answer answers formulas on some ranks.
func answer(t *testing.T, ranks int, g *graph, formulas []*logic.Formula) []temporal.Answer {
	t.Helper()
	var first []temporal.Answer
	err := local.Run(ranks, func(job rma.Job) error {
		var answers []temporal.Answer
		opts := explore.Options{Mem: 64 << 20}
		opts.After = func(ctx context.Context, states *explore.States) (err error) {
			answers, err = temporal.Solve(ctx, states, &walker{g, 0}, formulas)
			return err
		}
		_, err := explore.Run(t.Context(), job, g, opts)
		if job.Rank() == 0 {
			first = answers
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func of(op logic.Op, args ...*logic.Formula) *logic.Formula { return logic.Of(op, args...) }

func atom(i int) *logic.Formula { return logic.Leaf(i) }

func exists(op logic.Op, args ...*logic.Formula) *logic.Formula {
	return of(logic.Exists, of(op, args...))
}

func forall(op logic.Op, args ...*logic.Formula) *logic.Formula {
	return of(logic.Forall, of(op, args...))
}

// A circle of 0, 1 and 2 that 1 leaves for the deadlock 3, and 0 for a circle of 4 and 5.
func branching() *graph {
	return &graph{first: []uint64{0}, next: [][]uint64{{1, 4}, {2, 3}, {0}, {}, {5}, {4}},
		labels: []uint64{0b0001, 0b0001, 0b0011, 0b0101, 0b1000, 0b0010}}
}

func TestSolve(t *testing.T) {
	a, b, c, d := atom(0), atom(1), atom(2), atom(3)
	not := func(f *logic.Formula) *logic.Formula { return of(logic.Not, f) }
	again := func(f *logic.Formula) *logic.Formula {
		return of(logic.Globally, of(logic.Finally, f))
	}
	both := of(logic.And, again(b), again(d))
	all := []struct {
		f    *logic.Formula
		want bool
	}{
		{a, true},
		{b, false},
		{exists(logic.Next, d), true},
		{forall(logic.Next, d), false},
		{forall(logic.Next, of(logic.Or, a, d)), true},
		{exists(logic.Finally, c), true},
		{forall(logic.Finally, b), false}, // 0, 1, 3
		{forall(logic.Finally, of(logic.Or, b, c)), true},
		{exists(logic.Globally, a), true},
		{exists(logic.Globally, not(c)), true},
		{forall(logic.Globally, not(c)), false},
		{forall(logic.Globally, of(logic.Or, a, b, d)), true},
		{exists(logic.Until, a, c), true},
		{forall(logic.Until, a, of(logic.Or, b, c)), false}, // 4
		{forall(logic.Until, a, of(logic.Or, b, c, d)), true},
		{exists(logic.Until, not(a), c), false},
		{exists(logic.Finally, forall(logic.Next, b)), true},
		{forall(logic.Globally, exists(logic.Next, a, a)), false},
		{of(logic.Exists, again(b)), true},
		{of(logic.Forall, again(of(logic.Or, b, c))), true},
		{of(logic.Forall, again(b)), false},
		{of(logic.Exists, both), true},
		{of(logic.Exists, of(logic.And, again(a), again(d))), false},
		{of(logic.Exists, of(logic.And, again(a), again(b), again(not(b)))), true},
		{of(logic.Exists, of(logic.Finally, of(logic.Globally, c))), true}, // 3 repeats
		{exists(logic.Finally, of(logic.And, d, of(logic.Exists, both))), true},
		{exists(logic.Finally, of(logic.And, c, forall(logic.Next, of(logic.Or)))),
			true},
		{exists(logic.Finally, of(logic.And, c, exists(logic.Next, of(logic.And)))),
			false},
		{of(logic.And), true},
		{of(logic.Or), false},
	}
	var formulas []*logic.Formula
	var wants []bool
	for i := range 4 * len(all) { // more than are worked on side by side, then in another order
		if i == 2*len(all) {
			slices.Reverse(all)
		}
		formulas = append(formulas, all[i%len(all)].f)
		wants = append(wants, all[i%len(all)].want)
	}
	for _, ranks := range []int{1, 2, 4} {
		for i, a := range answer(t, ranks, branching(), formulas) {
			if a.Verdict != logic.VerdictOf(wants[i]) {
				t.Errorf("%d ranks, formula %d: %+v, want %v", ranks, i, a, wants[i])
			}
		}
	}
}

// Of several initial states a formula must be true of all.
func TestSolveInitialStates(t *testing.T) {
	g := branching()
	g.first = []uint64{0, 4}
	answers := answer(t, 2, g, []*logic.Formula{exists(logic.Finally, atom(2)),
		exists(logic.Finally, atom(1)), of(logic.Exists, of(logic.Globally,
			of(logic.Finally, atom(0)))), forall(logic.Finally, atom(0)),
		exists(logic.Next, atom(1))})
	for i, want := range []bool{false, true, false, false, false} {
		if a := answers[i]; a.Verdict != logic.VerdictOf(want) {
			t.Errorf("formula %d: %+v, want %v", i, a, want)
		}
	}
	// The last initial state knows the answer at once, and the first one when the kernel is known.
	g = &graph{first: []uint64{0, 1}, next: [][]uint64{{0}, {1}}, labels: []uint64{3, 2}}
	never := of(logic.Forall, of(logic.Not, of(logic.And, atom(0),
		of(logic.Globally, of(logic.Finally, atom(1))))))
	if a := answer(t, 1, g, []*logic.Formula{never})[0]; a.Verdict != logic.False {
		t.Errorf("%+v", a)
	}
}

// A set that all reach is not enough, in whatever order the sets come.
func TestSolveOneSet(t *testing.T) {
	g := &graph{first: []uint64{0}, next: [][]uint64{{1}, {0}}, labels: []uint64{1, 2}}
	again := func(i int) *logic.Formula {
		return of(logic.Globally, of(logic.Finally, atom(i)))
	}
	both := func(i, k int) *logic.Formula {
		return of(logic.Exists, of(logic.And, again(i), again(k)))
	}
	formulas := []*logic.Formula{both(0, 2), both(2, 0), both(0, 1)}
	answers := answer(t, 2, g, formulas)
	for _, f := range formulas {
		answers = append(answers, answer(t, 1, g, []*logic.Formula{f})[0])
	}
	for i, a := range answers {
		if want := i%3 == 2; a.Verdict != logic.VerdictOf(want) {
			t.Errorf("formula %d: %+v, want %v", i, a, want)
		}
	}
}

// A circle that reaches a set through states that are dropped does not reach it afterwards.
func TestSolveForgets(t *testing.T) {
	g := &graph{first: []uint64{0}, next: [][]uint64{{1, 2}, {0}, {2}}, labels: []uint64{1, 0, 2}}
	again := func(i int) *logic.Formula {
		return of(logic.Globally, of(logic.Finally, atom(i)))
	}
	both := of(logic.Exists, of(logic.And, again(0), again(1)))
	for _, ranks := range []int{1, 3} {
		if a := answer(t, ranks, g, []*logic.Formula{both})[0]; a.Verdict != logic.False {
			t.Errorf("%d ranks: %+v", ranks, a)
		}
	}
}

// More sets than are looked at side by side are looked at one after the other: state 0 has to be
// left by the last action.
func TestSolveManySets(t *testing.T) {
	const actions = 32
	g := &fairGraph{&graph{first: []uint64{0}, next: make([][]uint64, 2), labels: []uint64{4, 1}},
		actions, 0}
	for i := range actions {
		g.next[0] = append(g.next[0], uint64(i/(actions-1)))
		g.next[1] = append(g.next[1], 1)
	}
	// Its automaton has two states, so that 32 sets have room in a word.
	stays := of(logic.And, of(logic.Not, atom(0)),
		of(logic.Or, of(logic.Not, atom(1)), of(logic.Finally, atom(2))))
	leaves := of(logic.Forall, of(logic.Not, of(logic.Globally, stays)))
	for _, weak := range []int{actions, actions - 1} {
		g.weak = weak
		a := answerFair(t, 1, g, []*logic.Formula{leaves})[0]
		if want := weak == actions; a.Verdict != logic.VerdictOf(want) {
			t.Errorf("%d conditions: %+v, want %v", weak, a, want)
		}
	}
}

// A transition of a set counts if it stays in the kernel: 0 may be left at any time for what is not
// true there.
func TestSolveLeaves(t *testing.T) {
	g := &graph{first: []uint64{0}, next: [][]uint64{{0}}, labels: []uint64{1}}
	follows := of(logic.And, atom(0), of(logic.Next, atom(1)))
	never := of(logic.Exists, of(logic.Globally, of(logic.Finally, follows)))
	if a := answer(t, 1, g, []*logic.Formula{never})[0]; a.Verdict != logic.False {
		t.Errorf("%+v", a)
	}
}

// A long way is found to its end, also by an automaton of which little fits a word.
func TestSolveLongWay(t *testing.T) {
	const n = 5000
	g := &graph{first: []uint64{0}, labels: make([]uint64, n)}
	for s := range uint64(n) {
		g.next = append(g.next, []uint64{s * 7919 % n, (s + 1) % n})
	}
	g.labels[n-1], g.labels[n-3] = 1, 2
	var ways []*logic.Formula // 40 formulas of two states and more
	again := func(f *logic.Formula) *logic.Formula {
		return of(logic.Globally, of(logic.Finally, f))
	}
	twice := of(logic.And, atom(1), of(logic.Next, atom(1)))
	once := of(logic.And, atom(1), of(logic.Next, of(logic.Not, atom(1))))
	for range 40 {
		ways = append(ways,
			of(logic.Exists, of(logic.And, again(atom(0)), of(logic.Finally, twice))),
			of(logic.Exists, of(logic.And, again(atom(0)), again(once))))
	}
	for i, a := range answer(t, 3, g, ways) {
		if want := i%2 == 1; a.Verdict != logic.VerdictOf(want) {
			t.Errorf("formula %d: %+v, want %v", i, a, want)
		}
	}
}

func TestRefused(t *testing.T) {
	large := of(logic.And)
	for i := range 9 {
		large.Args = append(large.Args, of(logic.Finally, of(logic.And, atom(i),
			of(logic.Next, atom(i+1)))))
	}
	many := atom(0)
	for range 300 {
		many = exists(logic.Next, many)
	}
	atoms := of(logic.Or)
	for i := range 70 {
		atoms.Args = append(atoms.Args, of(logic.Next, atom(i)))
	}
	later := atom(1)
	for range 5 {
		later = of(logic.Next, later)
	}
	bits := of(logic.And) // 10 automata of 32 states
	for range 10 {
		bits.Args = append(bits.Args, exists(logic.Globally,
			of(logic.Or, of(logic.Not, atom(0)), later)))
	}
	for _, f := range []*logic.Formula{of(logic.Exists, large), many, bits,
		of(logic.Exists, of(logic.And, atoms, of(logic.Globally, atom(0))))} {
		answers := answer(t, 1, branching(), []*logic.Formula{f, atom(0)})
		if err := temporal.Refused(f); err == nil || answers[0].Verdict != logic.Unknown ||
			fmt.Sprint(answers[0].Err) != err.Error() || answers[1].Verdict == logic.Unknown {
			t.Errorf("%v: %+v", err, answers)
		}
	}
	// An automaton with a set, and 64 conditions.
	g := &fairGraph{branching(), 40, 24}
	always := of(logic.Forall, of(logic.Globally, atom(0)))
	a := answerFair(t, 1, g, []*logic.Formula{always})[0]
	if (a.Verdict == logic.Unknown) != (a.Err != nil) {
		t.Errorf("64 conditions: %+v", a)
	}
	g.strong++
	a = answerFair(t, 1, g, []*logic.Formula{always})[0]
	if a.Verdict != logic.Unknown || a.Err == nil {
		t.Errorf("65 conditions: %+v", a)
	}
}

// Formulas of constants need no words of states, and take none from the others.
func TestSolveConstants(t *testing.T) {
	g := &graph{first: []uint64{0}, next: [][]uint64{{}}, labels: []uint64{1}}
	yes, no := of(logic.And), of(logic.Or)
	constants := []*logic.Formula{of(logic.Exists, yes), of(logic.Forall, no),
		of(logic.Not, of(logic.Forall, no)), no}
	mixed := append(slices.Clone(constants), atom(0), exists(logic.Next, no),
		forall(logic.Globally, yes))
	wants := []bool{true, false, true, false, true, false, true}
	for _, formulas := range [][]*logic.Formula{constants, mixed} {
		for i, a := range answer(t, 2, g, formulas) {
			if a.Verdict != logic.VerdictOf(wants[i]) {
				t.Errorf("of %d formulas, %d: %+v, want %v", len(formulas), i, a, wants[i])
			}
		}
	}
}

// In a deadlock what an automaton can do follows from what it can do there later.
func TestSolveDeadlock(t *testing.T) {
	g := &graph{first: []uint64{0}, next: [][]uint64{{}}, labels: []uint64{1}}
	var formulas []*logic.Formula
	for _, op := range []logic.Op{logic.Finally, logic.Globally, logic.Next} {
		for a := range 2 {
			f := atom(a)
			for range 3 {
				f = of(logic.Next, of(op, f))
			}
			formulas = append(formulas, of(logic.Exists, f), of(logic.Forall, f))
		}
	}
	for _, f := range formulas {
		for i, a := range answer(t, 1, g, []*logic.Formula{f, f}) {
			leaf := f
			for len(leaf.Args) > 0 {
				leaf = leaf.Args[0]
			}
			if want := leaf.Atom == any(0); a.Verdict != logic.VerdictOf(want) {
				t.Errorf("formula %d: %+v, want %v", i, a, want)
			}
		}
	}
}
