package packing

import (
	"context"
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

// What walks find is true, and the way there can be fired.
func TestWalksOfRandomNets(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	shown := map[property.Kind]int{}
	for nets := 0; nets < 60; {
		n := naive.AnyNet(rng, 1+rng.IntN(6), 1+rng.IntN(6))
		all := markings(n, 1000)
		if all == nil {
			continue
		}
		nets++
		properties := randomProperties(rng, n)
		p, err := New(n, Options{Properties: properties})
		if err != nil {
			t.Fatal(err)
		}
		e := p.NewExpander().(explore.Walker)
		known := make([]uint64, p.Findings())
		walks := map[int]explore.Walk{}
		for range 40 {
			before := slices.Clone(e.Findings())
			at, more := e.Walk(nets%5, known, 50)
			for i, word := range e.Findings() {
				if before[i] == 0 && word != 0 {
					walks[i] = at
				}
			}
			if !more {
				break
			}
		}
		res := &explore.Result{Findings: e.Findings(), Walks: walks}
		for i, a := range p.Answers(res) {
			verdict, value := naively(n, &properties[i], all)
			wrong := a.Verdict != logic.Unknown && a.Verdict != verdict
			if a.Property.Kind == property.Bound {
				wrong = a.Value > value || a.Exact && a.Value < value
			}
			if wrong {
				t.Fatalf("net %+v, property %+v: %+v, want %v or %d", n, properties[i], a, verdict,
					value)
			}
			if !a.ByWalk {
				continue
			}
			firings, err := p.Walked(a.Witness, walks[a.Witness])
			if err != nil || len(firings) > walks[a.Witness].Length {
				t.Fatalf("net %+v, property %+v, %v: %v", n, properties[i], firings, err)
			}
			marking := n.Initial()
			for _, f := range firings {
				if !n.Transitions[f].Enabled(marking) {
					t.Fatalf("net %+v: %v is not enabled at %v", n, f, marking)
				}
				n.Transitions[f].Fire(marking)
			}
			if q := p.questions.list[i]; q.Kind <= property.Sometimes &&
				property.Holds(q.Formula, n, marking) != (q.Kind == property.Sometimes) {
				t.Fatalf("net %+v: %v leads to %v, which does not show %+v", n, firings, marking, q)
			}
			shown[a.Property.Kind]++
		}
	}
	for _, kind := range []property.Kind{property.Always, property.Sometimes, property.Live} {
		if shown[kind] == 0 {
			t.Errorf("no walk has answered kind %d: %v", kind, shown)
		}
	}
}

// Walks end a search that would not end, on every number of ranks, and what they find is reached
// without detours.
func TestWalksEndTheSearch(t *testing.T) {
	n, err := petri.Family("philosophers", 40)
	if err != nil {
		t.Fatal(err)
	}
	stuck := []property.Property{{Kind: property.Sometimes,
		Formula: logic.Leaf(property.Stuck{})}}
	for _, ranks := range []int{1, 3} {
		search := NewSearch(n, stuck...)
		err := local.Run(ranks, func(job rma.Job) error {
			res, p, err := search.Run(context.Background(), job, explore.Options{Walk: 0.9,
				Trace: Witnesses(stuck)})
			if err != nil {
				return err
			}
			a := p.Answers(res)[0]
			if res.Reason != explore.Decided || a.Verdict != logic.True || !a.ByWalk {
				t.Errorf("rank %d: %+v, %+v", job.Rank(), a, res)
				return nil
			}
			firings, err := p.Walked(res.Traced, res.Walks[res.Traced])
			if len(firings) < 40 || len(firings) > 100 {
				t.Errorf("rank %d: %d firings", job.Rank(), len(firings))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A walk that does not exist is an error.
func TestWalkedElsewhere(t *testing.T) {
	n, err := petri.Family("philosophers", 3)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(n, Options{Properties: []property.Property{{Kind: property.Sometimes,
		Formula: logic.Leaf(property.Stuck{})}}})
	if err != nil {
		t.Fatal(err)
	}
	finding := p.questions.list[0].finding
	for _, at := range []explore.Walk{{Number: 1, Length: 1}, {Number: 1, Length: 1 << 20}} {
		if _, err := p.Walked(finding, at); err == nil {
			t.Errorf("%v leads somewhere", at)
		}
	}
}

// A net without places or without transitions has its answers by structure, and nothing to walk to.
func TestWalksOfEmptyNets(t *testing.T) {
	place := []petri.Place{{ID: "p", Name: "p"}}
	fires := []petri.Transition{{ID: "t", Name: "t"}}
	for _, c := range []struct {
		net                     petri.Net
		stable, quasiLive, live logic.Verdict
	}{
		{petri.Net{}, logic.False, logic.True, logic.True},
		{petri.Net{Places: place}, logic.True, logic.True, logic.True},
		{petri.Net{Transitions: fires}, logic.False, logic.True, logic.True},
	} {
		properties := []property.Property{{Kind: property.Stable}, {Kind: property.QuasiLive},
			{Kind: property.Live}, {Kind: property.Sometimes,
				Formula: logic.Leaf(property.Stuck{})}}
		p, err := New(&c.net, Options{Properties: properties})
		if err != nil {
			t.Fatal(err)
		}
		e := p.NewExpander().(explore.Walker)
		for range 3 {
			e.Walk(0, make([]uint64, p.Findings()), 50)
		}
		answers, _, _, err := answersOf(&c.net, 1, properties, explore.Options{Walk: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		stuck := logic.Verdict(logic.False)
		if len(c.net.Transitions) == 0 {
			stuck = logic.True
		}
		for i, want := range []logic.Verdict{c.stable, c.quasiLive, c.live, stuck} {
			if answers[i].Verdict != want {
				t.Errorf("%+v, question %d: %+v, want %v", c.net, i, answers[i], want)
			}
		}
	}
}
