package packing

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
)

// sketch builds small nets in tests.
type sketch struct{ net petri.Net }

// place adds a place and returns its index.
func (s *sketch) place(initial int64) int {
	id := fmt.Sprintf("p%d", len(s.net.Places))
	s.net.Places = append(s.net.Places, petri.Place{ID: id, Name: id, Initial: initial})
	return len(s.net.Places) - 1
}

// arcs maps places to weights.
type arcs map[int]int64

func (s *sketch) transition(in, out arcs) {
	id := fmt.Sprintf("t%d", len(s.net.Transitions))
	s.net.Transitions = append(s.net.Transitions, petri.Transition{
		ID: id, Name: id, In: in.sorted(), Out: out.sorted(),
	})
}

func (a arcs) sorted() []petri.Arc {
	var list []petri.Arc
	for place, weight := range a {
		list = append(list, petri.Arc{Place: place, Weight: weight})
	}
	slices.SortFunc(list, func(x, y petri.Arc) int { return x.Place - y.Place })
	return list
}

// randomProcesses returns a net of cyclic processes that share resources and
// now and then count something. It has many invariants, some with weights.
func randomProcesses(rng *rand.Rand) *petri.Net {
	var s sketch
	s.net.Name = "processes"
	var shared []int
	for range 1 + rng.IntN(3) {
		shared = append(shared, s.place(rng.Int64N(4)))
	}
	for range 1 + rng.IntN(4) {
		length := 2 + rng.IntN(5)
		tokens := int64(1)
		if rng.IntN(3) == 0 {
			tokens = 1 + rng.Int64N(4)
		}
		first := s.place(tokens)
		for range length - 1 {
			s.place(0)
		}
		held := int64(0) // of one resource
		resource := shared[rng.IntN(len(shared))]
		for i := range length {
			weight := int64(1)
			in := arcs{first + i: weight}
			out := arcs{first + (i+1)%length: weight}
			if held == 0 && rng.IntN(2) == 0 {
				held = 1 + rng.Int64N(2)
				in[resource] = held
			} else if held > 0 && (i == length-1 || rng.IntN(2) == 0) {
				out[resource] = held
				held = 0
			}
			s.transition(in, out)
			if rng.IntN(6) == 0 {
				s.transition(out, in) // and back
			}
		}
	}
	switch a, b := rng.IntN(len(s.net.Places)), s.place(0); rng.IntN(6) {
	case 0:
		s.transition(arcs{a: 2}, arcs{b: 3}) // a divisor
		s.transition(arcs{b: 3}, arcs{a: 2})
	case 1:
		s.transition(arcs{a: 1}, arcs{a: 1, b: 1}) // no bound
	case 2:
		s.transition(arcs{a: 1}, arcs{a: 1}) // a self-loop
	case 3:
		s.transition(arcs{a: 1}, arcs{}) // a bound, but no semiflow
	case 4:
		s.transition(arcs{a: 1, b: 1}, arcs{}) // dead
	}
	return &s.net
}

// errTooLarge ends a walk over the state space.
var errTooLarge = errors.New("more states than the limit")

// totals are what a walk over the state space finds.
type totals struct {
	states, arcs, deadlocks int
	place, marking          uint64 // most tokens
}

// walk visits the reachable states of a packing breadth first and calls visit
// with each state and its successors.
func walk(p *Packing, limit int, visit func(state, successors []uint64)) (totals, error) {
	words := p.StateWords()
	key := func(state []uint64) string { return fmt.Sprint(state) }
	initial := p.Initial(nil)
	seen := map[string]bool{key(initial): true}
	queue := [][]uint64{initial}
	e := p.NewExpander()
	var sum totals
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		out, err := e.Expand(state, nil)
		if err != nil {
			return sum, err
		}
		visit(state, out)
		sum.states++
		sum.arcs += len(out) / words
		if len(out) == 0 {
			sum.deadlocks++
		}
		for next := range slices.Chunk(out, words) {
			if !seen[key(next)] {
				seen[key(next)] = true
				queue = append(queue, next)
			}
		}
		if len(seen) > limit {
			return sum, errTooLarge
		}
	}
	sum.place, sum.marking = Peaks(&explore.Result{Findings: e.Findings()})
	return sum, nil
}

// packRetrying packs a net and walks it, with wider guesses after overflows.
func packRetrying(net *petri.Net, guesses ...int) (*Packing, error) {
	var p *Packing
	var err error
	for _, guess := range guesses {
		if p, err = New(net, Options{GuessBits: guess}); err != nil {
			return nil, err
		}
		_, err = walk(p, 3000, func(_, _ []uint64) {})
		var overflow *explore.OverflowError
		if !errors.As(err, &overflow) {
			return p, nil
		}
	}
	return p, err
}

// mustPack packs a net that is known to be fine.
func mustPack(t testing.TB, net *petri.Net, guess int) *Packing {
	t.Helper()
	p, err := New(net, Options{GuessBits: guess})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return p
}

// mustFamily returns a net of a family that the petri package makes.
func mustFamily(t testing.TB, name string, n int) *petri.Net {
	t.Helper()
	net, err := petri.Family(name, n)
	if err != nil {
		t.Fatal(err)
	}
	return net
}
