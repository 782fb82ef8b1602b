// Package index is a table of keys and values over the memory of all ranks that is built at once
// and then only read. A key may have any number of records, and a lookup finds all of them, nearly
// always by one request. It is for joins, and for lookups in tables made by other programs.
//
//	x, err := index.Build(ctx, job, index.Config{KeySize: 4, ValueSize: 4}, records)
//	for value, err := range x.Lookup(key) { ... }                 // all values of a key
//	value, ok, err := x.Get(key, nil)                             // one of them
//	err = x.LookupBatch(keys, func(i int, v index.Value) { ... }) // the fast way
//	err = x.Save(ctx, path)                                       // for Open
//
// Keys and values have fixed sizes, or any size up to a limit. The keys of a batch are then
// slices:
//
//	cfg := index.Config{KeySize: 40, VariableKeys: true, ValueSize: 8}
//	err = x.LookupKeys([][]byte{[]byte("ann"), []byte("bob")}, found)
//
// If some records are short and others long, Storage: Hybrid has more lookups a second through a
// queue than records that are all in the slots or all beside them.
//
// [Build] is collective. Each rank gives a stream of records and reads it once. If a build fails,
// all ranks get an error: one says what is wrong, the others return a [rma.PeerError], or a
// [rma.RankError] if a rank has died.
//
// An Index looks up in the fastest way that the engine has: in memory that this process addresses,
// by batches that are shipped to the owners of the keys ([Config].Access, [rma.Access]), or by
// one-sided reads. [Index.NewReader] gives readers with other [Lookups], each with its own Stats.
// Batches are several times as fast as single lookups: they overlap the waits for memory and
// network. eval/docs/benchmarks.md has the rates.
//
// # Files
//
// [Index.Save] writes the table as it is in memory. There are two ways to read it, both with any
// number of ranks:
//
//   - [Open] maps it into memory, to be read only. Its time does not grow with the file, and all
//     jobs of a host share one copy. A rank needs no memory of its own, and no other rank.
//   - [Load] builds an index of its records, with any load and storage.
//
// Open verifies a checksum of the header, and the size of the file. Load and [Index.CheckAll]
// verify the checksums of the records too. In a file that is damaged and was not checked, lookups
// may give wrong values, or an error; they never read outside of the file. Save replaces a file
// and never writes into one, so a mapped file does not change.
//
// # Guarantees
//
//   - A lookup finds every record of its key once, also if records are equal. They come in no
//     particular order.
//   - Nothing changes after Build, so a get is never torn, and no rank waits for another.
//   - If memory of a rank is lost, lookups of its keys return an error, and lookups of other keys
//     their values. On engines whose memory outlives a rank nothing is lost.
//   - A file that is truncated while it is mapped, and a page that cannot be read any more, are
//     errors. Values that a batch gives before it ends with an error may be wrong.
//
// # Limits
//
// Keys have 4 to 4096 bytes, or 0 to 4096 with VariableKeys, and values 0 to 4096. All keys are
// legal. A build that would take more than MaxMemoryBytes on a rank is an error, and so are a Load
// above [MaxLoad], and more than MaxCopies records of a key. [Config.PeakBytes] estimates what a
// build takes: a little more than the records of the rank and its finished segment.
//
// # Paper
//
// Wang, Yang, Kimura, Swart, Blanas: Efficient Usage of One-Sided RDMA for Linear Probing, ADMS
// 2020 ("LP" in the code). DESIGN.md describes the layout, how a table is built, and how a key is
// looked up. The tables of LP itself are in eval/lp/baseline.
package index
