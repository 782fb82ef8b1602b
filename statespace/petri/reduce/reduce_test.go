package reduce

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// explored are the reachable markings of a net, and the firings that lead to each.
type explored struct {
	markings [][]int64
	from     []int // the marking that it was reached from
	by       []int // by this transition
}

// explore gives up where there are more markings than the limit.
func explore(n *petri.Net, limit int) (e explored, ok bool) {
	e = explored{[][]int64{n.Initial()}, []int{-1}, []int{-1}}
	seen := map[string]bool{fmt.Sprint(n.Initial()): true}
	for i := 0; i < len(e.markings); i++ {
		for t := range n.Transitions {
			if !n.Transitions[t].Enabled(e.markings[i]) {
				continue
			}
			next := slices.Clone(e.markings[i])
			n.Transitions[t].Fire(next)
			if key := fmt.Sprint(next); !seen[key] {
				seen[key] = true
				e.markings, e.from = append(e.markings, next), append(e.from, i)
				e.by = append(e.by, t)
			}
		}
		if len(e.markings) > limit {
			return e, false
		}
	}
	return e, true
}

// firings lead to a marking.
func (e *explored) firings(marking int) (all []int) {
	for ; e.from[marking] >= 0; marking = e.from[marking] {
		all = append(all, e.by[marking])
	}
	slices.Reverse(all)
	return all
}

// answer is the value of a bound, or 1 where a marking decides the question; at is a marking that
// shows it, -1 where none does.
func (e *explored) answer(n *petri.Net, p *property.Property) (value int64, at int) {
	at = -1
	for i, m := range e.markings {
		switch {
		case p.Kind != property.Bound:
			if property.Holds(p.Formula, n, m) == (p.Kind == property.Sometimes) {
				return 1, i
			}
		case at < 0 || p.Sum.Value(m) > value:
			value, at = p.Sum.Value(m), i
		}
	}
	return value, at
}

// randomNet is a net that rules can do something with: paths of places, some of which fork and
// join, share resources, or have arcs of larger weight.
func randomNet(rng *rand.Rand) *petri.Net {
	if rng.IntN(3) == 0 {
		return naive.RandomNet(rng, 1+rng.IntN(6), 1+rng.IntN(6))
	}
	n := &petri.Net{}
	places := 2 + rng.IntN(7)
	for i := range places {
		n.Places = append(n.Places, petri.Place{ID: fmt.Sprint("p", i), Name: "place"})
	}
	for range 1 + rng.IntN(3) {
		n.Places[rng.IntN(places)].Initial = 1 + rng.Int64N(3)
	}
	weights := make([]int64, places) // of most arcs of a place
	for i := range weights {
		weights[i] = 1 + int64(rng.IntN(6)/5)
	}
	arcs := func(least, most int) []petri.Arc {
		var all []petri.Arc
		for _, place := range rng.Perm(places)[:min(places, least+rng.IntN(most-least+1))] {
			weight := weights[place]
			if rng.IntN(12) == 0 {
				weight++
			}
			all = append(all, petri.Arc{Place: place, Weight: weight})
		}
		slices.SortFunc(all, func(a, b petri.Arc) int { return a.Place - b.Place })
		return all
	}
	for i := range 1 + rng.IntN(8) {
		in := arcs(min(rng.IntN(12), 1), 1+rng.IntN(2))
		out := arcs(min(rng.IntN(6), 1), 1+rng.IntN(2))
		t := petri.Transition{ID: fmt.Sprint("t", i), Name: "transition", In: in, Out: out}
		switch {
		case i > 0 && rng.IntN(8) == 0: // like another one, and perhaps more
			t.In, t.Out = n.Transitions[i-1].In, n.Transitions[i-1].Out
		case rng.IntN(8) == 0:
			t.Out = t.In
		}
		n.Transitions = append(n.Transitions, t)
	}
	if rng.IntN(3) == 0 {
		shadow(rng, n)
	}
	for range rng.IntN(4) {
		split(rng, n)
	}
	return n
}

