package packing

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
)

// switches is a net of n places that are marked or not, independently.
func switches(n int) *petri.Net {
	var s sketch
	s.net.Name = "switches"
	for i := range n {
		on, off := s.place(int64(i%2)), s.place(int64(1-i%2))
		s.transition(arcs{on: 1}, arcs{off: 1})
		s.transition(arcs{off: 1}, arcs{on: 1})
	}
	return &s.net
}

func TestWordsAreFilled(t *testing.T) {
	for _, test := range []struct{ bits, words int }{
		{1, 1}, {62, 1}, {63, 1}, {64, 1}, {65, 2}, {128, 2}, {129, 3},
		{maxWords * 64, maxWords},
	} {
		p := mustPack(t, switches(test.bits), 0)
		if p.StateBits() != test.bits || p.StateWords() != test.words {
			t.Errorf("%d switches take %d bits in %d words, want %d words",
				test.bits, p.StateBits(), p.StateWords(), test.words)
		}
	}
	if _, err := New(switches(maxWords*64+1), Options{}); err == nil ||
		!strings.Contains(err.Error(), "513 words") {
		t.Errorf("one bit too many: error %v", err)
	}
}

func TestSwitchesWalk(t *testing.T) {
	for _, n := range []int{63, 64, 65, 200} {
		p := mustPack(t, switches(n), 0)
		for name, p := range engines(p) {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			e := p.NewExpander()
			state := slices.Clone(p.initial)
			marking := make([]int64, 2*n)
			for range 60 {
				p.unpack(state, marking)
				out, err := e.Expand(state, nil)
				if err != nil {
					t.Fatal(err)
				}
				words := p.StateWords()
				if got := states(words, out); !slices.Equal(got, successors(t, p, marking)) {
					t.Fatalf("%d switches, %s engine: %d successors of %v",
						n, name, len(got), marking)
				}
				next := rng.IntN(n)
				copy(state, out[next*words:])
			}
		}
	}
}

func TestPhilosophersAreTight(t *testing.T) {
	p := mustPack(t, mustFamily(t, "philosophers", 13), 0)
	if p.StateBits() != 26 {
		t.Errorf("13 philosophers take %d bits, want 26", p.StateBits())
	}
	implied, grouped := 0, 0
	for place, r := range p.implied {
		if r != nil {
			implied++
		} else if field := p.where[place].field; field >= 0 && p.fields[field].group {
			grouped++
		}
	}
	if implied != 26 || grouped != 39 || len(p.fields) != 13 || p.guessed() {
		t.Errorf("%d implied places, %d grouped ones in %d fields, guessed %v", implied, grouped,
			len(p.fields), p.guessed())
	}
}

func TestConstantNetTakesOneBit(t *testing.T) {
	var s sketch
	a := s.place(3)
	s.transition(arcs{a: 1}, arcs{a: 1})
	p := mustPack(t, &s.net, 0)
	if p.StateBits() != 1 || p.StateWords() != 1 {
		t.Errorf("%d bits, %d words", p.StateBits(), p.StateWords())
	}
	got, err := walk(p, 10, func(_, _ []uint64) {})
	if err != nil || got.states != 1 || got.arcs != 1 || got.marking != 3 {
		t.Errorf("found %+v, %v", got, err)
	}
}

func TestLargeGroups(t *testing.T) {
	sizes := []int{4, 255, 256, 257, 1000, 70_000} // the last one is above maxGroup
	if testing.Short() {
		sizes = sizes[:5]
	}
	for _, n := range sizes {
		var s sketch
		for i := range n {
			s.place(int64(1 - min(i, 1)))
		}
		for i := 0; i < n; i += 1 + n/300 {
			s.transition(arcs{0: 1}, arcs{i: 1})
			s.transition(arcs{i: 1}, arcs{n - 1 - i: 1})
		}
		p := mustPack(t, &s.net, 0)
		for _, p := range engines(p) {
			marking := make([]int64, n)
			visited := 0
			if _, err := walk(p, 1000, func(state, out []uint64) {
				visited++
				if visited > 20 {
					return
				}
				p.unpack(state, marking)
				want := successors(t, p, marking)
				if got := states(p.StateWords(), out); !slices.Equal(got, want) {
					t.Fatalf("%d places: %d successors, want %d", n, len(got), len(want))
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDivisorOfImpliedPlace(t *testing.T) {
	var s sketch
	a, b := s.place(6), s.place(0)
	s.transition(arcs{a: 2}, arcs{b: 3})
	s.transition(arcs{b: 3}, arcs{a: 2})
	p := mustPack(t, &s.net, 0)
	if p.StateBits() != 3 || p.implied[b] == nil || p.implied[b].divisor != 2 {
		t.Errorf("%d bits, relation %+v", p.StateBits(), p.implied[b])
	}
	for name, p := range engines(p) {
		got, err := walk(p, 10, func(_, _ []uint64) {})
		if err != nil || got.states != 4 || got.arcs != 6 ||
			got.place != 9 || got.marking != 9 {
			t.Errorf("%s engine found %+v, %v", name, got, err)
		}
	}
}

func TestPackRejectsOtherMarkings(t *testing.T) {
	p := mustPack(t, mustFamily(t, "philosophers", 4), 0)
	state := make([]uint64, p.StateWords())
	for place := range p.net.Places {
		for _, change := range []int64{-2, -1, 1, 2} {
			marking := p.net.Initial()
			marking[place] += change
			if err := p.pack(marking, state); err == nil {
				t.Errorf("%+d tokens in place %d are accepted", change, place)
			}
		}
	}
	if err := p.pack(p.net.Initial()[1:], state); err == nil {
		t.Error("a marking without the last place is accepted")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, guess := range []int{-1, 33} {
		if _, err := New(counter(0, 1), Options{GuessBits: guess}); err == nil {
			t.Errorf("a guess of %d bits is accepted", guess)
		}
	}
	for _, initial := range []int64{-1, petri.MaxTokens + 1} {
		if _, err := New(counter(initial, 1), Options{}); err == nil {
			t.Errorf("%d initial tokens are accepted", initial)
		}
	}
	if p := mustPack(t, counter(300, 1), 4); p.StateBits() != 9 {
		t.Errorf("300 tokens in a place of %d bits", p.StateBits())
	}
}

// One token on a long way: the search for semiflows gives up, the packing does not.
func TestLongChain(t *testing.T) {
	const places = 18_000
	var s sketch
	for range places {
		s.place(0)
	}
	s.net.Places[0].Initial = 1
	for i := range places - 1 {
		s.transition(arcs{i: 1}, arcs{i + 1: 1})
	}
	p, err := New(&s.net, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := bits.Len(places); p.StateBits() > want {
		t.Errorf("a marking has %d bits; %d are enough for %d places", p.StateBits(), want, places)
	}
}
