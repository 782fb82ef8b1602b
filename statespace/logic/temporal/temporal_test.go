package temporal_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
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
func (w *walker) Holds(atom int) bool       { return w.label>>atom&1 != 0 }

// answer answers formulas on some ranks.
func answer(t *testing.T, ranks int, g *graph, formulas []*temporal.Formula) []temporal.Answer {
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

func of(op temporal.Op, args ...*temporal.Formula) *temporal.Formula {
	return &temporal.Formula{Op: op, Args: args}
}

func atom(i int) *temporal.Formula { return &temporal.Formula{Op: temporal.Atom, Atom: i} }

func exists(op temporal.Op, args ...*temporal.Formula) *temporal.Formula {
	return of(temporal.Exists, of(op, args...))
}

func forall(op temporal.Op, args ...*temporal.Formula) *temporal.Formula {
	return of(temporal.Forall, of(op, args...))
}

// A circle of 0, 1 and 2 that 1 leaves for the deadlock 3, and 0 for a circle of 4 and 5.
func branching() *graph {
	return &graph{first: []uint64{0}, next: [][]uint64{{1, 4}, {2, 3}, {0}, {}, {5}, {4}},
		labels: []uint64{0b0001, 0b0001, 0b0011, 0b0101, 0b1000, 0b0010}}
}

func TestSolve(t *testing.T) {
	a, b, c, d := atom(0), atom(1), atom(2), atom(3)
	not := func(f *temporal.Formula) *temporal.Formula { return of(temporal.Not, f) }
	again := func(f *temporal.Formula) *temporal.Formula {
		return of(temporal.Globally, of(temporal.Finally, f))
	}
	both := of(temporal.And, again(b), again(d))
	all := []struct {
		f    *temporal.Formula
		want bool
	}{
		{a, true},
		{b, false},
		{exists(temporal.Next, d), true},
		{forall(temporal.Next, d), false},
		{forall(temporal.Next, of(temporal.Or, a, d)), true},
		{exists(temporal.Finally, c), true},
		{forall(temporal.Finally, b), false}, // 0, 1, 3
		{forall(temporal.Finally, of(temporal.Or, b, c)), true},
		{exists(temporal.Globally, a), true},
		{exists(temporal.Globally, not(c)), true},
		{forall(temporal.Globally, not(c)), false},
		{forall(temporal.Globally, of(temporal.Or, a, b, d)), true},
		{exists(temporal.Until, a, c), true},
		{forall(temporal.Until, a, of(temporal.Or, b, c)), false}, // 4
		{forall(temporal.Until, a, of(temporal.Or, b, c, d)), true},
		{exists(temporal.Until, not(a), c), false},
		{exists(temporal.Finally, forall(temporal.Next, b)), true},
		{forall(temporal.Globally, exists(temporal.Next, a, a)), false},
		{of(temporal.Exists, again(b)), true},
		{of(temporal.Forall, again(of(temporal.Or, b, c))), true},
		{of(temporal.Forall, again(b)), false},
		{of(temporal.Exists, both), true},
		{of(temporal.Exists, of(temporal.And, again(a), again(d))), false},
		{of(temporal.Exists, of(temporal.And, again(a), again(b), again(not(b)))), true},
		{of(temporal.Exists, of(temporal.Finally, of(temporal.Globally, c))), true}, // 3 repeats
		{exists(temporal.Finally, of(temporal.And, d, of(temporal.Exists, both))), true},
		{exists(temporal.Finally, of(temporal.And, c, forall(temporal.Next, of(temporal.Or)))),
			true},
		{exists(temporal.Finally, of(temporal.And, c, exists(temporal.Next, of(temporal.And)))),
			false},
		{of(temporal.And), true},
		{of(temporal.Or), false},
	}
	var formulas []*temporal.Formula
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
			if !a.Known || a.True != wants[i] {
				t.Errorf("%d ranks, formula %d: %+v, want %v", ranks, i, a, wants[i])
			}
		}
	}
}

