package diagram

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// testBytes is the memory of an exploration.
const testBytes = 64 << 20

// power is a^n.
func power(a, n int64) *big.Int { return new(big.Int).Exp(big.NewInt(a), big.NewInt(n), nil) }

// plus is a*times + more.
func plus(a *big.Int, times, more int64) *big.Int {
	a = new(big.Int).Mul(a, big.NewInt(times))
	return a.Add(a, big.NewInt(more))
}

// TestFamilies explores nets whose numbers are known by a formula, by all strategies.
func TestFamilies(t *testing.T) {
	for _, f := range []struct {
		name         string
		n            int
		states, arcs *big.Int // arcs: nil if no formula is known
		deadlocks    *big.Int
	}{
		{"philosophers", 8, power(3, 8), plus(power(3, 6), 7*8, 0), big.NewInt(2)},
		{"philosophers", 100, power(3, 100), plus(power(3, 98), 700, 0), big.NewInt(2)},
		{"referendum", 30, plus(power(3, 30), 1, 1), plus(power(3, 29), 60, 1), power(2, 30)},
		{"rwmutex", 6, plus(power(2, 6), 1, 6), plus(power(2, 6), 6, 12), new(big.Int)},
		{"dekker", 6, plus(power(2, 5), 8, 0), plus(power(2, 3), 6*58, 6), new(big.Int)},
		{"kanban", 5, big.NewInt(2546432), big.NewInt(24460016), new(big.Int)},
		{"walker", 7, big.NewInt(275), nil, nil},
	} {
		net, err := petri.Family(f.name, f.n)
		must(t, err)
		for _, strategy := range append(symbolic.Strategies(), "") {
			if f.n == 100 && strategy != symbolic.Saturation && strategy != symbolic.Loops {
				continue // the others take long
			}
			res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes, Strategy: strategy})
			must(t, err)
			if res.States.Cmp(f.states) != 0 || f.arcs != nil && res.Arcs.Cmp(f.arcs) != 0 ||
				f.deadlocks != nil && res.Deadlocks.Cmp(f.deadlocks) != 0 {
				t.Errorf("%s by %q: %v states, %v arcs, %v deadlocks, not %v, %v, %v", net.Name,
					strategy, res.States, res.Arcs, res.Deadlocks, f.states, f.arcs, f.deadlocks)
			}
		}
	}
}

// TestThousandPhilosophers: 3^1000 states.
func TestThousandPhilosophers(t *testing.T) {
	net, err := petri.Family("philosophers", 1000)
	must(t, err)
	res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes})
	must(t, err)
	if res.States.Cmp(power(3, 1000)) != 0 || res.Arcs.Cmp(plus(power(3, 998), 7000, 0)) != 0 {
		t.Errorf("%v states and %v arcs", res.States, res.Arcs)
	}
}

// boundedNet is a random net with some hundred markings at most.
func boundedNet(rng *rand.Rand) (*petri.Net, naive.Result) {
	for {
		net := naive.AnyNet(rng, 2+rng.IntN(5), 1+rng.IntN(6))
		if r, err := naive.Explore(net, 500); err == nil && r.Complete {
			return net, r
		}
	}
}

// TestAgainstExplicit compares numbers and answers with an explicit search of random nets.
func TestAgainstExplicit(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 3))
		net, want := boundedNet(rng)
		markings := markingsOf(net)
		properties := randomProperties(rng, net)
		order := rng.Perm(len(net.Places))
		res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes,
			Order: Order{"random", order}, Strategy: symbolic.Strategies()[seed%2]}, properties...)
		must(t, err)
		if fmt.Sprint(res.States, res.Arcs, res.Deadlocks, res.MaxTokensPlace,
			res.MaxTokensMarking) != fmt.Sprint(want.States, want.Arcs, want.Deadlocks,
			want.MaxTokensPlace, want.MaxTokensMarking) {
			t.Fatalf("seed %d: %+v, not %+v", seed, res, want)
		}
		for i, p := range properties {
			checkAnswer(t, net, markings, p, res.Answers[i])
		}
	}
}

// markingsOf are the reachable markings of a net.
func markingsOf(net *petri.Net) (all [][]int64) {
	all = [][]int64{net.Initial()}
	for i := 0; i < len(all); i++ {
		for t := range net.Transitions {
			if !net.Transitions[t].Enabled(all[i]) {
				continue
			}
			m := slices.Clone(all[i])
			net.Transitions[t].Fire(m)
			if !slices.ContainsFunc(all, func(o []int64) bool { return slices.Equal(m, o) }) {
				all = append(all, m)
			}
		}
	}
	return all
}

