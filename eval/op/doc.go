// Package op has the experiments of Oortwijn, van Dijk, van de Pol: A Distributed Hash Table
// for Shared Memory, PPAM 2015 ("OP"), on package set, and what stands beside the set in Go
// programs.
//
//	table1    OP Table 1 and Fig. 2: latency and round trips of find-or-put by load
//	set       OP 4.2, Fig. 3: find-or-put by workload, beside other maps and the limit
//	simulate  OP Table 1, right half, and larger clusters: simulated throughput
//
// # Table 1
//
// [Table1] measures average latency of single operations and round trips, while distinct words
// are inserted up to a load of 0.92, over intervals of 0.02. Words take the one-sided path,
// where chunks of C buckets come by get; homes are at any bucket, as in the paper. Round
// trips are counted by the set. The paper's ranks were two machines with an Infiniband network
// between them, here all is memory of one host: round trips compare, latencies show what the
// protocol itself costs.
package op

import "github.com/farhash/farhash/eval/internal/experiment"

// Experiments are those of this package.
func Experiments() []*experiment.Experiment {
	return []*experiment.Experiment{Table1()}
}
