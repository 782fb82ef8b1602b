package explore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	seeds "github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/packing"
)

// net explores a net the way that the command does.
func net(n *petri.Net) explorer {
	return func(ctx context.Context, job rma.Job, opts explore.Options) (*explore.Result, error) {
		res, _, err := packing.NewSearch(n).Run(ctx, job, opts)
		return res, err
	}
}

// naiveCounts are the counts of the naive explorer; ok is false where the net has more
// states than the limit, or too many tokens.
func naiveCounts(t *testing.T, n *petri.Net, limit int, order explore.Order) (c counts, ok bool) {
	t.Helper()
	r, err := naive.Explore(n, limit)
	if errors.Is(err, naive.ErrTokens) {
		return counts{}, false
	}
	if err != nil {
		t.Fatal(err)
	}
	c = counts{uint64(r.States), uint64(r.Arcs), uint64(r.Depth), uint64(r.Deadlocks),
		uint64(r.MaxTokensPlace), uint64(r.MaxTokensMarking)}
	if order == explore.AnyOrder {
		c.Depth = 0
	}
	return c, r.Complete
}

func pow(base uint64, exponent int) uint64 {
	p := uint64(1)
	for range exponent {
		p *= base
	}
	return p
}

// families are nets with their closed forms.
var families = []struct {
	name                    string
	size                    int
	states, arcs, deadlocks func(n int) uint64
}{
	{"philosophers", 6,
		func(n int) uint64 { return pow(3, n) },
		func(n int) uint64 { return 7 * uint64(n) * pow(3, n-2) },
		func(int) uint64 { return 2 }},
	{"rwmutex", 7,
		func(n int) uint64 { return pow(2, n) + uint64(n) },
		func(n int) uint64 { return uint64(n)*pow(2, n) + 2*uint64(n) },
		func(int) uint64 { return 0 }},
	{"referendum", 5,
		func(n int) uint64 { return pow(3, n) + 1 },
		func(n int) uint64 { return 2*uint64(n)*pow(3, n-1) + 1 },
		func(n int) uint64 { return pow(2, n) }},
	{"dekker", 6,
		func(n int) uint64 { return pow(2, n-1) * uint64(n+2) },
		func(n int) uint64 { return uint64(n) + uint64(n)*pow(2, n-3)*uint64(n*n+3*n+4) },
		func(int) uint64 { return 0 }},
}

func TestFamilies(t *testing.T) {
	for _, f := range families {
		n, err := petri.Family(f.name, f.size)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range settings(1, 2, 4) {
			want, ok := naiveCounts(t, n, 1<<20, s.opts.Order)
			if !ok {
				t.Fatalf("%s: not explored", f.name)
			}
			s.opts.Check = true
			r := mustSearch(t, s, net(n))
			if got := countsOf(r); !r.Complete || got != want || r.States != f.states(f.size) ||
				r.Arcs != f.arcs(f.size) || r.Deadlocks != f.deadlocks(f.size) {
				t.Errorf("%s, %v:\ngot  %+v\nwant %+v", f.name, s, got, want)
			}
			if r.Encoding != s.opts.Encoding || r.Order != s.opts.Order || r.Bytes <= 8*r.States ||
				r.LoadFactor <= 0 || r.LoadFactor > 1 || r.Trace != nil {
				t.Errorf("%s, %v: result %+v", f.name, s, r)
			}
		}
	}
}

func TestRandomNets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := settings(1, 2, 4)
	compared, unbounded := 0, 0
	nets := seeds.Often(120, 330)
	for i := range nets {
		n := naive.AnyNet(rng, 1+rng.IntN(8), 1+rng.IntN(8))
		s := all[i%len(all)]
		want, ok := naiveCounts(t, n, 2000, s.opts.Order)
		if !ok {
			unbounded++
			continue
		}
		compared++
		r := mustSearch(t, s, net(n))
		if got := countsOf(r); !r.Complete || got != want {
			t.Fatalf("net %d, %v:\ngot  %+v\nwant %+v\n%+v", i, s, got, want, n)
		}
	}
	if compared < nets*2/3 {
		t.Errorf("only %d nets were compared, %d are unbounded or large", compared, unbounded)
	}
}

// A place that no invariant bounds outgrows its first guess, and the search begins
// anew with a wider one.
func TestGuessWidens(t *testing.T) {
	// A thousand firings turn one token into three each.
	n := &petri.Net{Name: "thousand",
		Places: []petri.Place{{ID: "a", Name: "a", Initial: 1000}, {ID: "b", Name: "b"}},
		Transitions: []petri.Transition{{ID: "t", Name: "t",
			In:  []petri.Arc{{Place: 0, Weight: 1}},
			Out: []petri.Arc{{Place: 1, Weight: 3}}},
			{ID: "u", Name: "u", In: []petri.Arc{{Place: 1, Weight: 70000}},
				Out: []petri.Arc{{Place: 1, Weight: 70001}}}}}
	for _, s := range settings(1, 4) {
		want, _ := naiveCounts(t, n, 1<<20, s.opts.Order)
		r := mustSearch(t, s, net(n))
		if got := countsOf(r); !r.Complete || got != want || got.MaxTokensPlace != 3000 {
			t.Errorf("%v:\ngot  %+v\nwant %+v", s, got, want)
		}
	}
}
