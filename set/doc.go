// Package set is an insert-only set over the memory of all ranks with one
// operation, find-or-put (Oortwijn, van Dijk, van de Pol: A Distributed Hash Table
// for Shared Memory, PPAM 2015; "OP" below): it reports whether something was in the
// set before, and inserts it if it was not. It is the visited set of a model checker,
// and the core of deduplication.
//
// [Set] holds words of 63 bits. [Elements] holds byte strings of one length (1 byte to
// 4 KiB). Both are exact: no two elements are ever taken for the same.
//
// # Layout
//
// A bucket is a 64-bit word; zero is empty (OP 3.1). With n = k * ranks buckets,
// rank r owns buckets [r*k, (r+1)*k), the words of its segment:
//
//	Set       | 1 | data (63)                            |
//	Elements  | 1 | fingerprint (27) | reference (36)    |
//	           63  62              36  35               0
//
// The reference ([Ref]) is the number of a slot in an arena. A slot has whole words; zeros fill the
// last one up. The arenas have windows of their own.
//
// # Protocol
//
// The hash gives a home. A search examines the buckets from the home on, around the end
// of the table (linear probing). The home is the start of a cache line of 8 buckets, or any
// bucket with [HomeWord].
//
// Where only one-sided operations reach the buckets, they come in chunks of C (OP Fig. 1).
// The next chunk is requested before the present one is awaited. A chunk that crosses into
// another rank's segment takes several gets. With [Auto], the default, C follows the load,
// and no chunk is requested before it is needed.
//
// A search claims an empty bucket with one compare-and-swap. When the compare-and-swap
// loses, the search examines the word that won and goes on. After C*M buckets the
// answer is Full (OP 3.3).
//
// An element is first written into an arena slot, by default of the inserting rank. Only
// then a compare-and-swap publishes the reference. A search that loses this
// compare-and-swap keeps the slot for the next element. Where the fingerprint of a bucket
// is that of the element, the whole element is compared.
//
// Where memory is directly addressable, loops over it replace the step machine. Batches work on
// many searches at a time, so that the waits for memory overlap.
//
// A process may address only a part of the memory directly, for example that of the ranks
// of its host. Searches that begin in that part run by the same loops. A search that comes
// to the end of the part, or to an element outside it, goes on through a queue.
//
// Elements always lie in arenas, never in the table itself, for three reasons. A bucket of
// one word is claimed by one compare-and-swap, whatever the length. A line holds 8 buckets,
// so that most searches touch one line and one slot. References stay valid when the table
// grows. Elements in wide buckets would save the line of the slot, but measured faster only
// for up to 24 bytes in a table that is less than 0.6 full.
//
// Growth, garbage collection ([Set.Collect], which OP leaves out) and loading a file stop
// the world: all ranks call them, and nothing else runs meanwhile.
//
// # Forms
//
// One function has the protocol's decision: decide says what a bucket means for a search. Three
// loops make it for the same buckets in the same order, and claim the first empty one:
//
//	probe            step machine over a queue, words and elements      machine.go
//	span.search      a word over memory, with decide written out        direct.go
//	elementSearch    an element over memory                             direct.go
//
// Where there is a kernel in assembly, a single FindOrPut first tries the line of its home there
// (firstLine), and leaves what does not end in it to span.search.
//
// Batches over memory have loops of their own, which overlap the waits for memory. What they do
// not decide in the first line of a search they leave to the loops above, but for the assembly:
//
//	searchBlock      words, portable; findInLine compares the line      direct.go
//	search           words, the whole search in assembly                kernel_amd64.s
//	elementPipeline  elements; compareLine, also in assembly            direct.go
//
// TestKernelsAgree compares the loops for words, TestSameAnswersOnEveryEngine all of them with a
// plain map, FuzzSet and FuzzElements streams of operations. The scripts (scripts_test.go) and the
// lab check what concurrent calls may answer.
//
// # Access
//
// A batch may be shipped (package ship, [Config].Access). A request holds the words of the
// items. The answer holds a word for each item: the result and, for elements, the
// reference. The rank that owns the home searches its own memory by the loops above, and
// stores what it inserts in its own arena. It may be unable to finish a search, because the
// search leaves its memory or because its arena has no free slot. It then hands the item
// back, and the requesting rank goes on one-sided: owners wait for nobody. A rank that
// cannot address its own memory directly answers by its queues: slow, but correct.
//
// With Auto a word is taken to need 1.5 messages one-sided, an element 2.5. The requesting
// rank counts the results, so Len stays exact; [Stats] lists what the owner counts.
// [Elements.GetBatch] is shipped as well. Single operations are not shipped. Nor are Grow
// and Collect: they keep items on their rank, except where a search leaves its memory.
//
// # Invariants
//
//   - A bucket changes once, from empty to occupied.
//   - Between the home of an element and its bucket all buckets are occupied by other
//     elements, and they are fewer than C*M.
//   - A slot that a bucket refers to does not change any more.
//
// Check verifies them.
//
// # Guarantees
//
//   - Of all calls that insert the same element, by any goroutine of any rank,
//     exactly one returns Inserted. Each operation takes effect at one moment
//     between its call and its return: the compare-and-swap that succeeded, or the
//     read of the bucket that ended the search.
//   - Why equal elements cannot both be inserted: two searches for the same
//     element examine the same buckets in the same order, and each tries the first
//     bucket that it reads as empty. Buckets never become empty again. So the search that
//     comes later to the bucket where the first succeeded finds the element there,
//     in what it read or in what its lost compare-and-swap returns.
//   - Full is an answer of its own, with a [FullError]; nothing stored is lost.
//   - No lock is held in shared memory. A rank that is killed in mid-insert leaves
//     its element either in the set or not, and everything acknowledged stays in the set.
//   - After an error of the engine (a dead rank whose memory is gone) the element may or
//     may not have been inserted; another call finds out.
package set
