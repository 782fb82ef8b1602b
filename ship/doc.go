// Package ship carries batches of operations to the ranks that own what they are about.
//
// On a network where a message costs thousands of times more than a look at memory, the
// number of messages is everything. A batch of one-sided operations takes a message or two for
// each of them; shipped, it takes one for each owner, with thousands of operations in it. The
// owner carries them out on its own memory, by the table's own code, and one message brings
// all answers back. LP section 7 asks how such two-sided probing compares with one-sided
// probing: farhash-eval net hosts answers it.
//
//	rank 0                                   rank 2
//	batch: 5 operations   --[ op op op ]-->  handler: the table's batch
//	       2 for rank 0                      on memory that is its own
//	       3 for rank 2   <--[ ans ans ans ]
//	meanwhile: the 2
//
// # Access
//
// [Access] says how a table reaches memory that its process does not see: [OneSided], [Shipped],
// or [Auto], which is the default. Memory that is seen, that of ranks of the same host, is
// always worked on directly, and single operations are always one-sided: a get is never
// slower than a message with a program at its end.
//
// With Auto a rank measures when a table is made, for some milliseconds, and then ships from
// the number of operations for one owner on at which that takes less time:
//
//	one-sided   trips * latency + n * trips * 1/rate
//	shipped     latency of a request + n * (words * time of a word + handleNs)
//
// Trips is how many messages an operation takes one-sided; the table knows. Where messages are
// cheap, as on InfiniBand, there is no such number, and nothing is shipped. [Line.Choice] tells
// what was chosen and why.
//
// # Protocol
//
// A [Line] is a table's side of it on one window. A request is a word with the kind of the
// operations (32 bits) and their number (32 bits), and the operations as the table packs them; an
// answer is a status word and the answers in the same order. An owner that does not answer,
// because it has closed the table, leaves its part to one-sided operations.
//
// # Guarantees
//
// A shipped operation takes effect between the call and its return, as a one-sided one does: it is
// the same operation, only that the owner's processor carries it out. When a rank is lost, what was
// on its way to it may have taken effect or not; the others' part of the batch is done.
//
// The answers of an owner come from one goroutine of its program. So a rank gives at most one
// processor to the others, a request that waits does not delay one-sided operations, and a
// rank that computes answers when Go's scheduler lets the goroutine run, 10 ms later at most
// for each processor's worth of goroutines before it. The memory for requests is bounded: each
// call in progress has flights*2*64 KiB, and an engine limits what is on its way to a rank.
package ship
