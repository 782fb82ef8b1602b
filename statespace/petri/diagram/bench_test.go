package diagram

import (
	"fmt"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/symbolic"
)

// BenchmarkExplore explores nets by one strategy, with one goroutine and with two. It reports the
// time of an operation, a lookup in the cache with all that follows, the queries after the search
// included.
func BenchmarkExplore(b *testing.B) {
	for _, f := range []struct {
		name string
		n    int
	}{{"kanban", 20}, {"kanban", 50}, {"philosophers", 1000}, {"dekker", 15}} {
		net, err := petri.Family(f.name, f.n)
		must(b, err)
		order := Choose(net)
		for _, strategy := range []symbolic.Strategy{symbolic.Saturation, symbolic.Loops} {
			for goroutines := 1; goroutines <= 2; goroutines++ {
				b.Run(fmt.Sprintf("%s-%d/%s/%d", f.name, f.n, strategy, goroutines),
					func(b *testing.B) {
						benchmarkExplore(b, net, Options{MaxBytes: 2 << 30, Order: order,
							Strategy: strategy, Goroutines: goroutines})
					})
			}
		}
	}
}

func benchmarkExplore(b *testing.B, net *petri.Net, opts Options) {
	operations := uint64(0)
	for b.Loop() {
		res, err := Explore(b.Context(), net, opts)
		must(b, err)
		operations += res.Stats.Lookups
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(operations), "ns/call")
}
