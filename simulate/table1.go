package simulate

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/bench"
)

// table1Chunks is the M of OP 4.2.
const table1Chunks = 32

// table1Size is how much is done for a table 1.
type table1Size struct {
	buckets    uint64 // of the table for latencies
	operations int    // for each latency
	rates      int    // operations of all ranks for each throughput
}

// table1Loads are those of OP Table 1 and some between for the plot.
var table1Loads = []float64{0.1, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.92}

// Table1 simulates OP Table 1 on a cluster: latency and round trips by chunk size and
// load, then throughput by machines and processes. When it fails or ctx ends, the report
// has what was simulated so far.
func Table1(ctx context.Context, command string, c Cluster, seed uint64,
	progress Progress) (*Report, error) {
	return table1(ctx, command, c, seed, progress, table1Size{
		buckets: DefaultLatencyBuckets, operations: 20_000, rates: DefaultOperations})
}

func table1(ctx context.Context, command string, c Cluster, seed uint64, progress Progress,
	size table1Size) (*Report, error) {
	r, err := NewReport(command, Config{Cluster: c, Chunks: table1Chunks, Seed: seed,
		total: size.rates})
	if err != nil {
		return nil, err
	}
	r.table1 = true
	defer r.sumUp()
	for _, chunk := range bench.Table1Chunks() {
		what := fmt.Sprintf("latency with C=%d", chunk)
		progress.tell(what, 0, 1)
		all, err := Latencies(ctx, LatencyConfig{Cluster: c, Chunk: chunk, Loads: table1Loads,
			Operations: size.operations, Buckets: size.buckets, Seed: seed})
		if err != nil {
			return r, err
		}
		for _, l := range all {
			r.addLatency(l)
		}
		progress.tell(what, 1, 1)
	}
	for _, p := range bench.PaperRates() {
		if err := r.Simulate(ctx, p.Machines, p.Procs, progress); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Progress is told what is being simulated and how much of it is done, if not nil.
type Progress func(what string, done, of int)

func (p Progress) tell(what string, done, of int) {
	if p != nil {
		p(what, done, of)
	}
}
