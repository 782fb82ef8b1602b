// Package rma is the one-sided contract: what a table may ask of the memory of other ranks, and
// what it may expect. Tables are written against this package, engines implement it, and no table
// knows an engine.
//
// # Terminology
//
// All packages use these words, and no others for the same things.
//
// Ranks and memory:
//
//   - job: a fixed number of ranks that work together ([Job]).
//   - rank: one member of a job, a process or a goroutine, with a number from 0.
//   - word: an aligned unit of 64 bits, the only thing that changes atomically.
//   - segment: the words that one rank gives to a window.
//   - window: the segments of all ranks, of the same length, which every rank can access
//     ([Window]).
//   - owner: the rank whose segment holds something.
//   - region: the segments of consecutive ranks that are next to each other in memory which this
//     process addresses.
//   - line: a cache line, 64 bytes or 8 words.
//
// Tables:
//
//   - bucket: the unit that a search examines: a word in a set, a key with its value in a cache.
//   - slot: the place of one record in an index, of one key in a map, or of one element.
//   - home: the bucket or slot at which the search for a key begins, often the first of a line.
//   - probe: to examine buckets or slots from the home on, in the order that the table defines.
//   - chunk: the consecutive buckets or slots that one get of a probe reads.
//   - item: a key and value of a map, stored outside its slot.
//   - element: a byte string of a set of byte strings, stored outside its bucket.
//   - reference: the part of a bucket or slot that says where its element or item is.
//   - fingerprint: some bits of the hash in a bucket or slot, compared before the key is.
//   - load factor, or load: the share of the buckets or slots that is occupied.
//
// Access:
//
//   - batch: many operations in one call, done together and in no particular order.
//   - direct access: the caller's processor reads and writes the memory of a region.
//   - one-sided access: gets, puts, compare-and-swaps and fetch-and-adds of the caller, through a
//     [Queue]; the owner's program takes no part.
//   - shipped access, or function shipping: the operations of a batch are sent to the owner, which
//     carries them out and sends the results back ([Access], [Carrier], [Server]).
//   - minimum batch: the number of operations for one owner from which on they are shipped.
//   - round trip: one wait for requests that were submitted together.
//
// Failure:
//
//   - collective: a call that every rank makes, in the same order; it returns when all have made
//     it.
//   - lost rank: a rank that has died, or that left the job while others needed it ([RankError]).
//
// # Windows
//
// Each rank gives a segment to a [Window]; every rank accesses all segments. The owner of a segment
// does nothing for that: the rank that wants a get, put, compare-and-swap or fetch-and-add does it.
//
//	window          rank 0            rank 1            rank 2
//	            [0 .. words)      [0 .. words)      [0 .. words)
//	                 ^ (rank, offset) names a word; offsets count words
//
// # Guarantees
//
//   - Only an aligned 64-bit word is atomic. A longer get may be torn between words, so the
//     layouts of tables verify themselves.
//   - A get that is done holds words that were in memory at some moment between its submission
//     and its completion, each word on its own.
//   - Operations of one queue on the same words take effect in the order in which they were
//     posted. All others may complete in any order.
//   - A put that is done is visible to every operation that any rank submits later.
//   - Compare-and-swaps and fetch-and-adds on one word are totally ordered. Where
//     [Window].CPUAtomicsCoherent holds, CPU atomics on [Window].Words are part of that order.
//     Where it does not, they must not be used on words that are changed through a queue.
//   - No operation takes a lock, so a rank that dies stops no other. Collective calls (NewWindow,
//     Barrier) return a [RankError] and do not wait for the dead.
//
// # Step machines
//
// A protocol is written once, as an [Op]: a small struct whose Step examines the results that it
// waited for, posts what it needs next and names the handle to wait for. [Run] drives one Op,
// [RunAll] keeps many in flight on one [Queue]. So the same machine runs on every engine, alone or
// in a batch.
//
// Single words that need no protocol, such as counters and flags, are read and written through
// [Cells].
//
// # Configuration and outcome
//
// [Agree] compares the configurations of all ranks, and [AllSucceeded] the outcomes of a collective
// call. So every rank gets an error, or none does.
//
// # Engines
//
//	rma/local  ranks are goroutines of one process
//	rma/shm    ranks are processes of one host
//	rma/file   one rank, which is any number of processes of a host that come and go ([Shared])
//	rma/mpi    ranks are processes of an MPI job on many hosts
//	rma/ucx    ranks are processes on many hosts, connected by UCX
//	rma/sim    ranks are simulated in virtual time
//
// Every engine passes the tests of internal/testkit/rmatest. One that ships requests implements
// [Server] and [Carrier].
package rma
