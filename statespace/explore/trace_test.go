package explore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	seeds "github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/packing"
)

// enabled lists the transitions that a marking enables.
func enabled(n *petri.Net, m []int64) []int {
	var list []int
	for i := range n.Transitions {
		if n.Transitions[i].Enabled(m) {
			list = append(list, i)
		}
	}
	return list
}

// firstDeadlock is the level of the first deadlock, -1 when there is none among so
// many markings.
func firstDeadlock(n *petri.Net, limit int) int {
	level := [][]int64{n.Initial()}
	seen := map[string]bool{fmt.Sprint(level[0]): true}
	for depth := 0; len(level) > 0 && len(seen) < limit; depth++ {
		var next [][]int64
		for _, m := range level {
			fire := enabled(n, m)
			if len(fire) == 0 {
				return depth
			}
			for _, i := range fire {
				succ := slices.Clone(m)
				n.Transitions[i].Fire(succ)
				if key := fmt.Sprint(succ); !seen[key] {
					seen[key] = true
					next = append(next, succ)
				}
			}
		}
		level = next
	}
	return -1
}

// replay fires a trace, which must end in a deadlock.
func replay(t *testing.T, what any, n *petri.Net, trace []explore.Step) {
	t.Helper()
	firings := firingsOf(t, n, trace)
	m := n.Initial()
	for step, i := range firings {
		if i < 0 || i >= len(n.Transitions) || !n.Transitions[i].Enabled(m) {
			t.Fatalf("%v: step %d of %v: %d is not enabled in %v", what, step, firings, i, m)
		}
		n.Transitions[i].Fire(m)
	}
	if fire := enabled(n, m); len(fire) != 0 {
		t.Fatalf("%v: after %v the marking %v enables %v", what, firings, m, fire)
	}
}

// firingsOf are the transitions of a trace, by whichever packing it is of.
func firingsOf(t *testing.T, n *petri.Net, trace []explore.Step) []int {
	t.Helper()
	var failure error
	for _, bits := range []int{8, 16, 32} {
		p, err := packing.New(n, packing.Options{GuessBits: bits})
		if err != nil {
			t.Fatal(err)
		}
		firings, err := p.Firings(trace)
		if err == nil {
			return firings
		}
		failure = err
	}
	t.Fatal(failure)
	return nil
}

// checkTrace searches for a trace and verifies it on every rank.
func checkTrace(t *testing.T, what any, s setting, n *petri.Net, want int) {
	t.Helper()
	s.opts.Trace = []int{explore.Deadlock}
	out, err := search(s, net(n))
	if err != nil {
		t.Fatalf("%v: %v", what, err)
	}
	for rank, o := range out {
		r := o.res
		if !r.Complete || (r.Trace != nil) != (want >= 0) ||
			(r.Trace != nil) != (r.Deadlocks > 0) {
			t.Fatalf("%v: rank %d: %+v, want a deadlock at level %d", what, rank, r, want)
		}
		if fmt.Sprint(r.Trace) != fmt.Sprint(out[0].res.Trace) {
			t.Fatalf("%v: rank %d has %v, rank 0 has %v", what, rank, r.Trace, out[0].res.Trace)
		}
	}
	trace := out[0].res.Trace
	if want < 0 {
		if trace != nil {
			t.Fatalf("%v: trace %v without a deadlock", what, trace)
		}
		return
	}
	if len(trace) != want+1 {
		t.Fatalf("%v: trace of %d states to level %d: %v", what, len(trace), want, trace)
	}
	replay(t, what, n, trace)
}

// levelSettings are the settings that know levels.
func levelSettings() []setting {
	return slices.DeleteFunc(settings(1, 2, 4), func(s setting) bool {
		return s.opts.Order != explore.BreadthFirst
	})
}

func TestTraceOfFamilies(t *testing.T) {
	for _, f := range families {
		n, err := petri.Family(f.name, f.size)
		if err != nil {
			t.Fatal(err)
		}
		want := firstDeadlock(n, 1<<20)
		for _, s := range levelSettings() {
			checkTrace(t, fmt.Sprintf("%s, %v", f.name, s), s, n, want)
		}
	}
}

