// Package bench measures find-or-put: how fast a set takes words on this machine,
// beside what Go programs use otherwise and beside what the memory allows. It is
// the command farhash bench set. Table1 measures OP Table 1, and CacheBench the cache of
// values with the workloads of MPI-DHT: farhash bench cache. KVBench measures the map with the
// workloads of YCSB, KVCounts its round trips beside NE Table 1: farhash bench kv.
// IndexBench measures lookups in an index, IndexCounts the tables of LP: farhash bench index.
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
// # Use
//
//	b, err := bench.New(bench.Config{Buckets: 1 << 24, To: 0.5})
//	for range 3 {
//		err = farhash.Run(ctx, 2, func(job rma.Job) error { return b.Round(ctx, job) })
//	}
//	err = b.Report("my benchmark").WriteText(os.Stdout)
package bench
