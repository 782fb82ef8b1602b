// Package bench measures find-or-put: how fast a set takes words on this machine,
// beside what Go programs use otherwise and beside what the memory allows. It is
// the command farhash bench set. Table1 measures OP Table 1, and CacheBench the cache of
// values with the workloads of MPI-DHT: farhash bench cache. KVBench measures the map with the
// workloads of YCSB, KVCounts its round trips beside NE Table 1: farhash bench kv.
// IndexBench measures lookups in an index, and IndexCounts, IndexRates and IndexHints do the
// experiments of LP: farhash bench index. NetBench measures what reaches from one host to
// another: farhash bench net.
//
// # What is measured
//
// A sample is one implementation doing one workload once, on all ranks:
//
//  1. An empty table is made and every page of it is touched, so that no page
//     faults while the clock runs. It is filled to the load where the workload
//     begins.
//  2. The words of the workload are generated into memory, at most 16 Mi of them
//     at a time. Generation is not timed.
//  3. The ranks meet at a barrier; each times its own operations on these words.
//     2 and 3 repeat until the workload is done.
//  4. The rate is the operations of all ranks divided by the time of the slowest.
//  5. The table is asked how many words were inserted. Another number than that of
//     the workload is an error. Since a find that does not find inserts, the number
//     of finds that found is verified as well.
//
// Samples are interleaved: A, B, C, A, B, C, so that a slow spell of the machine
// does not strike one implementation alone. Results are medians of the rounds with
// the least and the largest; a ratio is that of two medians.
//
// # Workloads
//
// fill inserts distinct words. The others are those of Oortwijn, van Dijk, van de
// Pol: A Distributed Hash Table for Shared Memory, PPAM 2015 ("OP" below), section
// 4.2: mixed has 50% finds and 50% inserts, read 80% and 20%, write 20% and 80%, in
// random order. A find asks for a word that the same rank has inserted, chosen
// evenly among them. All raise the load of the table from one value to another by
// their inserts. find does nothing but find, as often as words are inserted: the
// load rises in at least 16 steps, while no clock runs, and after each comes its
// part of the finds. The words of a rank are random ones of 63 bits or a sequence.
//
// # Implementations
//
//   - scalar is set.Set.FindOrPut, one word at a time.
//   - cas-loop is what scalar would be with nothing around it: a bare loop of loads
//     and compare-and-swaps over memory of the same kind and size, inlined, without
//     checks, counters and answers. It has the hash of the set and examines the same
//     buckets. Ratios to it are called RatioToCAS; one divided by that of scalar is
//     what FindOrPut costs in its units.
//   - batch is set.Set.FindOrPutBatch with the kernel that the set prefers;
//     batch-avx512, batch-avx2 and batch-portable force one.
//   - syncmap is sync.Map, xsync is github.com/puzpuzpuz/xsync/v4, sharded is 256 Go
//     maps with a mutex each; the last two have room for all words from the start.
//     They need several times the memory of a set, and so they do the workload
//     on a smaller table: the one that holds 4 Mi words at the end, unless told
//     otherwise. That favours them. The ranks must be goroutines of one process.
//   - limit is what the memory allows: for each insert a compare-and-swap of a
//     random word of a table of the same size, for each find a read, every line
//     prefetched 48 operations before. It does not search, so nothing that keeps
//     the words can be much faster. limit-reads has reads only.
//
// # Elements
//
// With Config.ElementBytes the same workloads run on a set.Elements: scalar is
// FindOrPut and batch is FindOrPutBatch. An element begins with a word; what follows
// are bytes that derive from it, of a sequence zeros. The arenas have room for what
// the workload inserts and are touched as the buckets are. The peers have arrays of
// 16, 32 or 64 bytes as keys, for other lengths strings, which are made while no
// clock runs. There is neither a cas-loop nor a limit: what an element costs beyond
// its bucket depends on its length and on where it is copied, so that no bare loop
// bounds it. Ratios to them are null.
//
// # Table 1
//
// [Table1] measures OP Table 1 and Fig. 2: average latency of single operations and
// round trips, while distinct words are inserted up to a load of 0.92, over
// intervals of 0.02. Words take the one-sided path, where chunks of C buckets come
// by get; homes are at any bucket, as in the paper. Round trips are counted by the
// set. The paper's ranks were two machines with an Infiniband network between them,
// here all is memory of one host: round trips compare, latencies show what the
// protocol itself costs.
//
// # The map and Redis
//
// [KVBench] measures the map with the workloads of YCSB (Cooper et al.: Benchmarking Cloud
// Serving Systems with YCSB, SoCC 2010) in turns with a Redis server, if one is given or to
// be started. The server does the same operations: Get is GET and Put is SET, a batch is a
// pipeline, and in workload F a pipeline of reads ends before that of writes begins. Each
// rank has one connection. What is read is verified in the same way. The client writes the
// protocol itself: beside github.com/redis/go-redis its rate is a third higher, at the same
// CPU time of the server for an operation.
//
// The ratio to Redis is one of cores. With the map a core is a rank, which does everything
// itself. With Redis it is a second of the server's CPU time, as the server tells it: what
// the clients spend, on cores of their own, is not counted, nor is time in which the server
// waits for them. Both are rates with values of the same length in the memory of one host.
// The best of Redis is that of its batches with the highest median.
//
// Latencies are kept in histograms of two digits (HdrHistogram), up to a minute, separately
// for reads and writes. The clock is read once a call.
//
// # The experiments of LP
//
// Wang, Yang, Kimura, Swart, Blanas: Efficient Usage of One-Sided RDMA for Linear Probing,
// ADMS 2020 ("LP"), on indexes that are really built. Each result stands beside what LP
// prints. Where LP has a curve without numbers there is what it says of it in words: the
// findings, simulated and here.
//
//	Table 1, 3, 4  IndexCounts  requests, bytes and read sizes, counted; the laws of readsize
//	Table 2        IndexRates   read sizes for another load than that of the table
//	Fig. 6         IndexRates   cuckoo hashing: slots of a bucket, parallel and sequential
//	Fig. 7, 8      IndexRates   throughput and bandwidth by load and policy
//	Fig. 9         IndexRates   latencies of lookups one at a time
//	Fig. 10        IndexRates   throughput and predicted cost by read size
//	Fig. 11        IndexRates   throughput by record size, inline and in a heap
//	Fig. 12        IndexRates   records found of skewed keys, with and without clusters
//	Fig. 13        IndexHints   read sizes near a cluster, computed
//
// IndexRates does everything twice. On this machine lookups take the one-sided path, with
// the read sizes for LP's machine; what a request costs here is the processor's time for it,
// and no network. In simulation (rma/sim) 28 workers of a client look keys up in the
// table of a server, each with 16 lookups in flight, with the parameters of LP 5.1:
//
//	c = 1290 ns        a read of no bytes, the processor's time included
//	alpha = 0.08 ns    a byte; the link has 12.5 GB/s
//	rho0 = 87.17 M/s   reads of no bytes
//
// A card is busy with a message of b bytes for 1/rho0 + alpha*b. No number is fitted, but
// that the two add up is a choice which LP Table 2 asks for: if the longer of them counted,
// as in rma/sim otherwise, 5 and 13 slots would cost the same, and short reads be 1.5 to 2 times
// too fast. Cards are the bottleneck of all throughput, which so is one over the requests
// and bytes of a lookup in these units. LP's numbers come out like this:
//
//	bandwidth of fixed reads      8.0 GB/s; LP 8 ("almost")
//	model by cuckoo, load 0.25    2.7; LP 2.8
//	Table 2                       3 to 28 % more than LP, the more the shorter reads are
//	Fig. 11, linear/model         36.4 and 8.0 inline, 27.3 and 21.6 with a heap; LP 36, 8,
//	                              23, 19; the heap is ahead from 32 bytes on in both
//	Fig. 12, clusters             at most 1.55 times the rate; LP 1.7
//
// and these do not:
//
//   - Short reads are too fast: 65 million lookups a second at load 0.25, LP has 50.8. With
//     that, at load 0.5 reads of 7 slots are 9 % ahead of the 13 that LP's model picks (LP
//     Fig. 10 has them equal), and buckets of one slot 14 % ahead of four (LP: 3 %).
//   - Latencies. LP measures 2.9 us for one read, more than twice its own c, and 4.7 us for
//     three at once, so that in Fig. 9 ratios compare: at load 0.8 the 90th percentile is
//     two reads in both, but parallel cuckoo costs 1.1 reads where LP has 1.6.
//   - LP's sequential cuckoo has the throughput of parallel, which means that it reads all
//     places, and 1.7 times its latency, which means that it does not. Both are here.
//
// Simulated tables have 2 MiB of slots: few enough for seconds, and a tenth from the laws at
// load 0.95.
//
// # The map
//
// [KV] has the workloads of YCSB with Zipf 0.99, beside a Redis server if it is given one. A
// rank is then a client of the server, and a batch a pipeline. Redis is one core: what is
// compared is what a rank does in a second with what Redis does in a second of its server's
// CPU time, that of its clients left out. Streams, values and verification are the same.
//
// [KVCounts] counts round trips by load beside NE Table 1, and those of the paper's own protocol,
// with and without its transactions: see kv.CountPaper. NE's figures leave out the server, and
// from load .5 on many puts need it; what is counted leaves these puts out.
//
// # Between hosts
//
// [NetBench] has the ranks of one host work on memory of another, and then all ranks on memory
// of the hosts that they are not on, over the same link in turns:
//
//   - raw is gets by a loop in C around UCX, in the process of the rank but with a worker and
//     connections of its own, while the engine is at rest: see package rawucx.
//   - engine is gets by a queue of the engine, which keeps an order, tells of lost ranks and
//     shares its worker with other goroutines.
//   - one-sided is batches of find-or-put of a set whose gets and compare-and-swaps cross the
//     link, as many operations under way as there are gets.
//   - shipped is the same on a set whose batches travel to the owners.
//   - redis is a Redis server beside each rank, so that as many processes answer as with
//     shipped. Clients divide the words among the servers by the hash of the set, and send each
//     its part of a batch as a pipeline of SADD of 8 bytes, all parts before any answer is read.
//
// Half of the words of a batch are new, the others were there before, chosen evenly among those
// of this client. Each measurement has a table of its own, with a few thousand words in it
// before the clock runs. Every answer is checked.
//
// One-sided compares with raw by messages: a word takes a get, of 64 bytes while the table is
// hardly full, and a new one a compare-and-swap as well, which is dearer than a get. One at a
// time, find-or-put of a word that is there takes one get, and compares with that.
//
// On one machine the hosts share its processors: with two cores and two ranks on each host
// client and server slow each other down, those of Redis too.
//
// # Use
//
//	b, err := bench.New(bench.Config{Buckets: 1 << 24, To: 0.5})
//	for range 3 {
//		err = farhash.Run(ctx, 2, func(job rma.Job) error { return b.Round(ctx, job) })
//	}
//	err = b.Report("my benchmark").WriteText(os.Stdout)
package bench
