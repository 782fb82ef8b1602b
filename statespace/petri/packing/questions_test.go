package packing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// markings are all reachable markings of a net, nil if there are more than the limit.
func markings(n *petri.Net, limit int) [][]int64 {
	all := [][]int64{n.Initial()}
	seen := map[string]bool{fmt.Sprint(all[0]): true}
	for i := 0; i < len(all); i++ {
		for t := range n.Transitions {
			if !n.Transitions[t].Enabled(all[i]) {
				continue
			}
			next := slices.Clone(all[i])
			n.Transitions[t].Fire(next)
			if key := fmt.Sprint(next); !seen[key] {
				seen[key] = true
				all = append(all, next)
			}
		}
		if len(all) > limit {
			return nil
		}
	}
	return all
}

// naively answers a property from all markings.
func naively(n *petri.Net, p *property.Property, all [][]int64) (verdict logic.Verdict,
	value int64) {
	truth := map[bool]logic.Verdict{true: logic.True, false: logic.False}
	switch p.Kind {
	case property.Always, property.Sometimes:
		yes := slices.ContainsFunc(all, func(m []int64) bool {
			return property.Holds(p.Formula, n, m) == (p.Kind == property.Sometimes)
		})
		return truth[yes == (p.Kind == property.Sometimes)], 0
	case property.Bound:
		for _, m := range all {
			value = max(value, p.Sum.Value(m))
		}
		return logic.Unknown, value
	case property.Stable:
		for place := range n.Places {
			changed := func(m []int64) bool { return m[place] != all[0][place] }
			if !slices.ContainsFunc(all, changed) {
				return logic.True, 0
			}
		}
		return logic.False, 0
	case property.Live:
		live, _ := naive.Live(n, len(all))
		return truth[!slices.Contains(live, false)], 0
	default:
		for t := range n.Transitions {
			if !slices.ContainsFunc(all, n.Transitions[t].Enabled) {
				return logic.False, 0
			}
		}
		return logic.True, 0
	}
}

// randomSum is a sum over some places.
func randomSum(rng *rand.Rand, n *petri.Net) property.Sum {
	s := property.Sum{Constant: rng.Int64N(3)}
	for place := range n.Places {
		if rng.IntN(3) == 0 {
			s.Terms = append(s.Terms, property.Term{Place: place, Weight: 1 + rng.Int64N(2)})
		}
	}
	return s
}

// randomFormula is a formula that nests at most so deep.
func randomFormula(rng *rand.Rand, n *petri.Net, depth int) *logic.Formula {
	arg := func() *logic.Formula { return randomFormula(rng, n, depth-1) }
	switch kind := rng.IntN(7); {
	case kind < 2 && depth > 0:
		f := logic.Of([]logic.Op{logic.And, logic.Or}[kind])
		for range rng.IntN(4) {
			f.Args = append(f.Args, arg())
		}
		return f
	case kind == 2 && depth > 0 && rng.IntN(2) == 0:
		return logic.Of(logic.Iff, arg(), arg())
	case kind == 2 && depth > 0:
		return logic.Of(logic.Not, arg())
	case kind == 3:
		return logic.Leaf(property.Stuck{})
	case kind == 4 && len(n.Transitions) > 0:
		var some property.Enabled
		for range 1 + rng.IntN(2) {
			some = append(some, rng.IntN(len(n.Transitions)))
		}
		return logic.Leaf(some)
	}
	return logic.Leaf(&property.AtMost{Left: randomSum(rng, n), Right: randomSum(rng, n)})
}

// randomProperties are some of each kind.
func randomProperties(rng *rand.Rand, n *petri.Net) []property.Property {
	all := []property.Property{{Kind: property.Stable}, {Kind: property.QuasiLive},
		{Kind: property.Live}}
	for i := range 6 {
		all = append(all, property.Property{Kind: property.Kind(i % 2),
			Formula: randomFormula(rng, n, 3)})
	}
	for range 3 {
		all = append(all, property.Property{Kind: property.Bound, Sum: randomSum(rng, n)})
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+rng.IntN(len(all))]
}

// answersOf explores a net on some ranks and answers its properties.
func answersOf(n *petri.Net, ranks int, properties []property.Property, opts explore.Options) (
	answers []property.Answer, res *explore.Result, firings []int, err error) {
	search := NewSearch(n, properties...)
	err = local.Run(ranks, func(job rma.Job) error {
		r, p, err := search.Run(context.Background(), job, opts)
		if err != nil || job.Rank() != 0 {
			return err
		}
		answers, res = p.Answers(r), r
		firings, err = p.Firings(r.Trace)
		return err
	})
	return answers, res, firings, err
}

