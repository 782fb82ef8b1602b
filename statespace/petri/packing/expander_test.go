package packing

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
)

// engines returns the packing as it is, and with each engine that New may choose.
func engines(p *Packing) map[string]*Packing {
	with := func(masks, tables bool) *Packing {
		other := *p
		other.program = assemble(&other, masks)
		if tables {
			other.program.dense = other.program.tabulate(other.program.cut(minChunkBits))
		} else {
			other.program.sparse = other.program.list()
		}
		return &other
	}
	return map[string]*Packing{"chosen": p, "sparse": with(false, false),
		"dense": with(false, true), "masks": with(true, true)}
}

// randomNets calls test with nets of all sorts.
func randomNets(t *testing.T, count int, test func(t *testing.T, net *petri.Net)) {
	for seed := range count {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		net := randomProcesses(rng)
		if seed%2 == 0 {
			net = naive.AnyNet(rng, 2+rng.IntN(7), 1+rng.IntN(7))
		} else if seed%3 == 0 {
			naive.AddSpecial(rng, net)
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { test(t, net) })
	}
}

func TestExploringAgreesWithPlainFiring(t *testing.T) {
	compared := 0
	randomNets(t, 400, func(t *testing.T, net *petri.Net) {
		const limit = 2000
		want, err := naive.Explore(net, limit)
		if err != nil || !want.Complete {
			return
		}
		p, err := packRetrying(net, 2, 4, 16)
		if err != nil {
			t.Fatal(err)
		}
		compared++
		for name, p := range engines(p) {
			got, err := walk(p, limit, func(_, _ []uint64) {})
			if err != nil {
				t.Fatalf("%s engine: %v", name, err)
			}
			expected := totals{want.States, want.Arcs, want.Deadlocks,
				uint64(want.MaxTokensPlace), uint64(want.MaxTokensMarking)}
			if got != expected {
				t.Errorf("%s engine found %+v, want %+v", name, got, expected)
			}
		}
	})
	if compared < 200 {
		t.Errorf("only %d nets were small enough to compare", compared)
	}
}

// successors fires all transitions of a net on a plain marking, and returns the
// packed results in order.
func successors(t *testing.T, p *Packing, marking []int64) []string {
	var packed []string
	state := make([]uint64, p.StateWords())
	for i := range p.net.Transitions {
		tr := &p.net.Transitions[i]
		if !tr.Enabled(marking) {
			continue
		}
		next := slices.Clone(marking)
		tr.Fire(next)
		if err := p.pack(next, state); err != nil {
			t.Fatalf("packing %v, the successor by %s: %v", next, tr.ID, err)
		}
		packed = append(packed, fmt.Sprint(state))
	}
	slices.Sort(packed)
	return packed
}

// states returns packed states as sorted text.
func states(words int, packed []uint64) []string {
	var list []string
	for state := range slices.Chunk(packed, words) {
		list = append(list, fmt.Sprint(state))
	}
	slices.Sort(list)
	return list
}

func TestExpandFiresEveryEnabledTransition(t *testing.T) {
	wide := 0
	randomNets(t, 200, func(t *testing.T, net *petri.Net) {
		for _, guess := range []int{6, 32} {
			for name, p := range engines(mustPack(t, net, guess)) {
				if p.StateWords() > 1 {
					wide++
				}
				marking := make([]int64, len(net.Places))
				again := make([]uint64, p.StateWords())
				_, err := walk(p, 200, func(state, out []uint64) {
					p.unpack(state, marking)
					if err := p.pack(marking, again); err != nil || !slices.Equal(state, again) {
						t.Fatalf("%v unpacks to %v, which packs to %v, %v",
							state, marking, again, err)
					}
					want := successors(t, p, marking)
					if got := states(p.StateWords(), out); !slices.Equal(got, want) {
						t.Fatalf("%s engine: successors of %v are %v, want %v",
							name, marking, got, want)
					}
				})
				var overflow *explore.OverflowError
				if err != nil && err != errTooLarge && !errors.As(err, &overflow) {
					t.Fatal(err)
				}
			}
		}
	})
	if wide == 0 {
		t.Error("no net took more than one word")
	}
}

