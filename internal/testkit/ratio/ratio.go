// Package ratio compares two ways to do the same, in one benchmark, so that what else the machine
// does slows both.
package ratio

import (
	"slices"
	"testing"
	"time"
)

// Bench runs n calls of one way and n of the other, alternately, and reports the nanoseconds of a
// call of the first one, the median over all rounds, and the median of how much longer than the
// other one it takes.
func Bench(b *testing.B, name string, n uint64, call, other func(i uint64)) {
	b.Run(name, func(b *testing.B) {
		var times, ratios []float64
		for b.Loop() {
			first, second := run(n, call), run(n, other)
			times, ratios = append(times, first/float64(n)), append(ratios, first/second)
		}
		slices.Sort(times)
		slices.Sort(ratios)
		b.ReportMetric(times[len(times)/2], "ns/call")
		b.ReportMetric(ratios[len(ratios)/2], "ratio")
		b.ReportMetric(0, "ns/op") // it is of both, and means nothing
	})
}

// run is how many nanoseconds n calls take.
func run(n uint64, call func(i uint64)) float64 {
	begin := time.Now()
	for i := range n {
		call(i)
	}
	return float64(time.Since(begin))
}
