// Package rma is the one-sided contract: what a table may ask of the memory of
// other ranks, and what it may expect.
//
// A [Job] is a number of ranks. Each rank gives a segment of 64-bit words to a
// [Window]; every rank reaches all segments. The owner of a segment does
// nothing: gets, puts, compare-and-swaps and fetch-and-adds are done by the
// rank that wants them.
//
//	window          rank 0            rank 1            rank 2
//	            [0 .. words)      [0 .. words)      [0 .. words)
//	                 ^ (rank, offset) names a word; offsets count words
//
// # What holds
//
//   - Only an aligned 64-bit word is atomic. A longer get may be torn between
//     words: layouts verify themselves.
//   - A get that is done holds words that were in memory at some moment between
//     its submission and its completion, each word on its own.
//   - Operations of one queue on the same words take effect in the order in which
//     they were posted. Otherwise they may complete in any order; Flush waits for
//     those to one rank.
//   - A put that is done is visible to every operation submitted later, by any
//     rank.
//   - Compare-and-swap and fetch-and-add on one word are totally ordered. Where
//     [Caps].CPUAtomicsCoherent holds, CPU atomics on [Window].Words take part
//     in that order; where it does not, they must not be used on words that
//     anybody swaps through a queue.
//   - A rank that dies stops nobody: no operation takes a lock. Collective calls
//     (NewWindow, Barrier) return a [RankError] instead of waiting for the dead.
//
// # Step machines
//
// A protocol is written once, as an [Op]: a small struct whose Step looks at
// what came back, posts what it needs next and names the handle that it waits
// for. [Run] drives one, [RunAll] keeps many in flight on one [Queue]. The same
// machine so runs on every engine, blocking or in a batch.
//
// Queues of some engines ship requests to the programs of other ranks: see [Carrier] and [Server].
//
// Words of control (counters, flags) that do not need a protocol are read and
// written through [Cells].
//
// The engines are rma/local (ranks are goroutines), rma/shm (ranks are processes of
// one host), rma/mpi and rma/ucx (ranks are processes on many hosts) and rma/sim (ranks
// are simulated in virtual time). No table knows an engine.
package rma
