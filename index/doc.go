// Package index is a table of keys and values over the memory of all ranks that is built at
// once and then only read (Wang, Yang, Kimura, Swart, Blanas: Efficient Usage of One-Sided
// RDMA for Linear Probing, ADMS 2020; "LP" below). A key may have any number of records, and
// a lookup finds all of them. It is for joins, and for lookups in tables made by other programs.
//
//	x, err := index.Build(ctx, job, index.Config{KeySize: 4, ValueSize: 4}, records)
//	for value, err := range x.Lookup(key) { ... }
//	err = x.LookupBatch(keys, func(i int, v index.Value) { ... }) // the fast way
//
// Keys have one size of 4 to 64 bytes, values one of 0 to 4096 or, with Variable, any size up
// to that. All keys are legal, zero too (LP excludes it).
//
// # Layout
//
// The high part of a key's hash names the rank, and the rest a place there. Each rank
// has a table of its own: a search never leaves it. A segment has whole words:
//
//		rank r      | slots | heap | borders |
//		Inline      | key value | key value | ...                       packed, without gaps
//		Heap        | signature | offset | ...      to | key value |    in words of the heap
//		Ordered     | signature | displacement | offset | ...
//		Cuckoo      | signature x 4 | offset | ...  to 4 records        LP Fig. 5
//
//	  - [Ordered], the default, is linear probing whose records lie in the order of their homes
//	    (Robin Hood). A search ends at the first record whose home is past the key's. In a heap
//	    the displacement, slot less home, gives the home; 255 is 255 or more, and then the
//	    search goes on.
//	  - [Linear] is that of the paper: a search ends at the first empty slot. It is laid out in
//	    the same order. Which slots are taken, and so what a search for all matches reads, does
//	    not depend on the order.
//	  - [Cuckoo] gives a key 2 to 4 buckets, each in a part of its own, of 1 or 4 slots.
//
// Nothing wraps around. Behind the homes of a rank come as many slots as the last run needs
// there, the same number on all ranks, so that the largest need counts. A search that comes
// to the end of the slots is over.
//
// An empty slot of an inline table has a key that no record has. The build chooses it among
// 65536 keys. So slots need no byte to say that they are taken. In a heap an empty slot has
// signature 0. Where values have one size, [Auto] keeps records of up to 32 bytes inline (LP
// 5.7), and others in the heap. Offsets count words, so that 4 bytes reach 32 GiB a rank.
// Where values have several sizes a bucket of Cuckoo has an offset for each slot, and a
// record begins with the size of its value. A lookup then gets twice the mean, at least 128
// bytes, and the rest of longer records with another request.
//
// # Building
//
// [Build] is collective. Each rank gives a stream of records and reads it once:
//
//  1. Records go to their owners, in blocks, by puts into double inboxes, with one barrier a
//     round.
//  2. An owner keeps them divided into 1024 parts by their place.
//  3. When all have arrived, their number gives that of the slots. Each part is brought into
//     order by counting, in the processor's cache, and slots and heap are written from
//     beginning to end. No compare-and-swap is needed. Cuckoo moves records at random until
//     all have a place.
//
// [Config].PeakBytes estimates the memory that a build takes, and a build that would take more
// than MaxMemoryBytes is an error. With n records of b bytes on a rank (whole words) and a segment
// of s bytes it is about
//
//	n*b + chunks that are not full + max(s + sorting, inboxes)
//	      at most n*b, and 24 MiB        25 MiB at most, up to 1000 ranks
//
// where sorting takes 12 bytes for a record of the largest part, which is a 1024th unless a
// key has many records, and Cuckoo 8 bytes for each slot. Counting the records of each key
// (Cuckoo, MaxCopies) takes 8 bytes for each of the largest part. Marks around keys with many
// records (see below) take about 2 bytes a record more, which the estimate does not include.
//
// A build that fails is an error on all ranks: one rank says what is wrong, the others
// return a [rma.PeerError]. Causes are: a record of the wrong size, an error of the stream, more
// than MaxCopies records of a key or than Cuckoo has places, a load above what the layout
// takes (0.99; Cuckoo: [CuckooMaxLoad]) or so low that there is no memory for the slots, a
// heap too large for its offsets, too much memory, a key that marks empty slots not found.
// When a rank dies the others get a [rma.RankError].
//
// # Lookups
//
// A lookup is a step machine over a queue (op.go), of which a batch has many in flight (LP
// Algorithm 1). A policy decides how much it reads at once; package readsize has the model. An
// [Index] looks up by [Best]; [Index.NewReader] gives readers with other policies, each with its
// own [Stats].
//
//	Adaptive     decides again after each read that was not enough; knows clusters
//	Guided       Adaptive, which knows borders; Ordered
//	Model        LP Eq. 1 to 9, under the cap of Eq. 2; with Clusters > 0, Eq. 10
//	Uncapped     LP without Eq. 2
//	Fixed        a number of bytes, 256 as in LP 5.1
//	Parallel     all buckets of a key; Cuckoo
//	Sequential   bucket by bucket, until the key is found if no key has two records; Cuckoo
//
// Clusters (LP 3.4, 4.4): each worker keeps the largest that its searches have found, and
// updates them while its requests are in flight. In Ordered these are pairs of a home and
// the slot where its search ended. They bound the searches of all homes between: these begin
// behind the slot of the pair before, and end before the slot of the pair after.
//
// Borders are such pairs for every 32nd home, made by the build: a byte each. A mark is such a
// pair in 16 bytes. There is one where a byte is too small, and one before and after a home with
// 64 records or more. Guided gets all of them beforehand, which where keys differ is a byte for
// each 32 slots of all ranks. So it needs one request at any load. A table is only read, so
// borders and marks are always right. Between borders that have more slots than homes a search
// reads all slots at once.
//
// So Guided needs no clusters. Skewed keys, drawn by a law of Zipf, have runs of thousands
// of slots, which a search without borders reads from their beginning. Requests and bytes of a
// lookup for keys that are there, evenly drawn, at load 0.8 (TestSkew):
//
//	exponent                        0.5          0.75          0.9
//	ordered, guided           1.04   145   1.09    158   1.08    148
//	linear, adaptive, 1000    1.02   802   1.44   8859   3.96  51674
//
// The gets of all records in the heap whose signatures fit are posted at once, with that of the
// next slots: a lookup waits for slots, for records, and perhaps for the end of a long record.
// Records of a key lie behind each other in the heap of Ordered and Linear, and come with one get
// for each KiB or two records (TestHeapRoundTrips).
//
// Requests and bytes of a lookup for a key that is there, 8-byte slots, as counted, and ns by
// the cost model of LP 3.2 (TestTargets, TestLaw):
//
//	load                  0.5           0.8           0.9            0.95
//	ordered, guided   1.00  58 1295 1.00 113 1299 1.00  161 1303  1.00  187  1305
//	ordered, adaptive 1.00  64 1296 1.00 136 1303 1.00  248 1313  1.01  434  1331
//	linear, adaptive  1.00 184 1308 1.01 792 1372 1.05 2079 1524  1.13 5175  1877
//	linear, model     1.03 107 1332 1.39 257 1819 3.24  596 4225  9.94 1830 12973
//	linear, uncapped  1.03 107 1332 1.02 780 1372 1.09 1750 1544  1.15 5052  1894
//	linear, fixed     1.00 256 1311 1.22 313 1604 2.51  643 3289  7.31 1871  9576
//	cuckoo, parallel  3.00  96 1321                at every load
//
// Where all memory is directly addressable, loops over it replace the step machine
// (direct.go), unless [Lookups].OneSided is set, and there are no requests to count. A search
// examines the 32 slots from its home on. Where keys differ, nearly all records lie there. Then
// the search is guided by borders and marks, which it reads in the memory of their rank. So it
// takes no longer than a one-sided one, however skewed keys are (BenchmarkDirect).
//
// A batch is searched for in blocks of 32 keys, and of 8 where keys are numbers: the memory where
// the searches of the next block begin is asked for before those of this block go on, and so are
// the records in a heap whose signatures fit. Keys of 4 and 8 bytes in the slots are compared as
// numbers. A single lookup allocates nothing (BenchmarkSingle).
//
// Where values are as long as such keys and no key has two records, which the build finds out,
// eight slots are compared without a branch for each (near.go). So lookups of single keys overlap,
// and a batch has the memory of 16 keys on its way (blocks.go). Million lookups a second of one
// rank and of two, with 16 million records of 8+8 bytes, on two cores of an Intel Xeon (Sapphire
// Rapids, 2 GHz, virtual):
//
//	one at a time     10.5  20.8
//	batches of 1024   27    57
//
// by farhash-eval lp index --impl ordered-direct --key-bytes 8 --value-bytes 8 --records 16Mi
// --lookups 4Mi. Slot by slot these were 3.9, 7.8 and 12, 24.
//
// # Access
//
// Over a network where messages cost much, as over TCP, batches of lookups are shipped to the
// owners of their keys, which look them up in their own memory and send the values back
// ([Config].Access, package ship, ship.go). The index itself and readers by [Best] do so. Readers
// by another policy are for comparing what policies read, so their lookups are always one-sided.
// A key with more values than its part of the answer has room for is looked up one-sided after
// all. [Stats].Access reports what was chosen. Memory of other ranks that is addressable, as that
// of ranks of the same host, is read directly.
//
// # Guarantees
//
//   - A lookup finds every record of its key once, also where records are equal. They come in
//     no particular order.
//   - Nothing changes after Build, so a get is never torn, and no rank waits for another.
//   - Where memory of a rank is lost, lookups of its keys return an error, and those of other
//     keys their values. On engines whose memory outlives a rank nothing is lost.
//
// # Files
//
// [Index.Save] writes the table as it lies in memory, segment behind segment, and its marks;
// image.go describes the file. There are two ways to read it, both with any number of ranks:
//
//   - [Open] maps it into memory, to be read only. Its time does not grow with the file, and
//     all jobs of a host share the one copy that the system keeps of the file. Lookups go to
//     that memory directly. A rank needs none of its own, and no other rank.
//   - [Load] builds an index of its records, with any layout and storage.
//
// The file keeps [Config].Note, a text of the program.
//
// Opening verifies the size of the file and a header with a checksum, and so finds what is
// truncated or foreign. Blocks of 64 KiB have checksums, of which the header has a digest:
// Load verifies them before it uses a record, Open leaves that to [Index.CheckAll]. In a file
// that is damaged and was not checked, lookups may give wrong values, or an error; they never read
// outside of the file. Save replaces a file and never writes into one, so a mapped file does not
// change.
//
// A file that is truncated while it is mapped, and a page that cannot be read any more, are
// errors. A lookup that ends without one has read what was saved: the last word of the file,
// which a truncation removes first, is verified at the end of each call (image.go). The values
// of a key are copied before Lookup passes them on; those that a batch gives before it ends with
// an error may be wrong.
//
// [Index.Check] walks a rank's memory and says what is broken.
package index