// split has a transition put tokens into a new place, from which another one goes on. One net in
// three has a further transition that does one of that, or an arc more.
func split(rng *rand.Rand, n *petri.Net) {
	p := petri.Place{ID: fmt.Sprint("split", len(n.Places)), Name: "split",
		Initial: max(0, rng.Int64N(8)-5)}
	weight := int64(1 + rng.IntN(5)/4)
	between := []petri.Arc{{Place: len(n.Places), Weight: weight}}
	number := rng.IntN(len(n.Transitions))
	t := &n.Transitions[number]
	u := petri.Transition{Name: "split", ID: fmt.Sprint("split", len(n.Transitions)), In: between,
		Out: t.Out}
	n.Places, t.Out = append(n.Places, p), between
	add := func(arcs []petri.Arc) []petri.Arc {
		place := rng.IntN(len(n.Places))
		at, there := slices.BinarySearchFunc(arcs, place, func(a petri.Arc, place int) int {
			return a.Place - place
		})
		if there {
			return arcs
		}
		return slices.Insert(slices.Clone(arcs), at, petri.Arc{Place: place, Weight: 1})
	}
	also := petri.Transition{Name: "also", ID: fmt.Sprint("also", len(n.Transitions)+1)}
	switch rng.IntN(20) {
	case 0:
		u.Out = add(u.Out)
	case 1:
		t.Out = add(t.Out)
	case 2:
		also.In, also.Out = between, add(nil)
	case 3:
		also.In, also.Out = add(nil), between
	case 4:
		also.In, also.Out = between, between
	case 5:
		also.In, also.Out = t.In, add(nil)
	case 6:
		u.In = append([]petri.Arc{{Place: rng.IntN(len(n.Places) - 1), Weight: 1}}, between...)
	case 7:
		u.In = []petri.Arc{{Place: len(n.Places) - 1, Weight: weight + 1}}
	}
	n.Transitions = append(n.Transitions, u)
	if also.In != nil {
		n.Transitions = append(n.Transitions, also)
	}
}

// shadow adds a place that follows another one, more or less.
func shadow(rng *rand.Rand, n *petri.Net) {
	place := rng.IntN(len(n.Places))
	times := 1 + rng.Int64N(2)
	p := petri.Place{ID: "shadow", Name: "shadow",
		Initial: max(0, times*n.Places[place].Initial+rng.Int64N(3)-1)}
	n.Places = append(n.Places, p)
	follow := func(arcs []petri.Arc) []petri.Arc {
		for _, a := range arcs {
			if a.Place == place && rng.IntN(10) > 0 {
				more := petri.Arc{Place: len(n.Places) - 1,
					Weight: max(1, times*a.Weight+int64(rng.IntN(20)/19))}
				return append(slices.Clone(arcs), more)
			}
		}
		return arcs
	}
	for i := range n.Transitions {
		t := &n.Transitions[i]
		t.In, t.Out = follow(t.In), follow(t.Out)
	}
}

// randomProperty names few places, so that the rules may touch the others.
func randomProperty(rng *rand.Rand, n *petri.Net) property.Property {
	sum := func() (s property.Sum) {
		s.Constant = rng.Int64N(3)
		for place := range n.Places {
			if rng.IntN(len(n.Places)) == 0 {
				s.Terms = append(s.Terms, property.Term{Place: place,
					Weight: []int64{1, 1, 2, -1, 0}[rng.IntN(5)]})
			}
		}
		return s
	}
	var formula func(depth int) *logic.Formula
	formula = func(depth int) *logic.Formula {
		switch kind := rng.IntN(8); {
		case kind < 2 && depth > 0:
			return logic.Of([]logic.Op{logic.And, logic.Or}[kind], formula(depth-1),
				formula(depth-1))
		case kind == 2 && depth > 0:
			return logic.Of(logic.Not, formula(depth-1))
		case kind == 3 && depth > 0:
			return logic.Of(logic.Iff, formula(depth-1), formula(depth-1))
		case kind == 4:
			return logic.Leaf(property.Enabled{rng.IntN(len(n.Transitions)),
				rng.IntN(len(n.Transitions))})
		}
		return logic.Leaf(&property.AtMost{Left: sum(), Right: sum()})
	}
	stuck := logic.Leaf(property.Stuck{})
	switch rng.IntN(5) {
	case 0:
		return property.Property{Kind: property.Sometimes, Formula: stuck}
	case 1:
		return property.Property{Kind: property.Always, Formula: logic.Of(logic.Not, stuck)}
	case 2:
		return property.Property{Kind: property.Bound, Sum: sum()}
	}
	return property.Property{Kind: property.Kind(rng.IntN(2)), Formula: formula(2)}
}

// limit is the most markings of nets that are compared.
const limit = 400

// compare compares the answer to a question in a net with the one that is left by some rules. It
// reports whether a marking shows that.
func compare(t *testing.T, n *petri.Net, p property.Property,
	some []func(*net) bool) (shown bool) {
	t.Helper()
	all, ok := explore(n, limit)
	if !ok {
		return false
	}
	r := by(n, p, some)
	if r == nil {
		return false
	}
	if err := r.Net.Check(); err != nil {
		t.Fatal(err)
	}
	left, ok := explore(r.Net, limit)
	if !ok {
		t.Fatalf("%+v: %+v has more markings than %+v", p, r.Net, n)
	}
	want, _ := all.answer(n, &p)
	got, at := left.answer(r.Net, &r.Property)
	if got != want {
		t.Fatalf("%v: %v in %+v, want %v of %+v, as in %+v", asText(p), got, r.Net, want,
			asText(r.Property), n)
	}
	if at >= 0 {
		if _, _, err := r.Replay(left.firings(at)); err != nil {
			t.Fatal(err)
		}
	}
	return at >= 0
}

