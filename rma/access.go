package rma

import "fmt"

// Access says whether the batches of a table are shipped: sent to the ranks that own the memory
// that they work on. A program sets it in the Config of a table, and reads the [AccessChoice] that
// the Stats of the table report.
//
// On some networks a message costs thousands of times more than an access to memory. One-sided, an
// operation takes one or two messages. A batch that is shipped takes one message for each owner,
// with thousands of operations in it, and one that brings all answers back. Wang et al. (Efficient
// Usage of One-Sided RDMA for Linear Probing, ADMS 2020; "LP") ask in section 7 how such two-sided
// probing compares with one-sided probing. The command farhash-eval net hosts measures it.
//
//	rank 0                                   rank 2
//	batch: 5 operations   --[ op op op ]-->  handler: the table's batch
//	       2 for rank 0                      on memory that is its own
//	       3 for rank 2   <--[ ans ans ans ]
//	while it waits: the 2
//
// Addressable memory, as of ranks of the same host, is always worked on directly. Single operations
// are always one-sided: a get is never slower than a message that a program has to answer.
//
// With Auto a rank measures for some milliseconds when a table is made. From this it finds the
// minimum batch, from which on shipping takes less time. Where messages are cheap, as on
// InfiniBand, there is none, and nothing is shipped:
//
//	one-sided   trips * latency + n * trips * 1/rate
//	shipped     latency of a request + n * (words * time of a word + 200 ns)
//
// Trips is how many messages an operation takes one-sided; the table gives it. The engines rma/ucx
// and rma/mpi carry requests, the latter if it has initialised MPI itself, or the program has with
// MPI_THREAD_MULTIPLE.
//
// A shipped operation takes effect between the call and its return, as a one-sided one does: the
// owner's processor carries out the same operation. When a rank is lost, operations in flight to it
// may have taken effect or not; the others' part of the batch is done. An owner that has closed the
// table leaves its part to one-sided operations. An owner handles one request at a time, so a rank
// gives at most one processor to the others, and a request that waits does not delay one-sided
// operations. A rank that is busy on all its processors answers when Go's scheduler runs that
// goroutine, which may take 10 ms. Each call in progress has 8 requests and answers of 64 KiB, and
// an engine limits the bytes in flight to a rank.
type Access int

const (
	// Auto ships batches where that takes less time than one-sided operations.
	Auto Access = iota
	// OneSided ships nothing.
	OneSided
	// Shipped ships batches of any size. It is an error where the engine cannot.
	Shipped
)

// String is the name that ParseAccess takes.
func (a Access) String() string {
	if a < Auto || a > Shipped {
		return fmt.Sprintf("Access(%d)", int(a))
	}
	return [...]string{"auto", "one-sided", "shipped"}[a]
}

// ParseAccess is the access of a name.
func ParseAccess(name string) (Access, error) {
	for a := Auto; a <= Shipped; a++ {
		if name == a.String() {
			return a, nil
		}
	}
	return Auto, fmt.Errorf("rma: access %q is neither \"auto\", \"one-sided\" nor \"shipped\"",
		name)
}

// Check refuses what is no Access.
func (a Access) Check() error {
	if a < Auto || a > Shipped {
		return fmt.Errorf("rma: Access must be Auto, OneSided or Shipped, not %d", int(a))
	}
	return nil
}
