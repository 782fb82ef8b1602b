package packing

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// plain evaluates formulas that look along paths on an explicit graph of markings.
type plain struct {
	net  *petri.Net
	all  [][]int64
	next [][]int
}

func newPlain(n *petri.Net, all [][]int64) *plain {
	p := &plain{net: n, all: all, next: make([][]int, len(all))}
	for i, m := range all {
		for t := range n.Transitions {
			if !n.Transitions[t].Enabled(m) {
				continue
			}
			to := slices.Clone(m)
			n.Transitions[t].Fire(to)
			p.next[i] = append(p.next[i], slices.IndexFunc(all, func(m []int64) bool {
				return slices.Equal(m, to)
			}))
		}
	}
	return p
}

// truth is whether a formula of a marking holds, by marking.
func (p *plain) truth(f *logic.Formula) []bool {
	truth := make([]bool, len(p.all))
	switch {
	case !f.Looks():
		for i, m := range p.all {
			truth[i] = property.Holds(f, p.net, m)
		}
	case f.Op == logic.And || f.Op == logic.Or || f.Op == logic.Not:
		for i := range truth {
			truth[i] = f.Op == logic.And
		}
		for _, arg := range f.Args {
			for i, holds := range p.truth(arg) {
				switch f.Op {
				case logic.And:
					truth[i] = truth[i] && holds
				case logic.Or:
					truth[i] = truth[i] || holds
				default:
					truth[i] = !holds
				}
			}
		}
	case f.Op == logic.Forall:
		not := logic.Of(logic.Not, f.Args...)
		for i, holds := range p.path(not) {
			truth[i] = !holds
		}
		return p.ends(f, truth)
	default:
		return p.ends(f, p.path(f.Args[0]))
	}
	return truth
}

// ends corrects what a deadlock means to a single Next.
func (p *plain) ends(f *logic.Formula, truth []bool) []bool {
	if path := f.Args[0]; path.Op == logic.Next && ofMarking(path.Args[0]) {
		for i := range truth {
			if len(p.next[i]) == 0 {
				truth[i] = f.Op == logic.Forall
			}
		}
	}
	return truth
}

func ofMarking(f *logic.Formula) bool {
	return f.Op == logic.Exists || f.Op == logic.Forall || f.Op < logic.Exists &&
		!slices.ContainsFunc(f.Args, func(g *logic.Formula) bool { return !ofMarking(g) })
}

// tableau finds the paths of which a formula is true: a node is a marking and a guess of the truth
// of each operator of paths from there.
type tableau struct {
	*plain
	ops   []*logic.Formula          // operators of paths
	truth map[*logic.Formula][]bool // of formulas of markings
}

// holds is the truth of a formula in a node.
func (t *tableau) holds(f *logic.Formula, marking, guess int) bool {
	if truth, ok := t.truth[f]; ok {
		return truth[marking]
	}
	if i := slices.Index(t.ops, f); i >= 0 {
		return guess>>i&1 != 0
	}
	switch f.Op {
	case logic.Not:
		return !t.holds(f.Args[0], marking, guess)
	case logic.And:
		return !slices.ContainsFunc(f.Args, func(g *logic.Formula) bool {
			return !t.holds(g, marking, guess)
		})
	}
	return slices.ContainsFunc(f.Args, func(g *logic.Formula) bool {
		return t.holds(g, marking, guess)
	})
}

func (t *tableau) collect(f *logic.Formula) {
	if ofMarking(f) {
		t.truth[f] = t.plain.truth(f)
		return
	}
	for _, arg := range f.Args {
		t.collect(arg)
	}
	if f.Op > logic.Forall {
		t.ops = append(t.ops, f)
	}
}

// follows reports whether one node may follow another.
func (t *tableau) follows(marking, guess, next, guessNext int) bool {
	for i, f := range t.ops {
		last := f.Args[len(f.Args)-1]
		now, later := t.holds(last, marking, guess), guessNext>>i&1 != 0
		var want bool
		switch f.Op {
		case logic.Next:
			want = t.holds(last, next, guessNext)
		case logic.Finally:
			want = now || later
		case logic.Globally:
			want = now && later
		default:
			want = now || t.holds(f.Args[0], marking, guess) && later
		}
		if guess>>i&1 != 0 != want {
			return false
		}
	}
	return true
}

