package op

import (
	"slices"

	"github.com/farhash/farhash/eval/internal/record"
)

// table1Chunks are the C of OP Table 1.
var table1Chunks = []int{8, 16, 32, 64, 128}

// table1Loads are its rows.
var table1Loads = []string{"0.5", "0.6", "0.7", "0.8", "0.9"}

// printed is a cell of OP Table 1, the left half: two processes on two machines with an
// Infiniband network between them.
type printed struct{ microseconds, roundTrips float64 }

// printedCells are the rows of OP Table 1, by table1Loads and table1Chunks.
var printedCells = [][]printed{
	{{3.69, 1.0}, {3.71, 1.0}, {3.99, 1.0}, {4.17, 1.0}, {4.50, 1.0}},
	{{3.74, 1.1}, {3.72, 1.0}, {4.00, 1.0}, {4.18, 1.0}, {4.50, 1.0}},
	{{3.90, 1.3}, {3.78, 1.1}, {4.00, 1.0}, {4.18, 1.0}, {4.51, 1.0}},
	{{4.50, 2.1}, {4.00, 1.4}, {4.09, 1.1}, {4.20, 1.0}, {4.52, 1.0}},
	{{7.70, 5.7}, {5.64, 3.2}, {4.92, 2.0}, {4.54, 1.4}, {4.66, 1.1}},
}

// printedTable1 is the cell for a load and a chunk.
func printedTable1(load string, chunk int) (p printed, ok bool) {
	row, column := slices.Index(table1Loads, load), slices.Index(table1Chunks, chunk)
	if row < 0 || column < 0 {
		return printed{}, false
	}
	return printedCells[row][column], true
}

// rate is a column of OP Table 1, the right half: the mixed workload with C = 32.
type rate struct {
	machines, processes int // processes on each machine
	mops                float64
}

var printedMops = []rate{
	{1, 1, 189.46}, {1, 2, 326.36}, {1, 4, 709.52}, {1, 8, 898.34},
	{2, 1, 1.28}, {2, 2, 2.21}, {2, 4, 3.83}, {2, 8, 6.18}, {2, 16, 10.17},
	{32, 1, 8.51}, {32, 2, 16.09}, {32, 4, 28.76}, {32, 8, 49.41}, {32, 16, 81.55},
	{48, 1, 11.73}, {48, 2, 22.05}, {48, 4, 37.82}, {48, 8, 63.36}, {48, 16, 114.85},
}

// printedRates are the rate of so many processes and its ratio to the rate of one.
func printedRates(machines, processes int) []record.Value {
	one := 0.0
	for _, p := range printedMops {
		if p.machines == machines && p.processes == 1 {
			one = p.mops
		}
		if p.machines == machines && p.processes == processes {
			return []record.Value{{Value: p.mops, Unit: "op-Mop/s"},
				{Value: p.mops / one, Unit: "op-speedup"}}
		}
	}
	return nil
}