// checkAnswer compares an answer with the markings one by one.
func checkAnswer(t *testing.T, net *petri.Net, markings [][]int64, p property.Property,
	a property.Answer) {
	t.Helper()
	holds := func(m []int64) bool { return property.Holds(p.Formula, net, m) }
	some := func(is func(m []int64) bool) bool { return slices.ContainsFunc(markings, is) }
	want := false
	switch p.Kind {
	case property.Always:
		want = !some(func(m []int64) bool { return !holds(m) })
		if (a.Marking == nil) != want || !want && holds(a.Marking) {
			t.Fatalf("%v shows that %+v is not always true", a.Marking, p.Formula)
		}
	case property.Sometimes:
		want = some(holds)
		if (a.Marking != nil) != want || want && !holds(a.Marking) {
			t.Fatalf("%v shows that %+v is sometimes true", a.Marking, p.Formula)
		}
	case property.Bound:
		most := p.Sum.Value(markings[0])
		for _, m := range markings {
			most = max(most, p.Sum.Value(m))
		}
		if a.Value != most {
			t.Fatalf("bound %d, not %d", a.Value, most)
		}
		return
	case property.Stable:
		for place := range net.Places {
			want = want || !some(func(m []int64) bool { return m[place] != markings[0][place] })
		}
	case property.QuasiLive:
		want = true
		for i := range net.Transitions {
			want = want && some(net.Transitions[i].Enabled)
		}
	}
	if a.Verdict != logic.VerdictOf(want) {
		t.Fatalf("kind %d of %+v is %v, not %v", p.Kind, p.Formula, a.Verdict, want)
	}
}

func randomProperties(rng *rand.Rand, net *petri.Net) []property.Property {
	all := []property.Property{{Kind: property.Stable}, {Kind: property.QuasiLive},
		{Kind: property.Bound, Sum: randomSum(rng, net)},
		{Kind: property.Bound, Sum: randomSum(rng, net)}}
	for i := range 8 {
		all = append(all, property.Property{Kind: property.Kind(i % 2),
			Formula: randomFormula(rng, net, 3)})
	}
	return all
}

func randomSum(rng *rand.Rand, net *petri.Net) property.Sum {
	s := property.Sum{Constant: rng.Int64N(5) - 2}
	for place := range net.Places {
		if rng.IntN(3) == 0 {
			s.Terms = append(s.Terms, property.Term{Place: place, Weight: rng.Int64N(5) - 2})
		}
	}
	return s
}

// randomFormula is a formula that nests at most so deep.
func randomFormula(rng *rand.Rand, net *petri.Net, depth int) *logic.Formula {
	arg := func() *logic.Formula { return randomFormula(rng, net, depth-1) }
	kind := rng.IntN(7)
	if depth == 0 {
		kind = 3
	}
	switch kind {
	case 0, 1:
		f := logic.Of([]logic.Op{logic.And, logic.Or}[kind])
		for range rng.IntN(4) {
			f.Args = append(f.Args, arg())
		}
		return f
	case 2:
		return logic.Of(logic.Not, arg())
	case 3:
		return logic.Leaf(&property.AtMost{Left: randomSum(rng, net), Right: randomSum(rng, net)})
	case 4:
		var some property.Enabled
		for range rng.IntN(3) {
			some = append(some, rng.IntN(len(net.Transitions)))
		}
		return logic.Leaf(some)
	case 5:
		return logic.Leaf(property.Stuck{})
	}
	return logic.Of(logic.Iff, arg(), arg())
}

// TestOrders: each order has each place once, and the chosen one is no wider than others.
func TestOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	nets := []*petri.Net{{}, naive.RandomNet(rng, 7, 5)}
	for _, name := range petri.FamilyNames() {
		net, err := petri.Family(name, 9)
		must(t, err)
		nets = append(nets, net)
	}
	for _, net := range nets {
		touched := touchedBy(net)
		chosen := span(touched, inverse(Choose(net).Places))
		for _, o := range Orders(net) {
			sorted := slices.Sorted(slices.Values(o.Places))
			for i, p := range sorted {
				if i != p || len(sorted) != len(net.Places) {
					t.Fatalf("%s, %s: %v", net.Name, o.Name, o.Places)
				}
			}
			if span(touched, inverse(o.Places)) < chosen {
				t.Errorf("%s: %s has a smaller span than what is chosen", net.Name, o.Name)
			}
		}
	}
}

// unbounded is a net whose places gain tokens for ever.
func unbounded() *petri.Net {
	one := func(p int) []petri.Arc { return []petri.Arc{{Place: p, Weight: 1}} }
	return &petri.Net{Name: "unbounded", Places: []petri.Place{{ID: "a"}, {ID: "b"}},
		Transitions: []petri.Transition{{ID: "t", Out: one(0)}, {ID: "u", Out: one(1)}}}
}

