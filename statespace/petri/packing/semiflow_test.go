package packing

import (
	"math"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/petri"
)

// checkFlows fails if a live transition changes an invariant.
func checkFlows(t *testing.T, s *structure) {
	t.Helper()
	for _, f := range s.flows {
		for _, w := range f.weights {
			if w.coef <= 0 {
				t.Fatalf("weight %d in %v", w.coef, f.weights)
			}
		}
		for i := range s.net.Transitions {
			var change int64
			for _, c := range changes(&s.net.Transitions[i]) {
				change += c.coef * f.weights.at(c.index)
			}
			if s.live[i] && change != 0 {
				t.Fatalf("transition %d changes %v by %d", i, f.weights, change)
			}
		}
	}
}

func TestInvariantsAndBoundsHold(t *testing.T) {
	flows, nets := 0, 300
	if invariant.Enabled {
		nets = 60
	}
	randomNets(t, nets, func(t *testing.T, net *petri.Net) {
		s := analyse(net)
		checkFlows(t, s)
		flows += len(s.flows)
		p, err := packRetrying(net, 8, 16)
		if err != nil {
			return
		}
		marking := make([]int64, len(net.Places))
		_, _ = walk(p, 500, func(state, _ []uint64) {
			p.unpack(state, marking)
			for place, tokens := range marking {
				if tokens > s.bound[place] {
					t.Fatalf("%d tokens in place %d, bound %d", tokens, place, s.bound[place])
				}
			}
			for i := range net.Transitions {
				if !s.live[i] && net.Transitions[i].Enabled(marking) {
					t.Fatalf("transition %d counts as dead, but %v enables it", i, marking)
				}
			}
		})
	})
	if flows < nets {
		t.Errorf("only %d invariants", flows)
	}
}

func TestSemiflowsAreMinimalAndComplete(t *testing.T) {
	for n := 2; n <= 6; n++ {
		s := analyse(mustFamily(t, "philosophers", n))
		if len(s.flows) != 2*n {
			t.Errorf("%d philosophers have %d semiflows, want %d", n, len(s.flows), 2*n)
		}
		for i, f := range s.flows {
			for j, g := range s.flows {
				inside := !slices.ContainsFunc(f.weights, func(w term) bool {
					return g.weights.at(w.index) == 0
				})
				if i != j && inside {
					t.Errorf("%v is inside %v", f.weights, g.weights)
				}
			}
		}
	}
}

func TestBudgetLosesNothingButSemiflows(t *testing.T) {
	net := mustFamily(t, "rwmutex", 12)
	all := analyse(net)
	counts := make(map[int]bool)
	for left := 1; left < 100_000; left *= 3 {
		s := newStructure(net)
		s.effects = s.measure(true)
		s.findFlows(&budget{left})
		checkFlows(t, s)
		counts[len(s.flows)] = true
		for place := range s.bound {
			if s.bound[place] < all.bound[place] {
				t.Errorf("budget %d: bound %d of place %d is below %d",
					left, s.bound[place], place, all.bound[place])
			}
		}
		width := make([]int, len(net.Places))
		for place, r := range chooseBasis(s, width, &budget{left}) {
			if r != nil && r.value(s.initial) != s.initial[place] {
				t.Errorf("budget %d: wrong relation of place %d", left, place)
			}
		}
	}
	if len(counts) < 2 {
		t.Errorf("the budget makes no difference: %v", counts)
	}
}

