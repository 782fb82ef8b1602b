// Package set is an insert-only set over the memory of all ranks with one
// operation, find-or-put (Oortwijn, van Dijk, van de Pol: A Distributed Hash Table
// for Shared Memory, PPAM 2015; "OP" below): it tells whether something was in the
// set before and puts it there if not. It is the visited set of a model checker,
// and the core of deduplication.
//
// [Set] holds words of 63 bits, [Elements] byte strings of one length (1 byte to
// 4 KiB), exactly: no two elements are ever taken for the same.
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
// The reference names a slot of whole words in an arena ([Ref]); the arenas lie in
// windows of their own. An element that does not fill its last word is padded
// with zeros.
//
// # Protocol
//
// The hash gives a home; buckets are examined from there on, around the end of the
// table (linear probing). Without [HomeWord] a home is the start of a cache line
// of 8 buckets. Where only one-sided operations reach the buckets they come in
// chunks of C, the next one requested before the present one is awaited, a chunk
// that crosses into another rank's segment by several gets (OP Fig. 1). With [Auto], the
// default, C follows the load, and no chunk is requested before it is needed. An empty
// bucket is claimed by one compare-and-swap. When that loses, the word that won is
// examined in its place and the search goes on. After C*M buckets the answer is
// Full (OP 3.3).
//
// An element is first written into an arena slot, by default of the inserting
// rank, and only then a compare-and-swap publishes the reference. Whoever loses
// that race keeps the slot for the next element. A bucket whose fingerprint fits is
// compared with the whole element.
//
// Where memory is directly addressable, loops over it replace the step machine.
// Batches of words run on a [Kernel] that keeps many searches in flight. Batches of
// elements pass through three stages, hash, compare and settle, with other elements'
// stages between, so that neither bucket nor arena slot is waited for.
//
// Where some of the memory is seen, such as that of the ranks of one host, searches that begin
// there run by the same loops. One that comes to its end, or to an element that is not seen, goes
// on through a queue.
//
// Elements always lie out of line, never in wide buckets of their own. A bucket of one
// word is claimed by one compare-and-swap, whatever the length; a line holds 8 of them,
// so that most searches touch one line and one slot; and references stay valid as
// names when the table grows. Inline buckets save the slot's line, but only for up to
// 24 bytes in a table that is less than 0.6 full were they found to be faster.
//
// Growth, garbage collection ([Set.Collect], which OP leaves out) and loading a file stop
// the world: all ranks call them, and nothing else runs meanwhile.
//
// # Access
//
// A batch may travel (package ship, [Config].Access): a request takes the words of the items,
// the answer a word for each, with the result and, of elements, the name. The rank of
// the home searches its own memory by the loops above, and stores what it inserts in its own
// arena. What it cannot decide there, because the search runs off its memory or no slot is
// free in it, it leaves to the rank that asked, which goes on one-sided: owners wait for
// nobody. A rank that sees none of its memory answers by its queues instead: slow, and right.
//
// With Auto a word is taken to need 1.5 messages one-sided, an element 2.5. Whoever asked counts
// the results, so Len is exact as ever; [Stats] says what the owner counts. [Elements.GetBatch]
// travels as well. Single operations do not, nor do Grow and Collect: what they move stays with
// its rank, but for what runs off a rank's memory.
//
// # Invariants
//
//   - A bucket changes once, from empty to occupied.
//   - Between the home of an element and its bucket all buckets are occupied, by
//     others, and they are fewer than C*M.
//   - A slot that a bucket refers to does not change any more.
//
// Check verifies them.
//
// # Guarantees
//
//   - Of all calls that insert the same element, by any goroutine of any rank,
//     exactly one is told Inserted. Each operation takes effect at one moment
//     between its call and its return: the compare-and-swap that succeeded, or the
//     read of the bucket that ended the search.
//   - Why equal elements cannot both be inserted: two searches for the same
//     element examine the same buckets in the same order, and each tries the first
//     bucket it saw empty. Buckets never become empty again, so the search that
//     comes later to the bucket where the first succeeded finds the element there,
//     in what it read or in what its lost compare-and-swap shows.
//   - Full is an answer of its own, with a [FullError]; nothing stored is lost.
//   - No lock is held in shared memory. A rank that is killed in mid-insert leaves
//     its element either in the set or not, and everything acknowledged is there.
//   - An error of the engine (a dead rank whose memory is gone) leaves open whether
//     the element was inserted; calling again tells.
package set
