// Package index is a table of keys and values over the memory of all ranks that is built at once
// and then only read. A key may have any number of records, and a lookup finds all of them,
// nearly always by one request. It is for joins, and for lookups in tables made by other
// programs.
//
//	x, err := index.Build(ctx, job, index.Config{KeySize: 4, ValueSize: 4}, records)
//	for value, err := range x.Lookup(key) { ... }                 // all values of a key
//	value, ok, err := x.Get(key, nil)                             // one of them
//	err = x.LookupBatch(keys, func(i int, v index.Value) { ... }) // the fast way
//	err = x.Save(ctx, path)                                       // for Open
//
// Keys have one size of 4 to 4096 bytes, values one of 0 to 4096. Strings need no padding: with
// VariableKeys keys have any size up to KeySize, none included, and with Variable values have any
// up to ValueSize. The keys of a batch are then slices:
//
//	cfg := index.Config{KeySize: 40, VariableKeys: true, ValueSize: 8}
//	err = x.LookupKeys([][]byte{[]byte("ann"), []byte("bob")}, found)
//
// All keys are legal. Where some records are short and others long, Storage: Hybrid has more
// lookups a second than all records in the slots or all beside them: see Layout.
//
// # Guarantees
//
//   - A lookup finds every record of its key once, also where records are equal. They come in no
//     particular order.
//   - Nothing changes after Build, so a get is never torn, and no rank waits for another.
//   - Where memory of a rank is lost, lookups of its keys return an error, and lookups of other
//     keys their values. On engines whose memory outlives a rank nothing is lost.
//
// # Building
//
// Build is collective. Each rank gives a stream of records and reads it once. A build that fails
// is an error on all ranks: one rank says what is wrong, the others return a [rma.PeerError].
// Causes are: a record of the wrong size, an error of the stream, more than MaxCopies records of
// a key, a Load above [MaxLoad] or so low that there is no memory for the slots, too much memory,
// a key that marks empty slots not found. When a rank dies the others get a [rma.RankError].
//
// [Config.PeakBytes] estimates the memory that a build takes, and a build that would take more
// than MaxMemoryBytes is an error. With n records of b bytes on a rank (whole words) and a
// segment of s bytes it is about
//
//	n*b + chunks that are not full + max(s + sorting, inboxes)
//	      at most n*b, and 24 MiB        25 MiB at most
//
// Inboxes are longer only where the longest record has more than 8 MiB / ranks: then they take 3
// times that for each rank. With 10,000 ranks that is from 839 bytes on.
//
// where sorting takes 12 bytes for a record of the largest part, which is a 1024th unless a key
// has many records. The estimate does not include two more for keys with many records: counting
// them (MaxCopies) takes 8 bytes for each record of such a key, and marks around them (see below)
// about 2 bytes.
//
// # Lookups
//
// An Index looks up in the fastest way that the engine has: in memory that this process
// addresses, by batches that are shipped to the owners of the keys where messages cost much, as
// over TCP (Config.Access, package ship), and else by one-sided reads. [Index.NewReader] gives
// readers with other [Lookups], each with its own Stats, such as one that counts the reads of
// lookups.
//
// Batches are several times as fast as single lookups: they overlap the waits for memory and
// network. A single lookup allocates nothing (BenchmarkSingle). eval/docs/benchmarks.md
// has the rates, beside maps of one process.
//
// Over a network, requests and bytes of a lookup for a key that is there, 8-byte slots, as
// counted, and ns by the cost model of LP 3.2 (TestTargets, TestLaw):
//
//	load                  0.5           0.8           0.9            0.95
//	guided            1.00  58 1295 1.00 113 1299 1.00  161 1303  1.00  187  1305
//	without guides    1.00  64 1296 1.00 136 1303 1.00  248 1313  1.01  434  1331
//
// and for keys that follow a law of Zipf, evenly drawn, at load 0.8, guided (TestSkew):
//
//	exponent           0.5          0.75          0.9
//	             1.04   145   1.09    158   1.08    148
//
// # Files
//
// [Index.Save] writes the table as it is in memory. There are two ways to read it, both with any
// number of ranks:
//
//   - [Open] maps it into memory, to be read only. Its time does not grow with the file, and
//     all jobs of a host share the one copy that the system keeps of the file. Lookups go to
//     that memory directly. A rank needs none of its own, and no other rank.
//   - [Load] builds an index of its records, with any load and storage.
//
// The file keeps Config.Note, a text of the program.
//
// Opening verifies the size of the file and a header with a checksum, and so finds what is
// truncated or foreign. Blocks of 64 KiB have checksums, of which the header has a digest: Load
// verifies them before it uses a record, Open leaves that to [Index.CheckAll]. In a file that is
// damaged and was not checked, lookups may give wrong values, or an error; they never read
// outside of the file. Save replaces a file and never writes into one, so a mapped file does not
// change.
//
// A file that is truncated while it is mapped, and a page that cannot be read any more, are
// errors. A lookup that ends without one has read what was saved: the last word of the file,
// which a truncation removes first, is verified at the end of each call (save.go). The values of
// a key are copied before Lookup passes them on; values that a batch gives before it ends with an
// error may be wrong.
//
// # Layout
//
// The table is linear probing (Wang, Yang, Kimura, Swart, Blanas: Efficient Usage of One-Sided
// RDMA for Linear Probing, ADMS 2020; "LP") with records in the order of their homes (Robin
// Hood). The tables of LP itself are in eval/lp/baseline.
//
// The high part of a key's hash names the rank, and the rest a home there. Each rank has a table
// of its own: a search never leaves it. A segment has whole words:
//
//	rank r   | slots | heap | borders |
//	Inline   | key value | key value | ...              packed, without gaps
//	Heap     | signature | displacement | offset | ...  to | key value |    in words of the heap
//	Hybrid   | signature | displacement | sizes | key value, or an offset into the heap | ...
//
// A search ends at the first record whose home is after the key's, or at an empty slot. In a heap
// the displacement, slot less home, gives the home; 255 is 255 or more, and then the search
// continues. Nothing wraps around: after the homes of a rank come as many slots as the last run
// needs there, the same number on all ranks.
//
// An empty slot of an inline table has a key that no record has. The build chooses it among 65536
// keys. So slots need no byte to say that they are taken. In a heap an empty slot has signature
// 0. Where keys and values have one size, Auto keeps records of up to 32 bytes inline (LP 5.7), and
// others in the heap. Offsets count words, so that 4 bytes reach 32 GiB a rank. A record in the
// heap begins with the sizes of its key and its value, two bytes for each that varies.
//
// A hybrid table is one with a heap whose slots have room for a short record. The build decides
// what is short, for the most lookups a second on LP's machine (LP 5.7, 7): each byte more in the
// slots is a byte more for each slot that a lookup reads, and each record in the heap a message
// more. The longest record in a slot has 4 to 64 bytes, mostly as many as the most frequent short
// one. Config.InlineBytes decides otherwise: where a second round trip matters more than
// throughput, longer records belong in the slots. All else is as with a heap. In memory that is
// addressable a heap is faster: its slots are compared eight at once.
//
// Borders say for every 32nd home where its records begin: a byte each, the displacement. A mark
// says so in 16 bytes. There is one where a byte is too small, and one before and after a home
// with 64 records or more. So a search knows between which slots its records are: borders and
// marks guide it. A table is only read, so they are always right.
//
// # How a table is built
//
//  1. Records go to their owners, in blocks, by puts into double inboxes, with one barrier a
//     round.
//  2. An owner keeps them divided into 1024 parts by their place.
//  3. When all have arrived, their number gives the number of slots. Each part is brought into
//     order by counting, in the processor's cache, and slots and heap are written from beginning to
//     end. No compare-and-swap is needed.
//
// # How a key is looked up
//
// The decision is one function: query.scan says what slots mean for a search (protocol.go). Three
// forms of a search call it or repeat it:
//
// A step machine over a queue (machine.go, LP Algorithm 1), of which a batch has many in flight.
// It reads the slots of its guide, with one request at any load. Package readsize says how many
// slots to read at once where a guide has many, or there is none: a reader keeps the guides of
// all ranks only up to Lookups.GuideBytes. Slots and all records in the heap whose signatures fit
// are asked for at once. Records of a key are next to each other in the heap, and come with one
// get for each KiB or two records (TestHeapRoundTrips).
//
// Loops over memory that is addressable (direct.go). A search examines the 32 slots from its home
// on. Where keys differ, nearly all records are there. Then it is guided (BenchmarkDirect). A
// batch asks for the memory of the next block of keys before it searches for the keys of this one,
// and examines the records in the heap that it has asked for a block before.
//
// With a heap, signatures and displacements of the eight slots from the home on are compared
// without a branch for each (kernel_heap.go). What fits has the home of the key and its signature:
// of keys that are not there, one in 300 needs the heap.
//
// Where keys and values have 4 or 8 bytes each and no key has two records, which the build finds
// out, eight slots are compared without a branch for each (kernel.go), and a batch has the memory
// of 16 keys on its way.
//
// A rank that gets a shipped batch searches in its own memory (batch.go). A key with more values
// than its part of the answer has room for is looked up one-sided after all.
package index