// path is whether a formula is true of a path from a marking, by marking.
func (p *plain) path(f *logic.Formula) []bool {
	t := &tableau{plain: p, truth: map[*logic.Formula][]bool{}}
	t.collect(f)
	guesses := 1 << len(t.ops)
	next := make([][]int, len(p.all)*guesses)
	for node := range next {
		m := node / guesses
		to := p.next[m]
		if len(to) == 0 {
			to = []int{m}
		}
		for _, m2 := range to {
			for guess := range guesses {
				if t.follows(m, node%guesses, m2, guess) {
					next[node] = append(next[node], m2*guesses+guess)
				}
			}
		}
	}
	reached := make([][]bool, len(next))
	for node := range next {
		reached[node] = make([]bool, len(next))
		for todo := []int{node}; len(todo) > 0; todo = todo[1:] {
			for _, to := range next[todo[0]] {
				if !reached[node][to] {
					reached[node][to] = true
					todo = append(todo, to)
				}
			}
		}
	}
	fair := func(node int) bool { // in a cycle that keeps what is promised
		for i, f := range t.ops {
			kept := f.Op == logic.Next
			for other := range next {
				if kept || !reached[node][other] || !reached[other][node] {
					continue
				}
				now := t.holds(f.Args[len(f.Args)-1], other/guesses, other%guesses)
				kept = other%guesses>>i&1 != 0 == (f.Op == logic.Globally) ||
					now == (f.Op != logic.Globally)
			}
			if !kept {
				return false
			}
		}
		return reached[node][node]
	}
	var good []int
	for node := range next {
		if fair(node) {
			good = append(good, node)
		}
	}
	truth := make([]bool, len(p.all))
	for node := range next {
		if t.holds(f, node/guesses, node%guesses) && slices.ContainsFunc(good, func(to int) bool {
			return to == node || reached[node][to]
		}) {
			truth[node/guesses] = true
		}
	}
	return truth
}

// randomPaths is a random formula of a marking, or, where so many operators of paths may be, of a
// path.
func randomPaths(rng *rand.Rand, n *petri.Net, depth int, path *int) *logic.Formula {
	if depth == 0 {
		return randomFormula(rng, n, 1)
	}
	arg := func() *logic.Formula { return randomPaths(rng, n, depth-1, path) }
	if path != nil && *path > 0 && rng.IntN(4) > 0 {
		*path--
		f := logic.Of(logic.Next + logic.Op(rng.IntN(4)))
		if f.Args = append(f.Args, arg()); f.Op == logic.Until {
			f.Args = append(f.Args, arg())
		}
		return f
	}
	switch rng.IntN(6) {
	case 0:
		return logic.Of(logic.Not, arg())
	case 1, 2:
		return logic.Of(logic.Op(rng.IntN(2)), arg(), arg())
	}
	left := 1 + rng.IntN(4)
	return logic.Of(logic.Exists+logic.Op(rng.IntN(2)), randomPaths(rng, n, depth-1, &left))
}

// Formulas of CTL* on random nets are answered as a tableau on an explicit graph answers them.
func TestPathsOfRandomNets(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	cases := map[string]int{}
	for i := 0; cases["nets"] < 100; i++ {
		n := naive.AnyNet(rng, 1+rng.IntN(5), 1+rng.IntN(5))
		all := markings(n, 24)
		if all == nil {
			continue
		}
		cases["nets"]++
		var properties []property.Property
		for k := range 12 {
			properties = append(properties, property.Property{Kind: property.Temporal,
				Name: fmt.Sprint(k), Formula: randomPaths(rng, n, 1+rng.IntN(5), nil)})
		}
		ranks := []int{1, 2, 4}[i%3]
		answers, res, _, err := answersOf(n, ranks, properties, explore.Options{})
		if err != nil {
			t.Fatalf("net %d: %v", i, err)
		}
		p := newPlain(n, all)
		for k, a := range answers {
			want := logic.False
			if p.truth(properties[k].Formula)[0] {
				want = logic.True
			}
			if a.Verdict != want || !a.Exact {
				t.Fatalf("net %d %+v, %d ranks, formula %d: %v %q, want %v\n%s\n%+v", i, n, ranks,
					k, a.Verdict, a.Reason, want, textOf(properties[k].Formula), res.Swept)
			}
			cases[want.String()]++
		}
	}
	t.Log(cases)
	if cases["true"] < 200 || cases["false"] < 200 {
		t.Errorf("too few cases: %v", cases)
	}
}

