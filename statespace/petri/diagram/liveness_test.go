package diagram

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// after fires the transitions of a trace on the net.
func after(t *testing.T, net *petri.Net, trace []int) []int64 {
	t.Helper()
	m := net.Initial()
	if err := net.FireAll(m, trace); err != nil {
		t.Fatalf("%+v: %v: %v", net, trace, err)
	}
	return m
}

// TestLiveness compares with an explicit search of random nets. A net that is not live has a
// marking that shows it, and a trace there.
func TestLiveness(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	cases := map[string]int{}
	for i := 0; cases["live"] < 40 || cases["stranded"] < 20 || cases["deadlock"] < 20 ||
		cases["never"] < 20; i++ {
		net, _ := boundedNet(rng)
		want, ok := naive.Live(net, 500)
		if !ok {
			continue
		}
		res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes, Witness: true,
			Strategy: symbolic.Strategies()[i%2]}, property.Property{Kind: property.Live})
		must(t, err)
		a := res.Answers[0]
		if (a.Verdict == logic.True) == slices.Contains(want, false) {
			t.Fatalf("%+v: %+v, not %v", net, a, want)
		}
		if a.Verdict == logic.True {
			cases["live"]++
			continue
		}
		there := *net
		there.Places = slices.Clone(net.Places)
		if len(res.Traces) != 1 || res.Traces[0].Traced != 0 {
			t.Fatalf("%+v: no trace shows it, but %v", net, res.Traces)
		}
		trace := res.Traces[0].Firings
		end := after(t, net, trace)
		for place := range end {
			there.Places[place].Initial = end[place]
		}
		all := markingsOf(&there)
		switch {
		case a.Transition < 0:
			cases["deadlock"]++
			if slices.ContainsFunc(net.Transitions, func(x petri.Transition) bool {
				return x.Enabled(end)
			}) {
				t.Fatalf("%+v: %v is no deadlock", net, end)
			}
		case slices.ContainsFunc(all, net.Transitions[a.Transition].Enabled):
			t.Fatalf("%+v: transition %d can fire again after %v", net, a.Transition, trace)
		case len(trace) == 0:
			cases["never"]++
		default:
			cases["stranded"]++
		}
	}
	t.Log(cases)
}

// TestTraces: for each property that a marking shows there is a trace to one, and for a bound to
// one that has the largest value.
func TestTraces(t *testing.T) {
	traces := map[property.Kind]int{}
	for seed := uint64(0); traces[property.Always] < 100 || traces[property.Sometimes] < 100 ||
		traces[property.Bound] < 100; seed++ {
		rng := rand.New(rand.NewPCG(seed, 4))
		net, want := boundedNet(rng)
		properties := randomProperties(rng, net)
		res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes, Deadlock: true,
			Witness: true}, properties...)
		must(t, err, res.TracesCut)
		left := res.Traces
		if want.Deadlocks > 0 {
			stuck, end := logic.Leaf(property.Stuck{}), after(t, net, left[0].Firings)
			if left[0].Traced != Deadlock || !property.Holds(stuck, net, end) {
				t.Fatalf("%+v: %v leads to no deadlock", net, left[0])
			}
			left = left[1:]
		}
		for i, a := range res.Answers {
			if a.Marking == nil && a.Property.Kind != property.Bound {
				continue
			}
			if len(left) == 0 || left[0].Traced != Traced(i) {
				t.Fatalf("%+v: property %d has a marking, and the traces are %v", net, i,
					res.Traces)
			}
			end, p := after(t, net, left[0].Firings), properties[i]
			if p.Kind == property.Bound && p.Sum.Value(end) != a.Value || p.Formula != nil &&
				property.Holds(p.Formula, net, end) != (p.Kind == property.Sometimes) {
				t.Fatalf("%+v: %v does not show %+v of %+v", net, left[0], a, p)
			}
			traces[p.Kind]++
			left = left[1:]
		}
		if len(left) > 0 {
			t.Fatalf("%+v: nobody asks for %v", net, left)
		}
	}
}

// TestTracesAreAsked: there are none unless they are asked for.
func TestTracesAreAsked(t *testing.T) {
	net, err := petri.Family("philosophers", 3)
	must(t, err)
	res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes}, property.Property{
		Kind: property.Sometimes, Formula: logic.Leaf(property.Stuck{})},
		property.Property{Kind: property.Bound,
			Sum: property.Sum{Terms: []property.Term{{Weight: 1}}}})
	must(t, err)
	if len(res.Traces) > 0 || res.Answers[0].Marking == nil || res.Answers[1].Value != 1 {
		t.Errorf("%+v", res)
	}
}

// TestLargeTraces: liveness and traces of nets that no search could store.
func TestLargeTraces(t *testing.T) {
	net, err := petri.Family("philosophers", 1000)
	must(t, err)
	res, err := Explore(t.Context(), net, Options{MaxBytes: 256 << 20, Deadlock: true})
	must(t, err)
	stuck := logic.Leaf(property.Stuck{})
	firings := res.Traces[0].Firings
	if end := after(t, net, firings); !property.Holds(stuck, net, end) || len(firings) != 1000 {
		t.Errorf("%d firings lead to %v", len(firings), end)
	}
	net, err = petri.Family("kanban", 20)
	must(t, err)
	res, err = Explore(t.Context(), net, Options{MaxBytes: 256 << 20},
		property.Property{Kind: property.Live})
	must(t, err)
	if res.Answers[0].Verdict != logic.True {
		t.Errorf("Kanban-20 is said not to be live")
	}
}

// TestNearer: what a transition gains by its changes, up and down, to the goal and beyond it.
func TestNearer(t *testing.T) {
	from, to := []uint32{5, 0, 2}, []uint32{2, 4, 2}
	for _, c := range []struct {
		changes [3]int64
		gain    int64
	}{{[3]int64{-1, 1, 0}, 2}, {[3]int64{-4, 0, 0}, 2}, {[3]int64{1, 5, 0}, 2},
		{[3]int64{0, 0, 1}, -1}, {[3]int64{0, 0, -2}, -2}, {}} {
		var steps []symbolic.Step
		for level, change := range c.changes {
			steps = append(steps, symbolic.Step{Level: level, Change: change})
		}
		if gain := nearer(steps, from, to); gain != c.gain {
			t.Errorf("%v gains %d, not %d", c.changes, gain, c.gain)
		}
	}
	emptied := []symbolic.Step{{Level: 0, Set: true}}
	if gain := nearer(emptied, from, to); gain != 1 { // from 5 to 0 where 2 is the goal
		t.Errorf("setting an entry gains %d", gain)
	}
}