func TestExpandAppends(t *testing.T) {
	p := mustPack(t, mustFamily(t, "philosophers", 3), 0)
	e := p.NewExpander()
	state := slices.Clone(p.initial)
	first, err := e.Expand(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	both, err := e.Expand(state, slices.Clone(first))
	if err != nil {
		t.Fatal(err)
	}
	if want := append(slices.Clone(first), first...); !slices.Equal(both, want) {
		t.Errorf("Expand appended to %v and returned %v", first, both)
	}
}

// A trace of states is one of firings of the net.
func TestFirings(t *testing.T) {
	checked := 0
	randomNets(t, 120, func(t *testing.T, net *petri.Net) {
		p := mustPack(t, net, 8)
		_, _ = walk(p, 100, func(from, out []uint64) {
			number := 0
			for to := range slices.Chunk(out, p.StateWords()) {
				trace := []explore.Step{{State: from, Action: -1}, {State: to, Action: number}}
				firings, err := p.Firings(trace)
				if fmt.Sprint(from) != fmt.Sprint(p.initial) {
					if err == nil {
						t.Fatal("a trace must begin in the initial marking")
					}
					return
				}
				marking := net.Initial()
				net.Transitions[firings[0]].Fire(marking)
				led := make([]int64, len(marking))
				if p.unpack(to, led); !slices.Equal(marking, led) || err != nil {
					t.Fatalf("%v leads to %v, not %v: %v", firings, marking, to, err)
				}
				trace[1].Action += len(out)
				if _, err := p.Firings(trace); err == nil {
					t.Fatal("an action that is none was accepted")
				}
				number++
				checked++
			}
		})
	})
	if checked < 100 {
		t.Errorf("only %d firings", checked)
	}
}

func TestExpandersShareAPacking(t *testing.T) {
	for _, net := range []*petri.Net{
		mustFamily(t, "kanban", 2), mustFamily(t, "philosophers", 5), switches(8),
	} {
		for name, p := range engines(mustPack(t, net, 0)) {
			const workers = 4
			var found [workers]totals
			var group sync.WaitGroup
			for i := range workers {
				group.Go(func() {
					found[i], _ = walk(p, 10_000, func(state, _ []uint64) {})
				})
			}
			group.Wait()
			for _, f := range found {
				if f != found[0] || f.states < 200 {
					t.Errorf("%s, %s engine: found %+v and %+v", net.Name, name, found[0], f)
				}
			}
		}
	}
}

// counter is a net that adds weight tokens to its only place at each firing.
func counter(initial, weight int64) *petri.Net {
	var s sketch
	s.net.Name = "counter"
	p := s.place(initial)
	s.transition(arcs{}, arcs{p: weight})
	return &s.net
}

func TestOverflowAsksForMoreBits(t *testing.T) {
	for _, test := range []struct{ guess, states int }{{2, 4}, {8, 256}, {10, 1024}} {
		p := mustPack(t, counter(0, 1), test.guess)
		if !p.guessed() || p.StateBits() != test.guess {
			t.Errorf("guess %d: Guessed %v, %d bits", test.guess, p.guessed(), p.StateBits())
		}
		got, err := walk(p, 1<<20, func(_, _ []uint64) {})
		var overflow *explore.OverflowError
		if !errors.As(err, &overflow) || overflow.Place != "p0" || overflow.Bits != test.guess {
			t.Errorf("guess %d: error %v", test.guess, err)
		}
		if got.states != test.states-1 {
			t.Errorf("guess %d: error after %d states, want %d", test.guess,
				got.states, test.states-1)
		}
	}
}

func TestTokensEndAtTwoToThe31(t *testing.T) {
	p := mustPack(t, counter(0, 1<<30), 32)
	if p.guessed() {
		t.Error("there is no guess wider than 32 bits")
	}
	got, err := walk(p, 100, func(_, _ []uint64) {})
	var overflow *explore.OverflowError
	if err == nil || errors.As(err, &overflow) || !strings.Contains(err.Error(), "2^31") {
		t.Errorf("error %v", err)
	}
	if got.states != 2 { // 0 and 2^30 have a successor that fits, 2^31 has none
		t.Errorf("error after %d states, want 2", got.states)
	}
}

func TestBoundOfTwoToThe31IsNoGuess(t *testing.T) {
	var s sketch
	a, b := s.place(petri.MaxTokens), s.place(0)
	s.transition(arcs{a: 1 << 30}, arcs{b: 1 << 30})
	p := mustPack(t, &s.net, 2)
	got, err := walk(p, 10, func(_, _ []uint64) {})
	if err != nil || got.states != 3 || got.place != petri.MaxTokens {
		t.Errorf("found %+v, %v", got, err)
	}
	if p.StateBits() != 32 || p.guessed() {
		t.Errorf("%d bits, Guessed %v", p.StateBits(), p.guessed())
	}
}

func TestPeaksStartEmpty(t *testing.T) {
	p := mustPack(t, counter(7, 1), 0)
	if got := p.NewExpander().Findings(); slices.Max(got) != 0 {
		t.Errorf("findings %v before the first state", got)
	}
}

// Firings that overflow a place are found with masks as without: where the place has a field of its
// own, where its field is too wide for a mask, and where it has none.
func TestMasksKeepGuards(t *testing.T) {
	var two sketch
	a, b := two.place(1), two.place(0)
	two.transition(arcs{a: 1}, arcs{a: 1, b: 1})
	var implied sketch
	c, d, switched := implied.place(0), implied.place(0), implied.place(1)
	implied.transition(arcs{switched: 1}, arcs{switched: 1, c: 1, d: 1})
	for _, test := range []struct {
		net   *petri.Net
		guess int
		calm  bool
	}{{&two.net, 2, true}, {&two.net, 12, false}, {&implied.net, 2, false}} {
		p := mustPack(t, test.net, test.guess)
		if calm := assemble(p, true).calm != 0; calm != test.calm {
			t.Errorf("guess %d: one bit for all guards: %v", test.guess, calm)
		}
		for name, p := range engines(p) {
			got, err := walk(p, 1<<14, func(_, _ []uint64) {})
			var overflow *explore.OverflowError
			if want := 1<<test.guess - 1; !errors.As(err, &overflow) || got.states != want {
				t.Errorf("%s engine, guess %d: %d states and %v; want %d", name, test.guess,
					got.states, err, want)
			}
		}
	}
}
