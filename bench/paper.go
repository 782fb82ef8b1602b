package bench

import "slices"

// PaperPoint is a printed measurement of OP Table 1, the left half: two processes
// on two machines with an Infiniband network between them.
type PaperPoint struct {
	Load         float64
	Chunk        int     // C, buckets
	Microseconds float64 // average latency of find-or-put
	RoundTrips   float64 // on average
}

// paperPoints are the rows of OP Table 1.
var paperPoints = []PaperPoint{
	{0.5, 8, 3.69, 1.0}, {0.5, 16, 3.71, 1.0}, {0.5, 32, 3.99, 1.0},
	{0.5, 64, 4.17, 1.0}, {0.5, 128, 4.50, 1.0},
	{0.6, 8, 3.74, 1.1}, {0.6, 16, 3.72, 1.0}, {0.6, 32, 4.00, 1.0},
	{0.6, 64, 4.18, 1.0}, {0.6, 128, 4.50, 1.0},
	{0.7, 8, 3.90, 1.3}, {0.7, 16, 3.78, 1.1}, {0.7, 32, 4.00, 1.0},
	{0.7, 64, 4.18, 1.0}, {0.7, 128, 4.51, 1.0},
	{0.8, 8, 4.50, 2.1}, {0.8, 16, 4.00, 1.4}, {0.8, 32, 4.09, 1.1},
	{0.8, 64, 4.20, 1.0}, {0.8, 128, 4.52, 1.0},
	{0.9, 8, 7.70, 5.7}, {0.9, 16, 5.64, 3.2}, {0.9, 32, 4.92, 2.0},
	{0.9, 64, 4.54, 1.4}, {0.9, 128, 4.66, 1.1},
}

// paperPoint is the printed measurement for a load and chunk, nil if there is none.
func paperPoint(load float64, chunk int) *PaperPoint {
	for i := range paperPoints {
		if p := &paperPoints[i]; p.Chunk == chunk && sameLoad(p.Load, load) {
			return p
		}
	}
	return nil
}

func sameLoad(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

// PaperPoints are the rows of OP Table 1, the left half.
func PaperPoints() []PaperPoint { return slices.Clone(paperPoints) }

// PaperRate is a printed measurement of OP Table 1, the right half: the mixed workload
// with C = 32.
type PaperRate struct {
	Machines int
	Procs    int     // processes on each
	Mops     float64 // millions of operations per second, all together
}

// paperRates are the columns of OP Table 1, the right half.
var paperRates = []PaperRate{
	{1, 1, 189.46}, {1, 2, 326.36}, {1, 4, 709.52}, {1, 8, 898.34},
	{2, 1, 1.28}, {2, 2, 2.21}, {2, 4, 3.83}, {2, 8, 6.18}, {2, 16, 10.17},
	{32, 1, 8.51}, {32, 2, 16.09}, {32, 4, 28.76}, {32, 8, 49.41}, {32, 16, 81.55},
	{48, 1, 11.73}, {48, 2, 22.05}, {48, 4, 37.82}, {48, 8, 63.36}, {48, 16, 114.85},
}

// PaperRates are the columns of OP Table 1, the right half.
func PaperRates() []PaperRate { return slices.Clone(paperRates) }