// Of several initial states a formula must be true of all.
func TestSolveInitialStates(t *testing.T) {
	g := branching()
	g.first = []uint64{0, 4}
	answers := answer(t, 2, g, []*temporal.Formula{exists(temporal.Finally, atom(2)),
		exists(temporal.Finally, atom(1)), of(temporal.Exists, of(temporal.Globally,
			of(temporal.Finally, atom(0)))), forall(temporal.Finally, atom(0)),
		exists(temporal.Next, atom(1))})
	for i, want := range []bool{false, true, false, false, false} {
		if a := answers[i]; !a.Known || a.True != want {
			t.Errorf("formula %d: %+v, want %v", i, a, want)
		}
	}
	// The last initial state knows the answer at once, and the first one when the kernel is known.
	g = &graph{first: []uint64{0, 1}, next: [][]uint64{{0}, {1}}, labels: []uint64{3, 2}}
	never := of(temporal.Forall, of(temporal.Not, of(temporal.And, atom(0),
		of(temporal.Globally, of(temporal.Finally, atom(1))))))
	if a := answer(t, 1, g, []*temporal.Formula{never})[0]; !a.Known || a.True {
		t.Errorf("%+v", a)
	}
}

// A set that all reach is not enough, in whatever order the sets come.
func TestSolveOneSet(t *testing.T) {
	g := &graph{first: []uint64{0}, next: [][]uint64{{1}, {0}}, labels: []uint64{1, 2}}
	again := func(i int) *temporal.Formula {
		return of(temporal.Globally, of(temporal.Finally, atom(i)))
	}
	both := func(i, k int) *temporal.Formula {
		return of(temporal.Exists, of(temporal.And, again(i), again(k)))
	}
	formulas := []*temporal.Formula{both(0, 2), both(2, 0), both(0, 1)}
	answers := answer(t, 2, g, formulas)
	for _, f := range formulas {
		answers = append(answers, answer(t, 1, g, []*temporal.Formula{f})[0])
	}
	for i, a := range answers {
		if want := i%3 == 2; !a.Known || a.True != want {
			t.Errorf("formula %d: %+v, want %v", i, a, want)
		}
	}
}