// TestRefused: what has no answer is an error, and says why.
func TestRefused(t *testing.T) {
	large, err := petri.Family("rwmutex", 60)
	must(t, err)
	_, err = Explore(t.Context(), large, Options{MaxBytes: 2 << 20})
	if full := (*symbolic.FullError)(nil); !errors.As(err, &full) {
		t.Errorf("without memory: %v", err)
	}
	if _, err = Explore(t.Context(), naive.RandomNet(rand.New(rand.NewPCG(1, 1)), 2, 0),
		Options{MaxBytes: testBytes}, property.Property{Kind: 77}); err == nil {
		t.Error("a property of no known kind is answered")
	}
	_, err = Explore(t.Context(), unbounded(), Options{},
		property.Property{Kind: property.Temporal, Formula: logic.Of(logic.Forall,
			logic.Of(logic.Globally, logic.Of(logic.Finally, logic.Truth(false))))})
	if unsupported := (*UnsupportedError)(nil); !errors.As(err, &unsupported) {
		t.Errorf("of paths: %v", err)
	}
	ended := errors.New("that is enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	if _, err = Explore(ctx, unbounded(), Options{MaxBytes: testBytes}); !errors.Is(err, ended) {
		t.Errorf("after the end: %v", err)
	}
}

// atMost is that left - right is 0 at most, always.
func atMost(left, right property.Sum) property.Property {
	return property.Property{Kind: property.Always,
		Formula: logic.Leaf(&property.AtMost{Left: left, Right: right})}
}

// Sums whose weights and constants add up to 2^62 are refused, also if no place has a token.
func TestHugeSums(t *testing.T) {
	net := &petri.Net{Places: []petri.Place{{ID: "a"}, {ID: "b"}}}
	sum := func(constant int64, weights ...int64) property.Sum {
		s := property.Sum{Constant: constant}
		for place, w := range weights {
			s.Terms = append(s.Terms, property.Term{Place: place, Weight: w})
		}
		return s
	}
	for i, s := range []property.Sum{sum(1 << 62), sum(-1 << 62), sum(math.MinInt64),
		sum(0, 1<<62), sum(0, -1<<62), sum(0, math.MinInt64), sum(0, 1<<61, 1<<61),
		sum(1<<61, 0, -1<<61)} {
		for _, p := range []property.Property{atMost(s, property.Sum{}), atMost(property.Sum{}, s),
			{Kind: property.Bound, Sum: s}} {
			if _, err := Explore(t.Context(), net, Options{MaxBytes: testBytes}, p); err == nil {
				t.Errorf("sum %d of %+v is accepted", i, p)
			}
		}
	}
	most := atMost(sum(-1<<61, 1<<60), sum(0, 0, 1<<60-1000))
	res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes}, most)
	if err != nil || res.Answers[0].Verdict != logic.True {
		t.Errorf("less than 2^62: %v", err)
	}
}

// Bounds of a sum that float64 cannot hold decide nothing: 2^53 + 1 is more than 2^53.
func TestBoundsThatAreNotExact(t *testing.T) {
	net := &petri.Net{Places: []petri.Place{{ID: "a", Initial: petri.MaxTokens},
		{ID: "b", Initial: petri.MaxTokens}, {ID: "c", Initial: 1}}}
	// 2^31 * (2^22 - 1) + 2^31 + 1
	left := property.Sum{Terms: []property.Term{{Place: 0, Weight: 1<<22 - 1},
		{Place: 1, Weight: 1}, {Place: 2, Weight: 1}}}
	for constant, want := range map[int64]bool{1 << 53: false, 1<<53 + 1: true} {
		res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes},
			atMost(left, property.Sum{Constant: constant}))
		must(t, err)
		if res.Answers[0].Verdict != logic.VerdictOf(want) {
			t.Errorf("2^53 + 1 <= %d is %v", constant, !want)
		}
	}
}

// TestPlaceless explores nets without places, which have one marking.
func TestPlaceless(t *testing.T) {
	stuck := logic.Leaf(property.Stuck{})
	asked := []property.Property{{Kind: property.Stable}, {Kind: property.QuasiLive},
		{Kind: property.Live}, {Kind: property.Sometimes, Formula: stuck},
		{Kind: property.Bound, Sum: property.Sum{Constant: 3}}}
	for transitions := range 3 {
		net := &petri.Net{Transitions: make([]petri.Transition, transitions)}
		dead := transitions == 0
		for _, strategy := range []symbolic.Strategy{symbolic.Saturation, ""} {
			res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes, Strategy: strategy,
				Witness: true, Deadlock: true}, asked...)
			must(t, err)
			if fmt.Sprint(res.States, res.Arcs, res.Deadlocks.Sign() > 0, res.MaxTokensPlace,
				res.MaxTokensMarking) != fmt.Sprint(1, transitions, dead, 0, 0) {
				t.Errorf("%d transitions: %+v", transitions, res)
			}
			for i, want := range []bool{false, true, true, dead} {
				if a := res.Answers[i]; a.Verdict != logic.VerdictOf(want) || len(a.Marking) > 0 {
					t.Errorf("%d transitions, question %d: %+v, want %v", transitions, i, a, want)
				}
			}
			if res.Answers[4].Value != 3 {
				t.Errorf("%d transitions: bound %d", transitions, res.Answers[4].Value)
			}
		}
		_, err := exploreNth(t.Context(), net, Options{MaxBytes: testBytes}, 0, asked)
		must(t, err)
	}
}
