package simulate

import (
	"math"

	"github.com/farhash/farhash/bench"
)

// The cells of OP Table 1 that the parameters of [DAS5] are fitted to, one each. All
// others are predicted.
const (
	fittedLoad  = 0.5 // LatencyNs and WordNs: the first row
	fittedSmall = 8   // with its smallest chunks
	fittedLarge = 128 // and its largest

	fittedHosts = 32 // DoublingNs and SharingNs: the column of so many machines
	fittedFew   = 1  // with the fewest processes
	fittedMany  = 16 // and the most
)

func fittedLatency(chunk int, load float64) bool {
	return (chunk == fittedSmall || chunk == fittedLarge) && same(load, fittedLoad)
}

func fittedRate(hosts, procs int) bool {
	return hosts == fittedHosts && (procs == fittedFew || procs == fittedMany)
}

func same(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// paperPoint is a cell of the left half of OP Table 1, nil if there is none.
func paperPoint(chunk int, load float64) *bench.PaperPoint {
	for _, p := range bench.PaperPoints() {
		if p.Chunk == chunk && same(p.Load, load) {
			return &p
		}
	}
	return nil
}

// paperRate is a cell of the right half, nil if there is none.
func paperRate(hosts, procs int) *bench.PaperRate {
	for _, p := range bench.PaperRates() {
		if p.Machines == hosts && p.Procs == procs {
			return &p
		}
	}
	return nil
}