// textOf is a formula as text.
func textOf(f *logic.Formula) string {
	text := fmt.Sprintf("%d", f.Op)
	if len(f.Args) == 0 {
		return fmt.Sprintf("%+v", *f)
	}
	for _, arg := range f.Args {
		text += "(" + textOf(arg) + ")"
	}
	return text
}

// A formula that is too large is unknown, and the others are answered.
func TestPathsTooLarge(t *testing.T) {
	n, err := petri.Family("philosophers", 5)
	if err != nil {
		t.Fatal(err)
	}
	enabled := func(t int) *logic.Formula { return logic.Leaf(property.Enabled{t}) }
	of := logic.Of
	large := of(logic.And)
	for i := range 8 {
		large.Args = append(large.Args, of(logic.Finally, of(logic.And, enabled(i),
			of(logic.Next, enabled(i+1)))))
	}
	answers, _, _, err := answersOf(n, 2, []property.Property{
		{Kind: property.Temporal, Name: "large", Formula: of(logic.Exists, large)},
		{Kind: property.Temporal, Name: "small",
			Formula: of(logic.Exists, of(logic.Finally, of(logic.Next, enabled(0))))},
	}, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a := answers[0]; a.Exact || a.Reason != "its automaton would have more than 64 states" {
		t.Errorf("%+v", a)
	}
	if a := answers[1]; a.Verdict != logic.True || !a.Exact {
		t.Errorf("%+v", a)
	}
	if !reflect.DeepEqual(answers[0].Property.Formula.Args[0], large) {
		t.Error("the formula was changed")
	}
}

// What memory did not suffice for is unknown, with the reason.
func TestPathsWithoutMemory(t *testing.T) {
	n, err := petri.Family("rwmutex", 16)
	if err != nil {
		t.Fatal(err)
	}
	next := logic.Of(logic.Next, logic.Leaf(property.Stuck{}))
	answers, res, _, err := answersOf(n, 2, []property.Property{{Kind: property.Temporal,
		Formula: logic.Of(logic.Exists, next)}},
		explore.Options{Mem: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if a := answers[0]; !res.Complete || a.Exact || a.Reason == "" ||
		res.Swept.Reason != explore.MemoryFull {
		t.Errorf("%+v %+v", a, res.Swept)
	}
}

// At a dead initial marking X of LTL looks at the marking again, and of CTL at none.
func TestNextInDeadInitialMarking(t *testing.T) {
	n := &petri.Net{Places: []petri.Place{{ID: "p", Name: "p"}},
		Transitions: []petri.Transition{{ID: "t", Name: "t",
			In: []petri.Arc{{Place: 0, Weight: 1}}}}}
	var file strings.Builder
	wants := map[string]logic.Verdict{}
	for id, want := range map[string]logic.Verdict{"N-CTLCardinality-00": logic.True,
		"N-LTLCardinality-00": logic.False} {
		for least, least0 := range []logic.Verdict{logic.True, want} { // tokens of p: it has none
			for i, next := range []string{"%s", "<next>%s</next>"} {
				name := fmt.Sprint(id, least, i)
				if wants[name] = least0; i == 1 && least == 1 {
					wants[name] = logic.False // X X is of LTL alone
				}
				fmt.Fprintf(&file, "<property><id>%s</id><formula><all-paths>"+
					"<next>"+next+"</next></all-paths></formula></property>", name, fmt.Sprintf(
					"<integer-le><integer-constant>%d</integer-constant><tokens-count>"+
						"<place>p</place></tokens-count></integer-le>", least))
			}
		}
	}
	path := filepath.Join(t.TempDir(), "x.xml")
	text := "<property-set>" + file.String() + "</property-set>"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	properties, err := property.ReadFile(n, path)
	if err != nil {
		t.Fatal(err)
	}
	answers, _, _, err := answersOf(n, 1, properties, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if a.Verdict != wants[a.Property.Name] {
			t.Errorf("%s: %v, want %v", a.Property.Name, a.Verdict, wants[a.Property.Name])
		}
	}
}