func asText(p property.Property) string {
	text := fmt.Sprintf("kind %d, sum %v", p.Kind, p.Sum)
	var add func(f *logic.Formula)
	add = func(f *logic.Formula) {
		text += fmt.Sprintf(" (%d %+v", f.Op, f.Atom)
		for _, arg := range f.Args {
			add(arg)
		}
		text += ")"
	}
	if p.Formula != nil {
		add(p.Formula)
	}
	return text
}

// batch is how many questions are asked with a seed.
const batch = 100

// Each question has the same answer in what any of the rules leave, which the given net shows.
func TestRules(t *testing.T) {
	seeds, changed, shown, dead := 0, make([]int, len(rules)), 0, 0
	replay.Seeds(t, uint64(replay.Often(60, 2000)), func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		seeds++
		for range batch {
			n := randomNet(rng)
			order := rng.Perm(len(rules))
			if rng.IntN(2) == 0 {
				order = order[:1+rng.IntN(2)]
			}
			var some []func(*net) bool
			for _, i := range order {
				some = append(some, func(n *net) bool {
					did := rules[i](n)
					if did {
						changed[i]++
					}
					return did
				})
			}
			if m := newNet(n); m.dropDead() {
				dead++
			}
			if compare(t, n, randomProperty(rng, n), some) {
				shown++
			}
		}
	})
	changed[0] = dead
	if seeds > 14 && (slices.Min(changed) < seeds || shown < 10*seeds) {
		t.Errorf("with %d seeds rules changed nets %d times, and %d answers were shown", seeds,
			changed, shown)
	}
	t.Log(changed, shown)
}

// A question about a deadlock and tokens is none that the rules keep.
func TestMixed(t *testing.T) {
	n := randomNet(rand.New(rand.NewPCG(1, 2)))
	stuck := logic.Leaf(property.Stuck{})
	some := logic.Leaf(&property.AtMost{})
	for i, p := range []property.Property{
		{Kind: property.Sometimes, Formula: logic.Of(logic.And, stuck, some)},
		{Kind: property.Always, Formula: stuck}, {Kind: property.QuasiLive},
		{Kind: property.Sometimes, Formula: logic.Of(logic.Not, stuck)}} {
		if For(n, p) != nil {
			t.Errorf("%d is reduced", i)
		}
	}
}

// A net with a transition that is always enabled has no deadlock, with an agglomeration or without.
func TestSource(t *testing.T) {
	n := &petri.Net{Places: make([]petri.Place, 2), Transitions: []petri.Transition{
		{Out: one(0)}, {In: one(0, 1)}}}
	n.Places[1].Initial = 1
	p := property.Property{Kind: property.Sometimes, Formula: logic.Leaf(property.Stuck{})}
	if r := For(n, p); r != nil {
		all, _ := explore(r.Net, limit)
		if _, at := all.answer(r.Net, &r.Property); at >= 0 {
			t.Errorf("%+v has a deadlock", r.Net)
		}
	}
}

// one has an arc of weight 1 for each place.
func one(places ...int) (all []petri.Arc) {
	for _, place := range places {
		all = append(all, petri.Arc{Place: place, Weight: 1})
	}
	return all
}

// A producer does not wait for its consumer if that needs what it produces elsewhere.
func TestProducer(t *testing.T) {
	n := &petri.Net{Places: make([]petri.Place, 5), Transitions: []petri.Transition{
		{In: one(0), Out: one(1, 2)}, {In: one(2), Out: one(3)}, {In: one(1, 3), Out: one(4)}}}
	for i := range n.Places {
		n.Places[i].ID, n.Places[i].Name = fmt.Sprint(i), "place"
	}
	for i := range n.Transitions {
		n.Transitions[i].ID, n.Transitions[i].Name = fmt.Sprint("t", i), "transition"
	}
	n.Places[0].Initial = 1
	p := property.Property{Sum: property.Sum{Terms: []property.Term{{Place: 4, Weight: 1}}},
		Kind: property.Bound}
	for i := range rules {
		compare(t, n, p, []func(*net) bool{rules[i]})
	}
}

// A net with inhibitor or reset arcs stays as it is: what looks like a duplicate here is none.
func TestOtherArcs(t *testing.T) {
	net := func() *petri.Net {
		return &petri.Net{
			Places: []petri.Place{{ID: "a", Initial: 2}, {ID: "b"}, {ID: "c"}},
			Transitions: []petri.Transition{{ID: "t", In: one(0), Out: one(1)},
				{ID: "u", In: one(0), Out: one(1)}, {ID: "v", In: one(1), Out: one(2)}}}
	}
	asked := property.Property{Kind: property.Bound, Sum: property.Sum{
		Terms: []property.Term{{Place: 2, Weight: 1}}}}
	if For(net(), asked) == nil {
		t.Error("a net with a duplicate is not reduced")
	}
	inhibited, reset := net(), net()
	inhibited.Transitions[0].Inhibitors = one(2)
	reset.Transitions[0].Resets = []int{2}
	for _, n := range []*petri.Net{inhibited, reset} {
		if For(n, asked) != nil {
			t.Error("a net with other arcs is reduced")
		}
	}
}
