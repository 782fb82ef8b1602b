// Package op has the experiments of Oortwijn, van Dijk, van de Pol: A Distributed Hash Table
// for Shared Memory, PPAM 2015 ("OP"), on package set, and what stands beside the set in Go
// programs.
//
//	table1    OP Table 1 and Fig. 2: latency and round trips of find-or-put by load
//	set       OP 4.2, Fig. 3: find-or-put by workload, beside other maps and the limit
//	simulate  OP Table 1, right half, and larger clusters: simulated throughput
//	schemes   OP 2.2 and 4.3: round trips of the hashing schemes that OP names (package schemes)
//
// # Table 1
//
// [Table1] measures average latency of single operations and round trips, while distinct words
// are inserted up to a load of 0.92, over intervals of 0.02. Words take the one-sided path,
// where chunks of C buckets come by get; homes are at any bucket, as in the paper. Round
// trips are counted by the set. The paper's ranks were two machines with an Infiniband network
// between them, here all is memory of one host: round trips compare, latencies show what the
// protocol itself costs.
//
// # Find-or-put by workload
//
// [Set] measures samples: one implementation doing one workload once, on all ranks.
//
//  1. An empty table is made and every page of it is touched, so that no page faults while the
//     clock runs. It is filled to the load where the workload begins.
//  2. The words of the workload are generated into memory, at most 16 Mi of them at a time.
//     Generation is not timed.
//  3. The ranks meet at a barrier; each times its own operations on these words. 2 and 3
//     repeat until the workload is done.
//  4. The rate is the operations of all ranks divided by the time of the slowest.
//  5. The number of words inserted is compared with the workload's. Since a find that does
//     not find inserts, the number of finds that found is verified as well.
//
// fill inserts distinct words. The others are the workloads of OP 4.2: mixed has 50% finds and 50%
// inserts, read 80% and 20%, write 20% and 80%, in random order. A find asks for a word that the
// same rank has inserted, chosen evenly among them. find does nothing but find, as often as
// words are inserted: the load rises in at least 16 steps, while no clock runs, and after each
// comes its part of the finds.
//
//   - scalar is set.Set.FindOrPut, one word at a time.
//   - cas-loop is a bare loop of loads and compare-and-swaps, without checks, counters and
//     answers, that examines the same buckets as a set.
//   - batch is set.Set.FindOrPutBatch with the kernel that the set prefers; batch-avx512,
//     batch-avx2 and batch-portable force one.
//   - syncmap is sync.Map, xsync is github.com/puzpuzpuz/xsync/v4, sharded is 256 Go maps with
//     a mutex each; the last two have room for all words from the start. gomap is a Go map with
//     room, for one rank alone.
//   - limit is what the memory allows: for each insert a compare-and-swap of a random word of a
//     table of the same size, for each find a read, every line prefetched in the fastest of some
//     ways, which are tried out first (package internal/limit of the module above). limit-reads has
//     reads only.
//
// With elements an element begins with a word; what follows are bytes that derive from it, of a
// sequence zeros. The peers have arrays of 16, 32 or 64 bytes as keys, for other lengths strings.
// With --strings the set takes elements of any length. There is no cas-loop, and the limit is of
// buckets alone: what an element costs beyond its bucket depends on its length and on where it is
// copied.
package op

import "github.com/farhash/farhash/eval/internal/experiment"

// Experiments are the experiments of this package.
func Experiments() []*experiment.Experiment {
	return []*experiment.Experiment{Table1(), Set(), Simulate(), SimulatedTable1(),
		Schemes()}
}