func TestTraceOfRandomNets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	all := levelSettings()
	compared, nets := 0, seeds.Often(50, 150)
	for i := 0; compared < nets; i++ {
		n := naive.AnyNet(rng, 2+rng.IntN(7), 1+rng.IntN(7))
		if _, ok := naiveCounts(t, n, 2000, explore.BreadthFirst); !ok {
			continue
		}
		want := firstDeadlock(n, 2001)
		if want < 2 && i%8 != 0 {
			continue // most nets have a deadlock nearby, or none
		}
		compared++
		s := all[i%len(all)]
		checkTrace(t, fmt.Sprintf("net %d %+v, %v", i, n, s), s, n, want)
	}
}

// The states of the trace are wherever they were inserted: on all ranks.
func TestTraceAcrossRanks(t *testing.T) {
	n, err := petri.Family("philosophers", 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, enc := range encodings {
		s := setting{ranks: 4, opts: explore.Options{Encoding: enc}}
		checkTrace(t, s, s, n, firstDeadlock(n, 1<<20))
	}
}

func TestTraceOfInitialDeadlock(t *testing.T) {
	place := []petri.Place{{ID: "p", Name: "p"}}
	for what, n := range map[string]*petri.Net{
		"no transitions": {Places: place},
		"nothing":        {},
		"nothing enabled": {Places: place, Transitions: []petri.Transition{{ID: "t", Name: "t",
			In: []petri.Arc{{Place: 0, Weight: 1}}}}},
	} {
		for _, s := range levelSettings() {
			checkTrace(t, fmt.Sprintf("%s, %v", what, s), s, n, 0)
		}
	}
}

// A search that was cut short knows the way to what it has found.
func TestTraceWithoutEnd(t *testing.T) {
	// All states of its level are expanded before memory is full, in whatever order.
	const stuck = 1 << 8
	m := doubling(24)
	next := m.next
	m.next = func(s uint64, out []uint64) []uint64 {
		if s == stuck {
			return out
		}
		return next(s, out)
	}
	for _, ranks := range []int{1, 4} {
		s := setting{ranks: ranks, opts: explore.Options{Trace: []int{explore.Deadlock},
			Mem: tightMem, Encoding: explore.EncodingElement}}
		r := mustSearchModel(t, s, m.long(tightWords))
		if r.Complete || len(r.Trace) != 10 || r.Trace[9].State[0] != stuck {
			t.Errorf("%v: %+v", s, r)
		}
	}
}

// A state that does not fit comes after what decides everything: the answer and the way there
// stand.
func TestTraceBesideOverflow(t *testing.T) {
	m := &graph{bits: 20, words: 1, goal: 1, limit: 1 << 19}
	m.next = func(s uint64, out []uint64) []uint64 {
		switch s {
		case 0:
			return append(out, 1, 2)
		case 1: // more than a batch, so that these are in the set before 2 is expanded
			for i := range uint64(600) {
				out = append(out, 10+i)
			}
		case 2:
			out = append(out, m.limit)
		}
		return out
	}
	for _, enc := range encodings {
		s := setting{ranks: 1, opts: explore.Options{Trace: []int{findingGoal}, Encoding: enc}}
		r := mustSearchModel(t, s, m)
		if r.Reason != explore.Decided || len(r.Trace) != 2 || r.Trace[1].State[0] != 1 {
			t.Errorf("%v: %+v", s, r)
		}
	}
}

// The way leads through a state that the last rank has inserted alone.
func TestTraceThroughAnotherRank(t *testing.T) {
	expanded := newEvent()
	out, err := searchModel(setting{ranks: 2, opts: explore.Options{Trace: []int{findingGoal}}},
		func(rank int) explore.Model {
			return &graph{bits: 20, words: 1, goal: 20200,
				next: func(s uint64, out []uint64) []uint64 {
					for i := range uint64(1000) {
						if s == 0 {
							out = append(out, 1+i)
						}
					}
					if 0 < s && s < 20000 {
						out = append(out, s+10000)
					}
					return out
				},
				// Rank 0 offers its second block, and begins its first one.
				hook: func(s uint64) error {
					if rank == 0 && s == 1 {
						<-expanded.done
					} else if rank == 1 && s == 200 {
						expanded.happen()
					}
					return nil
				}}
		})
	if err != nil {
		t.Fatal(err)
	}
	for rank, o := range out {
		var way []uint64
		for _, step := range o.res.Trace {
			way = append(way, step.State[0])
		}
		if !slices.Equal(way, []uint64{0, 200, 10200, 20200}) {
			t.Errorf("rank %d: %d", rank, way)
		}
	}
}
