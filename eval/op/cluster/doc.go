// Package cluster predicts what the set would do on clusters that are not at hand. It runs the
// set itself, every request of every rank, on the simulated network of rma/sim in virtual
// time. farhash-eval op simulate and simulated-table1 show it.
//
// # What is measured
//
// [Throughput]: all ranks of a number of hosts do a workload, as OP 4.2 does (Oortwijn, van
// Dijk, van de Pol: A Distributed Hash Table for Shared Memory, PPAM 2015; "OP" below). A
// quarter as many operations come first, so that the ranks do not run in step. Then the time
// is taken until all ranks together have done as many operations as requested. No rank is
// idle before.
//
// [Latencies]: one rank inserts one word after the other into the memory of another host,
// while the load rises, as OP 4.1 does. In OP half of the memory was the inserting process's
// own, and OP does not say how its operations count. If half of the latencies were for
// own memory, the others would be 7 us and more, but the throughput of two machines gives
// 3 us. So all latencies are taken as for remote memory.
//
// Another set, in a job of one rank, fills the tables beforehand. It works on the same memory
// directly, which takes no virtual time and a tenth of a microsecond of real time for a word.
// Words are random, distinct, and the same for a seed.
//
// # The size of a table does not matter
//
// The load alone decides how long a search is in linear probing, once the table is long beside
// the runs of occupied buckets, and no cost depends on an address. So ranks have some thousand
// buckets each instead of OP's 2^27. They have at least 64 chunks, so that among 64 gets one is
// split where the memory of a rank ends, and so many that the inserts of a run raise the load
// by 0.02 at most, the interval of OP 4.1. Latencies are taken in a table of 2^22 buckets: at
// load 0.9 a smaller one deviates more from the law.
//
// # The model
//
// A [Cluster] is a cost of rma/sim and three more parameters. The cost is the latency from host
// to host, the bandwidth and the rate of messages of a card, which all ranks of a host share,
// and the processor's time for what is posted, submitted and taken. The parameters are:
//
//   - WordNs: a rank takes the words of each get from the network one by one, also the words of a
//     chunk that was requested early and not needed.
//   - DoublingNs: the latency grows by the logarithm of the number of hosts, as the tiers of a
//     network do.
//   - SharingNs: the latency grows with each further rank of a host.
//
// OP Table 1 needs the last two. Its operations take longer with 48 machines than with 32, and
// from the second process of a machine on. The queue in front of a card whose limit is the
// rate of 16 processes delays nobody up to 8 of them. With such a card and without the two
// parameters, either throughputs have errors of up to 50 percent, where the latency is fitted
// to OP's latencies, or latencies have them, where it is fitted to the throughput of many
// machines, as in the preset of rma/sim.
//
// # Calibration
//
// [DAS5] is OP's cluster. [Calibrate] fits four parameters to one cell of OP Table 1 each,
// in this order:
//
//	WordNs      latency at load 0.5, C=128 less C=8       2.74 ns
//	LatencyNs   latency at load 0.5, C=8                  836 ns
//	DoublingNs  throughput of 32 machines, 1 process      76 ns
//	SharingNs   throughput of 32 machines, 16 processes   54 ns
//
// OP gives the bandwidth. Times of the processor and of memory within a host are from
// rma/sim, and the rate of messages is an assumption that OP does not reach. The other cells
// are predicted, with seed 1. farhash-eval op simulated-table1 prints their errors, which
// eval/docs/papers.md has too.
//
// OP prints round trips with one decimal: no cell is off by more than that and the deviation
// of one table.
//
// # Where the model fails
//
//   - One machine. OP's 189 million operations a second of one process are 5 ns each, less
//     than one access to memory takes. The program cannot have waited for memory each time.
//     The model sends requests to the rank's own memory as well, and has no caches.
//     farhash-eval op set measures one machine.
//   - 4 and 8 processes on a machine: up to 19 percent too fast. A straight line through
//     1 and 16 processes is too simple for what they share: the library, its locks, memory,
//     the links between sockets.
//   - C=32 and 64: 3 to 6 percent too fast. OP's latency jumps by 0.28 us between gets of 128
//     and 256 bytes, perhaps where the library changes its protocol, and rises by a third of
//     that per byte afterwards. The model has a straight line.
//   - Load 0.9: up to 3 percent more of the same. The model has the time to take a bucket, but
//     not the time to examine it, and searches are 40 buckets long there.
//   - Many hosts. Nothing was measured beyond 48. That the latency grows by a logarithm is an
//     extrapolation. Congestion inside the network, connections that a card cannot cache, and
//     jitter that grows with the ranks are not modelled. For other presets not even the growth
//     is known: their figures are upper bounds.
//
// # Effort
//
// An operation takes 4 us of real time on one core, with ten thousands of ranks 20. A rank takes
// 16 KiB and its buckets. On two cores of an Intel Xeon (Sapphire Rapids, 2 GHz, virtual), with
// other work beside it, Table 1 took 13 s, 1,000 hosts with 16 ranks each 15 s and 0.5 GiB,
// 10,000 hosts with 4 ranks each 40 s and 1.3 GiB. The engine has room for 65,536 ranks.
package cluster
