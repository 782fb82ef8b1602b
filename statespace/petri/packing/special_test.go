package packing

import (
	"errors"
	"slices"
	"testing"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
)

// A place that a transition empties is in no invariant, and is bounded all the same: by a weighting
// that no transition increases. Without the transition, it is implied by another place.
func TestResetBreaksInvariant(t *testing.T) {
	var s sketch
	a, b := s.place(3), s.place(0)
	s.transition(arcs{a: 1}, arcs{b: 1})
	s.transition(arcs{b: 1}, arcs{a: 1})
	if p := mustPack(t, &s.net, 0); p.StateBits() != 2 {
		t.Fatalf("%d bits", p.StateBits())
	}
	s.transition(nil, nil)
	s.net.Transitions[2].Resets = []int{b}
	p := mustPack(t, &s.net, 0)
	if p.StateBits() != 4 || p.Open() >= 0 || p.s.bound[a] != 3 || p.s.bound[b] != 3 {
		t.Errorf("%d bits, bounds %v", p.StateBits(), p.s.bound)
	}
	got, err := walk(p, 100, func(_, _ []uint64) {})
	if err != nil || got.states != 10 { // 0 to 3 tokens in all
		t.Errorf("%d states, %v", got.states, err)
	}
	// A transition that never fires breaks nothing.
	never := s.place(0)
	s.net.Transitions[2].In = arcs{never: 1}.sorted()
	if p := mustPack(t, &s.net, 0); p.StateBits() != 2 {
		t.Errorf("%d bits", p.StateBits())
	}
}

// A place that never changes disables what it inhibits for ever, or never.
func TestInhibitedByConstant(t *testing.T) {
	for tokens := range int64(4) {
		var s sketch
		full, a := s.place(tokens), s.place(2)
		s.transition(arcs{a: 1}, nil)
		s.net.Transitions[0].Inhibitors = arcs{full: 2}.sorted()
		p := mustPack(t, &s.net, 0)
		if p.s.live[0] != (tokens < 2) {
			t.Errorf("%d tokens: live is %v", tokens, p.s.live)
		}
		for name, p := range engines(p) {
			want := 3
			if tokens >= 2 {
				want = 1
			}
			if got, err := walk(p, 10, func(_, _ []uint64) {}); err != nil || got.states != want {
				t.Errorf("%s engine, %d tokens: %d states, want %d, %v", name, tokens, got.states,
					want, err)
			}
		}
	}
}

// What a firing puts into a place that it empties replaces what was there: it is not limited by
// what was there, and nothing is carried to another field.
func TestRefill(t *testing.T) {
	var more sketch
	p := more.place(1)
	more.transition(nil, arcs{p: 5})
	more.net.Transitions[0].Resets = []int{p}
	more.transition(arcs{p: 1}, nil)
	if bound := mustPack(t, &more.net, 4).s.bound[p]; bound < 5 {
		t.Fatalf("the place is bounded by %d", bound)
	}
	var full sketch
	p, beside := full.place(0), full.place(0)
	full.transition(nil, arcs{p: 1})
	full.net.Transitions[0].Inhibitors = arcs{p: 3}.sorted()
	full.transition(nil, arcs{p: 3})
	full.net.Transitions[1].Resets = []int{p}
	full.transition(nil, arcs{beside: 1})
	full.net.Transitions[2].Inhibitors = arcs{beside: 2}.sorted()
	for _, c := range []struct {
		net    *petri.Net
		guess  int
		states int
	}{{&more.net, 3, 6}, {&full.net, 2, 12}} {
		for name, p := range engines(mustPack(t, c.net, c.guess)) {
			got, err := walk(p, 99, func(_, _ []uint64) {})
			if err != nil || got.states != c.states {
				t.Errorf("%s engine: %d states, want %d, %v", name, got.states, c.states, err)
			}
		}
	}
}

// What a firing puts into a place that it empties may be more than was guessed.
func TestRefillOverflows(t *testing.T) {
	var s sketch
	a, b := s.place(1), s.place(0)
	s.transition(arcs{b: 1}, arcs{b: 2}) // or b would have a bound
	s.transition(arcs{a: 1}, arcs{b: 9})
	s.net.Transitions[1].Resets = []int{b}
	for name, p := range engines(mustPack(t, &s.net, 3)) {
		_, err := p.NewExpander().Expand(p.initial, nil)
		var overflow *explore.OverflowError
		if !errors.As(err, &overflow) || overflow.Place != "p1" {
			t.Errorf("%s engine: %v", name, err)
		}
	}
	p := mustPack(t, &s.net, 4)
	e := p.NewExpander()
	out, err := e.Expand(p.initial, nil)
	if m := p.Marking(out); err != nil || !slices.Equal(m, []int64{0, 9}) {
		t.Errorf("%v, %v", m, err)
	}
}

// A walk goes on from a marking that it was at before, also if a firing empties places on the way.
func TestDetoursOverResets(t *testing.T) {
	var s sketch
	a, b := s.place(1), s.place(2)
	s.transition(arcs{a: 1}, arcs{a: 1})
	s.net.Transitions[0].Resets = []int{b}
	s.transition(arcs{b: 1}, arcs{b: 1}) // a detour
	s.transition(nil, arcs{b: 1})
	p := mustPack(t, &s.net, 4)
	// Of the net without resets, firing 0 would change nothing.
	if got := p.withoutDetours([]int{1, 0, 2, 2}); !slices.Equal(got, []int{}) {
		t.Errorf("a way back to the initial marking has the firings %v", got)
	}
	if got := p.withoutDetours([]int{1, 0, 2}); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("without detours the firings are %v", got)
	}
}

// An inhibitor arc may lead from an implied place whose relation has a divisor.
func TestInhibitedByDivided(t *testing.T) {
	var s sketch
	a, b := s.place(6), s.place(0)
	s.transition(arcs{a: 2}, arcs{b: 3})
	s.transition(arcs{b: 3}, arcs{a: 2})
	s.net.Transitions[0].Inhibitors = arcs{b: 4}.sorted() // no firing at 6
	p := mustPack(t, &s.net, 0)
	if p.implied[b] == nil || p.implied[b].divisor != 2 {
		t.Fatalf("relation %+v", p.implied[b])
	}
	for name, p := range engines(p) {
		got, err := walk(p, 10, func(_, _ []uint64) {})
		if err != nil || got.states != 3 || got.arcs != 4 {
			t.Errorf("%s engine found %+v, %v", name, got, err)
		}
	}
}

// Inhibitor arcs are conditions that no lane tests, where there are more than lanes test.
func TestManyInhibitors(t *testing.T) {
	for tokens := range int64(3) {
		var s sketch
		few := arcs{}
		for range maxPlanes + 1 {
			place := s.place(tokens)
			few[place] = 2
			s.transition(arcs{place: 2}, arcs{place: 1})
		}
		done := s.place(1)
		s.transition(arcs{done: 1}, nil)
		s.net.Transitions[maxPlanes+1].Inhibitors = few.sorted()
		for name, p := range engines(mustPack(t, &s.net, 0)) {
			want := 2 // done is used up or not
			if tokens == 2 {
				want = 1<<(maxPlanes+1) + 1 // it is used up when all others have one token
			}
			if got, err := walk(p, 99, func(_, _ []uint64) {}); err != nil || got.states != want {
				t.Errorf("%s engine, %d tokens: %d states, want %d, %v", name, tokens, got.states,
					want, err)
			}
		}
	}
}