// A circle that reaches a set through states that are dropped does not reach it afterwards.
func TestSolveForgets(t *testing.T) {
	g := &graph{first: []uint64{0}, next: [][]uint64{{1, 2}, {0}, {2}}, labels: []uint64{1, 0, 2}}
	again := func(i int) *temporal.Formula {
		return of(temporal.Globally, of(temporal.Finally, atom(i)))
	}
	both := of(temporal.Exists, of(temporal.And, again(0), again(1)))
	for _, ranks := range []int{1, 3} {
		if a := answer(t, ranks, g, []*temporal.Formula{both})[0]; !a.Known || a.True {
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
	stays := of(temporal.And, of(temporal.Not, atom(0)),
		of(temporal.Or, of(temporal.Not, atom(1)), of(temporal.Finally, atom(2))))
	leaves := of(temporal.Forall, of(temporal.Not, of(temporal.Globally, stays)))
	for _, weak := range []int{actions, actions - 1} {
		g.weak = weak
		a := answerFair(t, 1, g, []*temporal.Formula{leaves})[0]
		if want := weak == actions; !a.Known || a.True != want {
			t.Errorf("%d conditions: %+v, want %v", weak, a, want)
		}
	}
}

// A transition of a set counts if it stays in the kernel: 0 may be left at any time for what is not
// true there.
func TestSolveLeaves(t *testing.T) {
	g := &graph{first: []uint64{0}, next: [][]uint64{{0}}, labels: []uint64{1}}
	follows := of(temporal.And, atom(0), of(temporal.Next, atom(1)))
	never := of(temporal.Exists, of(temporal.Globally, of(temporal.Finally, follows)))
	if a := answer(t, 1, g, []*temporal.Formula{never})[0]; !a.Known || a.True {
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
	var ways []*temporal.Formula // 40 formulas of two states and more
	again := func(f *temporal.Formula) *temporal.Formula {
		return of(temporal.Globally, of(temporal.Finally, f))
	}
	twice := of(temporal.And, atom(1), of(temporal.Next, atom(1)))
	once := of(temporal.And, atom(1), of(temporal.Next, of(temporal.Not, atom(1))))
	for range 40 {
		ways = append(ways,
			of(temporal.Exists, of(temporal.And, again(atom(0)), of(temporal.Finally, twice))),
			of(temporal.Exists, of(temporal.And, again(atom(0)), again(once))))
	}
	for i, a := range answer(t, 3, g, ways) {
		if want := i%2 == 1; !a.Known || a.True != want {
			t.Errorf("formula %d: %+v, want %v", i, a, want)
		}
	}
}

func TestRefused(t *testing.T) {
	large := of(temporal.And)
	for i := range 9 {
		large.Args = append(large.Args, of(temporal.Finally, of(temporal.And, atom(i),
			of(temporal.Next, atom(i+1)))))
	}
	many := atom(0)
	for range 300 {
		many = exists(temporal.Next, many)
	}
	atoms := of(temporal.Or)
	for i := range 70 {
		atoms.Args = append(atoms.Args, of(temporal.Next, atom(i)))
	}
	later := atom(1)
	for range 5 {
		later = of(temporal.Next, later)
	}
	bits := of(temporal.And) // 10 automata of 32 states
	for range 10 {
		bits.Args = append(bits.Args, exists(temporal.Globally,
			of(temporal.Or, of(temporal.Not, atom(0)), later)))
	}
	for _, f := range []*temporal.Formula{of(temporal.Exists, large), many, bits,
		of(temporal.Exists, of(temporal.And, atoms, of(temporal.Globally, atom(0))))} {
		answers := answer(t, 1, branching(), []*temporal.Formula{f, atom(0)})
		if err := temporal.Refused(f); err == nil || answers[0].Known ||
			fmt.Sprint(answers[0].Err) != err.Error() || !answers[1].Known {
			t.Errorf("%v: %+v", err, answers)
		}
	}
	// An automaton with a set, and 64 conditions.
	g := &fairGraph{branching(), 40, 24}
	always := of(temporal.Forall, of(temporal.Globally, atom(0)))
	if a := answerFair(t, 1, g, []*temporal.Formula{always})[0]; a.Known == (a.Err != nil) {
		t.Errorf("64 conditions: %+v", a)
	}
	g.strong++
	if a := answerFair(t, 1, g, []*temporal.Formula{always})[0]; a.Known || a.Err == nil {
		t.Errorf("65 conditions: %+v", a)
	}
}

// Formulas of constants need no words of states, and take none from the others.
func TestSolveConstants(t *testing.T) {
	g := &graph{first: []uint64{0}, next: [][]uint64{{}}, labels: []uint64{1}}
	yes, no := of(temporal.And), of(temporal.Or)
	constants := []*temporal.Formula{of(temporal.Exists, yes), of(temporal.Forall, no),
		of(temporal.Not, of(temporal.Forall, no)), no}
	mixed := append(slices.Clone(constants), atom(0), exists(temporal.Next, no),
		forall(temporal.Globally, yes))
	wants := []bool{true, false, true, false, true, false, true}
	for _, formulas := range [][]*temporal.Formula{constants, mixed} {
		for i, a := range answer(t, 2, g, formulas) {
			if !a.Known || a.True != wants[i] {
				t.Errorf("of %d formulas, %d: %+v, want %v", len(formulas), i, a, wants[i])
			}
		}
	}
}

// In a deadlock what an automaton can do follows from what it can do there later.
func TestSolveDeadlock(t *testing.T) {
	g := &graph{first: []uint64{0}, next: [][]uint64{{}}, labels: []uint64{1}}
	var formulas []*temporal.Formula
	for _, op := range []temporal.Op{temporal.Finally, temporal.Globally, temporal.Next} {
		for a := range 2 {
			f := atom(a)
			for range 3 {
				f = of(temporal.Next, of(op, f))
			}
			formulas = append(formulas, of(temporal.Exists, f), of(temporal.Forall, f))
		}
	}
	for _, f := range formulas {
		for i, a := range answer(t, 1, g, []*temporal.Formula{f, f}) {
			leaf := f
			for len(leaf.Args) > 0 {
				leaf = leaf.Args[0]
			}
			if want := leaf.Atom == 0; !a.Known || a.True != want {
				t.Errorf("formula %d: %+v, want %v", i, a, want)
			}
		}
	}
}
