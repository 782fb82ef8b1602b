// Package ship says whether the batches of a table are shipped: sent to the ranks that own the
// memory that they work on. A program sets [Access] in the Config of a table, and reads the
// [Choice] that the Stats of the table report.
//
// On some networks a message costs thousands of times more than an access to memory, and the
// number of messages decides how long a batch takes. A batch of one-sided operations takes one
// or two messages for each operation. A batch that is shipped takes one message for each owner,
// with thousands of operations in it. The owner carries them out on its own memory, by the
// table's own code, and one message brings all answers back. Wang et al. (Efficient Usage of
// One-Sided RDMA for Linear Probing, ADMS 2020; "LP") ask in section 7 how such two-sided
// probing compares with one-sided probing. The command farhash-eval net hosts measures it.
//
//	rank 0                                   rank 2
//	batch: 5 operations   --[ op op op ]-->  handler: the table's batch
//	       2 for rank 0                      on memory that is its own
//	       3 for rank 2   <--[ ans ans ans ]
//	while it waits: the 2
//
// # Access
//
// [Access] says how a table reaches memory that is not addressable in its process: [OneSided],
// [Shipped], or [Auto], which is the default. Addressable memory, as of ranks of the same
// host, is always worked on directly. Single operations are always one-sided: a get is never
// slower than a message that a program has to answer.
//
// With Auto a rank measures for some milliseconds when a table is made. From this it finds the
// minimum batch: the number of operations for one owner from which on shipping takes less time:
//
//	one-sided   trips * latency + n * trips * 1/rate
//	shipped     latency of a request + n * (words * time of a word + 200 ns)
//
// Trips is how many messages an operation takes one-sided; the table gives it. Where messages
// are cheap, as on InfiniBand, there is no minimum batch, and nothing is shipped. [Choice]
// reports what was chosen and why.
//
// The engines rma/ucx and rma/mpi carry requests, the latter where it has initialised MPI itself or
// the program has with MPI_THREAD_MULTIPLE.
//
// # Guarantees
//
// A shipped operation takes effect between the call and its return, as a one-sided one does: it
// is the same operation, only that the owner's processor carries it out. When a rank is lost,
// what was in flight to it may have taken effect or not; the others' part of the batch is done.
// An owner that has closed the table leaves its part to one-sided operations.
//
// An owner handles one request at a time, in a goroutine of the engine or in one that waits for
// an answer itself. So a rank gives at most one
// processor to the others, and a request that waits does not delay one-sided operations. A rank
// that is busy on all its processors answers when Go's scheduler runs that goroutine, which may
// take 10 ms. The memory for requests is bounded: each call in progress has 8 requests and
// answers of 64 KiB, and an engine limits what is in flight to a rank.
package ship
