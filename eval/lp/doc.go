// Package lp has the experiments of Wang, Yang, Kimura, Swart, Blanas: Efficient Usage of
// One-Sided RDMA for Linear Probing, ADMS 2020 ("LP"), on package index and on LP's own tables,
// package baseline.
//
//	table1    LP Table 1, Fig. 7, 8: requests, bytes, throughput, bandwidth by load and policy
//	table2    LP Table 2: throughput with the read size for another load
//	table3    LP Tables 3 and 4, Fig. 11: records by size, inline and in a heap
//	hybrid    LP 7: records of two sizes, inline, in a heap, and hybrid
//	two-sided LP 7: two-sided linear probing beside one-sided cuckoo hashing, by load
//	reads     LP 5.1: throughput by reads of a worker in flight
//	figure6   LP Fig. 6: cuckoo hashing by slots of a bucket, parallel and sequential
//	figure9   LP Fig. 9: latency of lookups one at a time
//	figure10  LP Fig. 10: throughput and predicted cost by read size
//	figure12  LP Fig. 12: records found of skewed keys, with and without clusters
//	figure13  LP Fig. 13: read sizes near a cluster, computed
//	cost      cost of a lookup by read size at any load, as in Fig. 10b, computed
//	index     rates of building and lookups of the index on this machine
//	maps      lookups of an index beside two maps of one process, Go's and
//	          github.com/cockroachdb/swiss, and the limit of the memory
//
// Indexes are really built, and keys that are there, drawn evenly, are looked up in them. Every
// value that is found is compared with what was given to its key. What LP has as a curve alone
// is compared by what it says of it in words.
//
// # Counted, simulated, timed
//
// Requests and bytes are counted. Counts do not depend on the machine; each round has other
// keys, as LP 5.1 has 10 tables. "law" is what package readsize expects of tables without bounds.
//
// In simulation (rma/sim) 28 workers of a client look keys up in the table of a server, each with
// 16 lookups in flight, with the parameters of LP 5.1:
//
//	c = 1290 ns        a read of no bytes, the processor's time included
//	alpha = 0.08 ns    a byte; the link has 12.5 GB/s
//	rho0 = 87.17 M/s   reads of no bytes
//	h = 30             bytes of a message beside its payload
//
// Time alone is simulated, so that every run is the same, and one is done. A card is busy with a
// message of b bytes for 1/rho0 + alpha*(h+b). No number is fitted, but LP Table 2 asks for two
// choices. The times add up: if the longer of them counted, as in rma/sim otherwise, 5 and
// 13 slots would cost the same, and short reads be 1.5 to 2 times too fast. And the header counts,
// although LP measures rho0 with one: reads of no bytes have 72 M/s here. Cards are the
// bottleneck, so that throughput is one over the requests and bytes of a lookup in these units.
// Simulated tables have 2 MiB of slots: few enough for seconds, and a tenth from the laws at load
// 0.95.
//
// On this machine ("here") lookups take the one-sided path, with the read sizes for LP's
// machine. A request costs the processor's time for it, and no network.
//
// # How near to LP
//
// These come out like this:
//
//	bandwidth of fixed reads      7.4 GB/s; LP 8 ("almost")
//	model by cuckoo, load 0.25    2.8; LP 2.8
//	Table 2                       errors of 3.5 % in the mean and 10.6 % at most; without the
//	                              header 13.2 and 28.3 %
//	Fig. 11, linear-model         33.5 and 7.8 inline, 24.2 and 19.6 with a heap; LP 36, 8,
//	                              23, 19; the heap is ahead from 32 bytes on in both
//	Fig. 12, clusters             at most 1.63 times the rate; LP 1.7
//
// and these do not:
//
//   - Short reads are still too fast: 56 million lookups a second at load 0.25, LP has 50.8. With
//     that, at load 0.5 reads of 7 slots are 6 % ahead of the 13 that LP's model picks (LP
//     Fig. 10 has them equal), and buckets of one slot 13 % ahead of four (LP: 3 %).
//   - Latencies. LP measures 2.9 us for one read, more than twice its own c, and 4.7 us for
//     three at once, so that in Fig. 9 ratios compare: at load 0.8 the 90th percentile is
//     two reads in both, but parallel cuckoo costs 1.1 reads where LP has 1.6. "figure9" fits two
//     times to these medians: 0.76 us for a lookup and 0.84 us for each posted read.
//   - LP's sequential cuckoo has the throughput of parallel, which means that it reads all
//     places, and 1.7 times its latency. With the fitted times reads of all places take 1.5 times
//     as long if the time of a lookup passes once, 1.8 times if it passes in each round. Two
//     reads, the mean of LP's random order, would take 1.1 and 1.2 times as long. Where it
//     ends with the record it needs 1.10 to 1.96 requests, by load, since the build fills the
//     earlier of the buckets of a key first; LP's model, which farhash-eval model prints, has
//     the mean of three places in random order, 2.0, at any load.
//   - Cuckoo with a heap needs 1.04 requests to the heap in Table 4, and LP has 1.08. Twelve
//     signatures of a byte agree by chance in 0.03 cases, and of random keys 0.015 more records
//     are there than keys.
//   - With 16 reads of a worker in flight in place of one the throughput is 2.7 times as high,
//     and LP has up to 4 times: one read takes LP 2.9 us and not its own c.
//
// # Building and lookups
//
// In "index" each rank builds from its part of the records, which are made while the clock runs.
// LP's tables are built by ranks that each make all records. Then each rank looks keys up, one at a
// time or in batches. A rate is of all ranks, by the time of the slowest.
package lp

import "github.com/farhash/farhash/eval/internal/experiment"

// Experiments are the experiments of this package.
func Experiments() (all []*experiment.Experiment) {
	for _, t := range trials() {
		all = append(all, t.experiment())
	}
	return append(all, twoSided(), gather(), figure13(), cost(), indexExperiment(),
		mapsExperiment())
}
