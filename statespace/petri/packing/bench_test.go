package packing

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
)

// sample returns reachable states of a packing, from random walks.
func sample(p *Packing, count int) []uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	words := p.StateWords()
	e := p.NewExpander()
	state := slices.Clone(p.initial)
	var all []uint64
	for step := 1; len(all) < count*words; step++ {
		all = append(all, state...)
		out, _ := e.Expand(state, nil)
		if len(out) == 0 || step%64 == 0 {
			copy(state, p.initial)
			continue
		}
		next := rng.IntN(len(out) / words)
		copy(state, out[next*words:])
	}
	return all
}

func TestExpandDoesNotAllocate(t *testing.T) {
	for _, net := range []*petri.Net{
		mustFamily(t, "kanban", 5), mustFamily(t, "philosophers", 100),
	} {
		p := mustPack(t, net, 0)
		states := sample(p, 100)
		e := p.NewExpander()
		out := make([]uint64, 0, 1<<16)
		words := p.StateWords()
		if n := testing.AllocsPerRun(10, func() {
			for state := range slices.Chunk(states, words) {
				out, _ = e.Expand(state, out[:0])
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", net.Name, n)
		}
	}
}

func BenchmarkExpand(b *testing.B) {
	for _, bench := range []struct {
		name string
		net  *petri.Net
	}{
		{"philosophers13", mustFamily(b, "philosophers", 13)},
		{"kanban5", mustFamily(b, "kanban", 5)},
		{"switches63", switches(63)},
		{"philosophers200", mustFamily(b, "philosophers", 200)},
		{"dekker60", mustFamily(b, "dekker", 60)},
		{"walker21", mustFamily(b, "walker", 21)},
		{"unbounded", counter(0, 1)},
	} {
		search := NewSearch(bench.net)
		bits, err := search.begin()
		if err != nil {
			b.Fatal(err)
		}
		p, err := search.packing(bits)
		if err != nil {
			b.Fatal(err)
		}
		all := sample(p, 1024)
		words := p.StateWords()
		b.Run(bench.name, func(b *testing.B) {
			e := p.NewExpander()
			var out []uint64
			successors := 0
			for i := range b.N {
				at := i % 1024 * words
				out, _ = e.Expand(all[at:at+words:at+words], out[:0])
				successors += len(out) / words
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(successors), "ns/successor")
			b.ReportMetric(float64(successors)/float64(b.N), "successors/op")
		})
	}
}

func BenchmarkNew(b *testing.B) {
	net := mustFamily(b, "philosophers", 200)
	for b.Loop() {
		if _, err := New(net, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
