package packing

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// A net that is not live has a marking from which a transition never fires again, and a shortest
// way leads there.
func TestLivenessOfRandomNets(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	cases := map[string]int{}
	live := []property.Property{{Kind: property.Live}}
	for i := 0; cases["live"]+cases["stranded"] < 80; i++ {
		n := naive.AnyNet(rng, 1+rng.IntN(6), 1+rng.IntN(5))
		want, ok := naive.Live(n, 800)
		if !ok {
			continue
		}
		answers, res, firings, err := answersOf(n, 1+i%3, live,
			explore.Options{Trace: Witnesses(live)})
		if err != nil {
			t.Fatalf("net %d: %v", i, err)
		}
		a := answers[0]
		if (a.Verdict == logic.True) == slices.Contains(want, false) || !a.Exact {
			t.Fatalf("net %d %+v: %+v, want %v", i, n, a, want)
		}
		cases[strandedAt(t, n, a, res, firings)]++
	}
	t.Log(cases)
	for _, what := range []string{"live", "stranded", "deadlock", "never", "structural"} {
		if cases[what] < 3 {
			t.Errorf("too few cases of %q: %v", what, cases)
		}
	}
}

// strandedAt verifies where an answer says that a net is not live any more, and says which case it
// is.
func strandedAt(t *testing.T, n *petri.Net, a property.Answer, res *explore.Result,
	firings []int) string {
	t.Helper()
	switch {
	case a.Verdict == logic.True:
		return "live"
	case a.Structural:
		if slices.ContainsFunc(markings(n, 1000), n.Transitions[a.Transition].Enabled) {
			t.Fatalf("%+v: %+v, and it can fire", n, a)
		}
		return "structural"
	case res.Traced != a.Witness:
		t.Fatalf("%+v: %+v is not shown: %+v", n, a, res)
	}
	there := *n
	there.Places = slices.Clone(n.Places)
	m := n.Initial()
	if err := n.FireAll(m, firings); err != nil {
		t.Fatalf("%+v: %v: %v", n, firings, err)
	}
	for place := range m {
		there.Places[place].Initial = m[place]
	}
	all := markings(&there, 1000)
	if a.Witness != explore.Stranded {
		if len(all) > 1 {
			t.Fatalf("%+v: %v is no deadlock", n, m)
		}
		return "deadlock"
	}
	if slices.ContainsFunc(all, n.Transitions[a.Transition].Enabled) {
		t.Fatalf("%+v: transition %d can fire again after %v", n, a.Transition, firings)
	}
	if len(firings) == 0 {
		return "never"
	}
	return "stranded"
}

// Liveness that memory did not suffice for is unknown.
func TestLivenessUnknown(t *testing.T) {
	n, err := petri.Family("rwmutex", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, mem := range []uint64{4 << 20, 64 << 20} {
		answers, res, _, err := answersOf(n, 2, []property.Property{{Kind: property.Live}},
			explore.Options{Mem: mem})
		if err != nil {
			t.Fatal(err)
		}
		a := answers[0]
		switch {
		case !res.Complete:
			t.Errorf("%+v", res)
		case mem == 4<<20 && (a.Exact || a.Verdict != logic.Unknown || a.Reason == ""):
			t.Errorf("%+v", a)
		case mem > 4<<20 && a.Verdict != logic.True:
			t.Errorf("%+v, %+v", a, res.Live)
		}
	}
}
