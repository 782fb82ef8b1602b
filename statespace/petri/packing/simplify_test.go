package packing

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// circle is a net whose tokens move from p to q and back.
func circle(tokens int64) *petri.Net {
	var s sketch
	p, q := s.place(tokens), s.place(0)
	s.transition(arcs{p: 1}, arcs{q: 1})
	s.transition(arcs{q: 1}, arcs{p: 1})
	return &s.net
}

// formulaOf reads a formula that is known to be fine.
func formulaOf(t *testing.T, n *petri.Net, text string) *logic.Formula {
	t.Helper()
	f, err := property.ParseFormula(n, text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The weights of a place that is on both sides of a comparison, or twice in a sum, add up.
func TestWeightsAddUp(t *testing.T) {
	n := circle(3)
	for text, want := range map[string]logic.Verdict{
		"tokens(p0) <= 4 - tokens(p0)":              logic.False,
		"tokens(p0) <= 6 - tokens(p0)":              logic.True,
		"2*tokens(p0) <= 4":                         logic.False,
		"tokens(p0, p0) - 2 <= 3 - tokens(p1)":      logic.False,
		"tokens(p0) <= 3 + tokens(p0) - tokens(p1)": logic.True,
		"tokens(p0) <= 2 + tokens(p0) - tokens(p1)": logic.False,
	} {
		answers, _, _, err := answersOf(n, 1, []property.Property{
			{Kind: property.Always, Formula: formulaOf(t, n, text)}}, explore.Options{})
		if err != nil || answers[0].Verdict != want {
			t.Errorf("%s: %+v, %v, want %v", text, answers, err, want)
		}
	}
	twice := property.Sum{Terms: []property.Term{{Place: 0, Weight: 1}, {Place: 0, Weight: 1}}}
	answers, _, _, err := answersOf(n, 1, []property.Property{
		{Kind: property.Bound, Sum: twice},
		{Kind: property.Always, Formula: logic.Leaf(&property.AtMost{Left: twice,
			Right: property.Sum{Constant: 4}})},
	}, explore.Options{})
	if err != nil || answers[0].Value != 6 || answers[1].Verdict != logic.False {
		t.Errorf("a place twice in a sum: %+v, %v", answers, err)
	}
}

// The bound of an invariant is exact: numbers that floats cannot have are not rounded.
func TestInvariantBoundIsExact(t *testing.T) {
	var s sketch
	p, q := s.place(petri.MaxTokens), s.place(0)
	s.transition(arcs{p: 1}, arcs{q: 49})
	s.transition(arcs{q: 49}, arcs{p: 1})
	packed := mustPack(t, &s.net, 0)
	number := strings.Repeat("2147483648 + ", 31) + "2147483648"
	short := packed.simplify(formulaOf(t, &s.net, "32*tokens(p0) <= "+number+" - 1"))
	if reflect.DeepEqual(short, logic.Truth(true)) {
		t.Error("the initial marking has the number itself")
	}
	short = packed.simplify(formulaOf(t, &s.net, "32*tokens(p0) <= "+number))
	if !reflect.DeepEqual(short, logic.Truth(true)) {
		t.Errorf("%+v: no marking has more", short)
	}
	// The product with the tokens of the invariant does not fit into 64 bits: no bound follows.
	short = packed.simplify(formulaOf(t, &s.net, "134217728*tokens(p1) <= 1"))
	if reflect.DeepEqual(short, logic.Truth(true)) {
		t.Error("a bound that wrapped around")
	}
}

// An invariant bounds a sum of some of its places together, whatever is taken off.
func TestInvariantBoundsSums(t *testing.T) {
	var s sketch
	constant, p, q, r := s.place(1), s.place(3), s.place(0), s.place(0)
	s.transition(arcs{constant: 1, p: 1}, arcs{constant: 1, q: 1})
	s.transition(arcs{q: 1}, arcs{r: 1})
	s.transition(arcs{r: 1}, arcs{p: 1})
	packed := mustPack(t, &s.net, 0)
	for text, want := range map[string]*logic.Formula{
		"tokens(p1, p2) - tokens(p0) <= 3":     logic.Truth(true),
		"tokens(p1) + 2*tokens(p2) <= 6":       logic.Truth(true),
		"tokens(p1) <= tokens(p1) - 1":         logic.Truth(false),
		"tokens(p1, p2, p3) <= tokens(p1)":     nil,
		"tokens(p1) + 2*tokens(p2) <= 5":       nil,
		"tokens(p1, p2, p0) - tokens(p0) <= 2": nil,
	} {
		got := packed.simplify(formulaOf(t, &s.net, text))
		if want == nil && got.Op != logic.Atom || want != nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// A place without a bound leaves open what is compared with it.
func TestSumsWithoutBound(t *testing.T) {
	var s sketch
	endless, p, q := s.place(0), s.place(3), s.place(0)
	s.transition(arcs{p: 1}, arcs{q: 1, endless: 1})
	s.transition(arcs{q: 1}, arcs{p: 1})
	packed := mustPack(t, &s.net, 0)
	for _, text := range []string{"tokens(p0, p1) <= 5", "tokens(p1) <= 2*tokens(p0)"} {
		if f := packed.simplify(formulaOf(t, &s.net, text)); f.Op != logic.Atom {
			t.Errorf("%s: %+v", text, f)
		}
	}
}

// said is a formula in text with its value in a marking, computed without package property.
type said struct {
	text  string
	holds func(m []int64) bool
}

// sayTerms is a random sum of either sign in which places may come several times.
func sayTerms(rng *rand.Rand, places int) (text string, value func(m []int64) int64) {
	constant := rng.Int64N(9) - 4
	weights := make([]int64, places)
	var b strings.Builder
	fmt.Fprint(&b, constant)
	for range rng.IntN(5) {
		p, weight := rng.IntN(places), rng.Int64N(7)-3
		weights[p] += weight
		sign := "+"
		if weight < 0 {
			sign = "-"
		}
		fmt.Fprintf(&b, " %s %d*tokens(p%d)", sign, max(weight, -weight), p)
	}
	return b.String(), func(m []int64) int64 {
		sum := constant
		for p, weight := range weights {
			sum += weight * m[p]
		}
		return sum
	}
}

// say is a random formula of comparisons that nests at most so deep.
func say(rng *rand.Rand, places, depth int) said {
	switch kind := rng.IntN(6); {
	case depth > 0 && kind == 0:
		f := say(rng, places, depth-1)
		return said{"not (" + f.text + ")", func(m []int64) bool { return !f.holds(m) }}
	case depth > 0 && kind < 3:
		f, g := say(rng, places, depth-1), say(rng, places, depth-1)
		if kind == 1 {
			return said{"(" + f.text + ") and (" + g.text + ")",
				func(m []int64) bool { return f.holds(m) && g.holds(m) }}
		}
		return said{"(" + f.text + ") or (" + g.text + ")",
			func(m []int64) bool { return f.holds(m) || g.holds(m) }}
	}
	left, x := sayTerms(rng, places)
	right, y := sayTerms(rng, places)
	sign := rng.IntN(3)
	return said{left + []string{" <= ", " > ", " != "}[sign] + right, func(m []int64) bool {
		return [...]bool{x(m) <= y(m), x(m) > y(m), x(m) != y(m)}[sign]
	}}
}

// A simplified formula has the value of what was said in every reachable marking.
func TestSimplifiedFormulas(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	decided := map[bool]int{}
	for nets := 0; nets < 150; {
		n := naive.AnyNet(rng, 1+rng.IntN(4), 1+rng.IntN(5))
		if nets%3 == 0 {
			n = randomProcesses(rng)
		}
		all := markings(n, 300)
		if all == nil {
			continue
		}
		nets++
		p := mustPack(t, n, 0)
		for range 60 {
			f := say(rng, len(n.Places), 2)
			read := formulaOf(t, n, f.text)
			short := p.simplify(read)
			for _, m := range all {
				want := f.holds(m)
				if property.Holds(read, n, m) != want || property.Holds(short, n, m) != want {
					t.Fatalf("%s of %+v in %v: read %v, simplified %v (%+v), want %v", f.text, n, m,
						property.Holds(read, n, m), property.Holds(short, n, m), short, want)
				}
			}
			for _, yes := range []bool{true, false} {
				if reflect.DeepEqual(short, logic.Truth(yes)) {
					decided[yes]++
				}
			}
		}
	}
	if decided[true] < 100 || decided[false] < 100 {
		t.Errorf("decided by structure: %v", decided)
	}
}