func TestBoundsBeyondSemiflows(t *testing.T) {
	var s sketch
	store, goods := s.place(5), s.place(0)
	never, after := s.place(0), s.place(0)
	s.transition(arcs{store: 1}, arcs{goods: 2}) // goods: at most 10
	s.transition(arcs{goods: 1}, arcs{})
	s.transition(arcs{never: 1}, arcs{after: 1})
	s.transition(arcs{goods: 11}, arcs{after: 1})
	a := analyse(&s.net)
	if want := []int64{5, 10, 0, 0}; !slices.Equal(a.bound, want) {
		t.Errorf("bounds %v, want %v", a.bound, want)
	}
	if want := []bool{true, true, false, false}; !slices.Equal(a.live, want) {
		t.Errorf("live %v, want %v", a.live, want)
	}
	want, err := naive.Explore(&s.net, 1000)
	if err != nil {
		t.Fatal(err)
	}
	got, err := walk(mustPack(t, &s.net, 0), 1000, func(_, _ []uint64) {})
	if err != nil || got.states != want.States || got.arcs != want.Arcs {
		t.Errorf("found %+v, %v, want %+v", got, err, want)
	}
}

func TestInvariantKeepsTransitionFromFiring(t *testing.T) {
	var s sketch
	a, b, c := s.place(1), s.place(0), s.place(0)
	s.transition(arcs{a: 1}, arcs{b: 1})
	s.transition(arcs{a: 1, b: 1}, arcs{c: 1})
	got := analyse(&s.net)
	if got.live[1] || got.bound[c] != 0 {
		t.Errorf("live %v, bounds %v", got.live, got.bound)
	}
}

func TestWhatIsDeadStaysDead(t *testing.T) {
	var s sketch
	a, b, c := s.place(1), s.place(0), s.place(0)
	s.transition(arcs{a: 1}, arcs{b: 1})
	s.transition(arcs{a: 1, b: 1}, arcs{c: 1})
	got := analyse(&s.net)
	live, bound := slices.Clone(got.live), slices.Clone(got.bound)
	got.findFlows(&budget{}) // finds only what needs no search
	if got.dropDead() || !slices.Equal(got.live, live) || !slices.Equal(got.bound, bound) {
		t.Errorf("without a budget live %v, bounds %v, want %v, %v",
			got.live, got.bound, live, bound)
	}
	if len(got.flows) != 1 || !slices.Equal(got.flows[0].weights, vector{{a, 1}, {b, 1}}) {
		t.Errorf("flows %v without a budget; all places that change are one", got.flows)
	}
}

func TestCheckedArithmetic(t *testing.T) {
	big := int64(math.MaxInt64)
	for _, test := range []struct {
		a, b int64
		ok   bool
	}{
		{3, -4, true}, {0, big, true}, {big, 1, true}, {big, 2, false}, {-big, -1, true},
		{1 << 32, 1 << 31, false}, {1 << 32, 1 << 30, true}, {1 << 31, -1 << 32, false},
		{math.MinInt64, 1, false}, {math.MinInt64, -1, false},
	} {
		product, ok := mul(test.a, test.b)
		if ok != test.ok || ok && product != test.a*test.b {
			t.Errorf("mul(%d, %d) = %d, %v", test.a, test.b, product, ok)
		}
	}
	if _, ok := mulAdd(1, big, 1, 1); ok {
		t.Error("a sum above the largest number is accepted")
	}
	if _, ok := combine(1<<40, vector{{0, 1 << 40}}, 1, vector{{1, 1}}); ok {
		t.Error("a vector with a number that is too large is accepted")
	}
	sum, ok := combine(2, vector{{0, 3}, {2, 5}}, -3, vector{{0, 2}, {1, 7}})
	if want := (vector{{1, -21}, {2, 10}}); !ok || !slices.Equal(sum, want) {
		t.Errorf("combine = %v, %v, want %v", sum, ok, want)
	}
}

func TestOverflowingInvariantIsDropped(t *testing.T) {
	var s sketch
	first := s.place(1)
	for range 5 { // weights of 2^31, 2^62, 2^93
		next := s.place(0)
		s.transition(arcs{first: 1}, arcs{next: petri.MaxTokens})
		first = next
	}
	a := analyse(&s.net)
	checkFlows(t, a)
	if len(a.flows) != 0 {
		t.Errorf("semiflows %v", a.flows)
	}
}
