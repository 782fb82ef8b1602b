package diagram

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/petri"
	"github.com/farhash/farhash/petri/property"
	"github.com/farhash/farhash/symbolic"
)

// after fires the transitions of a trace on the net.
func after(t *testing.T, net *petri.Net, trace []int) []int64 {
	t.Helper()
	m := net.Initial()
	for _, i := range trace {
		if !net.Transitions[i].Enabled(m) {
			t.Fatalf("%+v: %d of %v is not enabled in %v", net, i, trace, m)
		}
		net.Transitions[i].Fire(m)
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
			Strategy: symbolic.Strategies()[i%4]}, property.Property{Kind: property.Live})
		must(t, err)
		a := res.Answers[0]
		if a.True == slices.Contains(want, false) {
			t.Fatalf("%+v: %+v, not %v", net, a, want)
		}
		if a.True {
			cases["live"]++
			continue
		}
		there := *net
		there.Places = slices.Clone(net.Places)
		end := after(t, net, res.Trace)
		for place := range end {
			there.Places[place].Initial = end[place]
		}
		all := markingsOf(&there)
		switch {
		case res.Trace == nil || res.Traced != 0:
			t.Fatalf("%+v: no trace shows it, but %d of %v", net, res.Traced, res.Trace)
		case a.Transition < 0:
			cases["deadlock"]++
			if slices.ContainsFunc(net.Transitions, func(x petri.Transition) bool {
				return x.Enabled(end)
			}) {
				t.Fatalf("%+v: %v is no deadlock", net, end)
			}
		case slices.ContainsFunc(all, net.Transitions[a.Transition].Enabled):
			t.Fatalf("%+v: transition %d can fire again after %v", net, a.Transition, res.Trace)
		case len(res.Trace) == 0:
			cases["never"]++
		default:
			cases["stranded"]++
		}
	}
	t.Log(cases)
}

// TestTrace: a trace leads to a marking that shows the first property that has one, or to a
// deadlock.
func TestTrace(t *testing.T) {
	traces := 0
	for seed := uint64(0); traces < 200; seed++ {
		rng := rand.New(rand.NewPCG(seed, 4))
		net, want := boundedNet(rng)
		res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes, Deadlock: true})
		must(t, err)
		if (res.Trace != nil) != (want.Deadlocks > 0) {
			t.Fatalf("%+v: %d deadlocks, trace %v", net, want.Deadlocks, res.Trace)
		}
		if stuck := (property.Formula{Op: property.Stuck}); res.Trace != nil &&
			(res.Traced != Deadlock || !stuck.Holds(net, after(t, net, res.Trace))) {
			t.Fatalf("%+v: %v leads to no deadlock", net, res.Trace)
		}
		properties := randomProperties(rng, net)
		res, err = Explore(t.Context(), net, Options{MaxBytes: testBytes, Witness: true},
			properties...)
		must(t, err)
		first := slices.IndexFunc(res.Answers, func(a Answer) bool { return a.Marking != nil })
		if (first < 0) != (res.Trace == nil) || first >= 0 && int(res.Traced) != first {
			t.Fatalf("%+v: property %d has a marking, and %v leads to %d", net, first, res.Trace,
				res.Traced)
		}
		if first < 0 {
			continue
		}
		traces++
		p := properties[first]
		if p.Formula.Holds(net, after(t, net, res.Trace)) != (p.Kind == property.Sometimes) {
			t.Fatalf("%+v: %v does not show %+v", net, res.Trace, p)
		}
	}
}

// TestLargeTraces: liveness and traces of nets that no search could store.
func TestLargeTraces(t *testing.T) {
	net, err := petri.Family("philosophers", 1000)
	must(t, err)
	res, err := Explore(t.Context(), net, Options{MaxBytes: 256 << 20, Deadlock: true})
	must(t, err)
	stuck := property.Formula{Op: property.Stuck}
	if end := after(t, net, res.Trace); !stuck.Holds(net, end) || len(res.Trace) != 1000 {
		t.Errorf("%d firings lead to %v", len(res.Trace), end)
	}
	net, err = petri.Family("kanban", 20)
	must(t, err)
	res, err = Explore(t.Context(), net, Options{MaxBytes: 256 << 20},
		property.Property{Kind: property.Live})
	must(t, err)
	if !res.Answers[0].True {
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
}