func TestAnswersOfRandomNets(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	compared := map[string]int{}
	for i := 0; compared["nets"] < 150; i++ {
		n := naive.AnyNet(rng, 1+rng.IntN(6), 1+rng.IntN(6))
		all := markings(n, 1000)
		if all == nil {
			continue
		}
		compared["nets"]++
		properties := randomProperties(rng, n)
		answers, res, _, err := answersOf(n, 1+i%3, properties, explore.Options{})
		if err != nil {
			t.Fatalf("net %d: %v", i, err)
		}
		if !res.Complete && res.Reason != explore.Decided {
			t.Fatalf("net %d: %+v", i, res)
		}
		for k, a := range answers {
			verdict, value := naively(n, &properties[k], all)
			if !a.Exact || a.Verdict != verdict && a.Property.Kind != property.Bound ||
				a.Property.Kind == property.Bound && a.Value != value {
				t.Fatalf("net %d %+v, property %+v: %+v, want %v or %d", i, n, properties[k], a,
					verdict, value)
			}
			what := fmt.Sprint("kind ", int(a.Property.Kind), " structural ", a.Structural, " ",
				verdict)
			compared[what]++
		}
		if res.Reason == explore.Decided {
			compared["ended early"]++
		}
	}
	for _, what := range []string{"ended early", "kind 0 structural false true",
		"kind 0 structural true false", "kind 1 structural false true",
		"kind 2 structural false unknown", "kind 2 structural true unknown",
		"kind 4 structural false false", "kind 4 structural true true",
		"kind 5 structural false true", "kind 6 structural false true",
		"kind 6 structural true false", "kind 6 structural false false"} {
		if compared[what] == 0 {
			t.Errorf("no case of %s: %v", what, compared)
		}
	}
}

// A shortest way leads to a marking that shows the answer.
func TestWitnesses(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for compared := 0; compared < 60; {
		n := naive.AnyNet(rng, 1+rng.IntN(6), 1+rng.IntN(6))
		f := randomFormula(rng, n, 2)
		if all := markings(n, 1000); all == nil || property.Holds(f, n, n.Initial()) {
			continue
		}
		sometimes := []property.Property{{Kind: property.Sometimes, Formula: f}}
		answers, res, firings, err := answersOf(n, 1+compared%3, sometimes,
			explore.Options{Trace: Witnesses(sometimes)})
		if err != nil {
			t.Fatal(err)
		}
		if answers[0].Verdict != logic.True || answers[0].Structural {
			continue
		}
		compared++
		m := n.Initial()
		for i, at := range firings {
			if property.Holds(f, n, m) {
				t.Fatalf("it holds after %d of %v", i, firings)
			}
			n.Transitions[at].Fire(m)
		}
		if !property.Holds(f, n, m) || answers[0].Witness != res.Traced {
			t.Fatalf("%+v does not hold in %v after %v", f, m, firings)
		}
	}
}

