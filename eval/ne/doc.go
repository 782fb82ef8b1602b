// Package ne has the experiments of Szepesi, Wong, Cassell, Brecht: Designing A Low-Latency Cuckoo
// Hash Table for Write-Intensive Workloads Using RDMA, 2014 ("NE", Nessie), on package kv, and the
// map beside a Redis server and an xsync.Map.
//
//	figure1   NE Fig. 1: latencies of operations between two hosts, and of TCP
//	table1    NE Table 1: round trips by load, also of the paper's own protocol (package nessie)
//	simulate  latencies of both on a simulated cluster, as NE 4 computes them
//	faults    acknowledged writes that the paper's protocol loses, with clients that are killed
//	ycsb      the core workloads of YCSB, beside the protocol of the paper and Redis
//	xsync     reads and writes of goroutines, beside an xsync.Map
//	grow      puts into a map that grows, beside an xsync.Map
package ne

import "github.com/farhash/farhash/eval/internal/experiment"

// Experiments are the experiments of this package.
func Experiments() []*experiment.Experiment {
	return []*experiment.Experiment{Figure1(), Table1(), Simulate(), Faults(), YCSB(), Xsync(),
		Grow()}
}