// The witness of an answer is among Witnesses, whatever is asked before it.
func TestWitnessesAfterOtherQuestions(t *testing.T) {
	n := circle(3)
	all := []property.Property{{Kind: property.Stable},
		{Kind: property.Bound, Sum: property.Sum{Terms: []property.Term{{Place: 1, Weight: 1}}}},
		{Kind: property.Sometimes, Formula: formulaOf(t, n, "tokens(p1) >= 2")},
		{Kind: property.Live},
		{Kind: property.Always, Formula: formulaOf(t, n, "tokens(p0) >= 2")}}
	answers, res, firings, err := answersOf(n, 1, all, explore.Options{Trace: Witnesses(all),
		TraceEach: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]int{1: 3, 2: 2, 4: 2} {
		if !slices.ContainsFunc(res.Traces, func(tr explore.Trace) bool {
			return tr.Target == answers[i].Witness && len(tr.Steps) == 1+want
		}) {
			t.Errorf("%+v: no way of %d firings in %+v", answers[i], want, res.Traces)
		}
		if !slices.Contains(Witnesses(all), answers[i].Witness) {
			t.Errorf("%v lack the witness of %+v", Witnesses(all), answers[i])
		}
	}
	if len(firings) != 3 || res.Traced != answers[1].Witness {
		t.Errorf("%+v after %v", res, firings)
	}
}

// A bound is exact early only where the structure allows no more.
func TestBoundsEndTheSearch(t *testing.T) {
	terms := []property.Term{{Place: 1, Weight: 1}}
	ask := func(sum property.Sum) (*Packing, error) {
		return New(circle(3), Options{Properties: []property.Property{
			{Kind: property.Bound, Sum: sum}}})
	}
	p, err := ask(property.Sum{Terms: terms})
	if err != nil {
		t.Fatal(err)
	}
	findings := make([]uint64, p.Findings())
	for i, want := range []bool{false, true} {
		findings[findingQuestions+i] = 1
		if got := p.Decided(findings); got != want {
			t.Errorf("%v: decided %v", findings, got)
		}
	}
	for _, sum := range []property.Sum{{Constant: -1, Terms: terms},
		{Terms: []property.Term{{Place: 1, Weight: -1}}}} {
		if _, err := ask(sum); err == nil {
			t.Errorf("%+v is answered", sum)
		}
	}
}

// A transition whose fifth input is missing neither fires nor counts as one that can.
func TestManyInputs(t *testing.T) {
	answers, res, _, err := answersOf(manyInputs(), 1,
		[]property.Property{{Kind: property.QuasiLive}}, explore.Options{})
	if err != nil || res.States != 2 || answers[0].Verdict != logic.False || answers[0].Structural {
		t.Errorf("%+v, %+v, %v", answers, res, err)
	}
}

// manyInputs has a transition with more conditions than lanes test, which never fires.
func manyInputs() *petri.Net {
	var s sketch
	in := arcs{}
	for range maxPlanes {
		in[s.place(2)] = 1
	}
	last := s.place(0)
	in[last] = 1
	s.transition(in, arcs{})
	s.transition(arcs{0: 2}, arcs{last: 2})
	return &s.net
}

// A net without transitions is live.
func TestLiveWithoutTransitions(t *testing.T) {
	var s sketch
	s.place(1)
	answers, _, _, err := answersOf(&s.net, 1,
		[]property.Property{{Kind: property.Live}}, explore.Options{})
	if err != nil || answers[0].Verdict != logic.True || !answers[0].Structural {
		t.Errorf("%+v, %v", answers, err)
	}
}

// A checkpoint is one of a net, of its packing, and of what was asked.
func TestIdentity(t *testing.T) {
	counting := counter(0, 1)
	identity := func(n *petri.Net, guess int, properties ...property.Property) string {
		p, err := New(n, Options{GuessBits: guess, Properties: properties})
		if err != nil {
			t.Fatal(err)
		}
		text, err := p.identity(NewSearch(n, properties...), guess)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	stable, quasi := property.Property{Kind: property.Stable}, property.Property{
		Kind: property.QuasiLive}
	seen := map[string]bool{identity(circle(3), 8): true}
	for i, text := range []string{identity(circle(4), 8), identity(circle(3), 8, stable),
		identity(circle(3), 8, quasi), identity(counting, 8), identity(counting, 16)} {
		if seen[text] {
			t.Errorf("case %d: %s is the answer of another", i, text)
		}
		seen[text] = true
	}
	if identity(circle(3), 8) != identity(circle(3), 16) {
		t.Error("a guess counts where no place needs one")
	}
}

// A finding counts once, however often it rises.
func TestFindingsAreCountedOnce(t *testing.T) {
	e := mustPack(t, circle(3), 0).NewExpander().(*expander)
	for value := range uint64(3) {
		e.find(findingPlace, value)
	}
	if e.Found() != 1 || e.Findings()[findingPlace] != 2 {
		t.Errorf("%d found: %v", e.Found(), e.Findings())
	}
}

// An answer that memory did not suffice for is unknown, and a bound is one so far.
func TestUnknown(t *testing.T) {
	n, err := petri.Family("philosophers", 14)
	if err != nil {
		t.Fatal(err)
	}
	marked, err := property.ParseFormula(n, "tokens("+n.Places[0].ID+") >= 1")
	if err != nil {
		t.Fatal(err)
	}
	not := func(f *logic.Formula) *logic.Formula {
		return logic.Of(logic.Not, f)
	}
	never := logic.Of(logic.And, marked, not(marked))
	search := NewSearch(n, property.Property{Kind: property.Sometimes, Formula: never},
		property.Property{Kind: property.Always, Formula: not(never)},
		property.Property{Kind: property.Sometimes, Formula: marked})
	err = local.Run(2, func(job rma.Job) error {
		res, p, err := search.Run(context.Background(), job, explore.Options{Mem: 4 << 20})
		if err != nil {
			return err
		}
		a := p.Answers(res)
		if res.Reason != explore.MemoryFull || a[0].Verdict != logic.Unknown || a[0].Exact ||
			a[1].Verdict != logic.Unknown || a[2].Verdict != logic.True {
			t.Errorf("%+v, %+v", res, a)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A transition that empties a place has fired, and the place has not changed if it was empty.
func TestStableThoughEmptied(t *testing.T) {
	arc := func(place int) []petri.Arc { return []petri.Arc{{Place: place, Weight: 1}} }
	for _, tokens := range []int64{0, 1} {
		n := &petri.Net{Places: []petri.Place{{ID: "a", Name: "a", Initial: 1},
			{ID: "b", Name: "b"}, {ID: "c", Name: "c", Initial: tokens}},
			Transitions: []petri.Transition{{ID: "t", Name: "t", In: arc(0), Out: arc(1),
				Resets: []int{2}}, {ID: "u", Name: "u", In: arc(1), Out: arc(0)}}}
		got, _, _, err := answersOf(n, 1, []property.Property{{Kind: property.Stable}},
			explore.Options{})
		if want := logic.VerdictOf(tokens == 0); err != nil || got[0].Verdict != want {
			t.Errorf("%d tokens: %v, want %v (%v)", tokens, got, want, err)
		}
	}
}
