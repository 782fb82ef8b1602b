// Package mpi is the engine whose ranks are processes of an MPI job, on one host or on
// many. It needs cgo and is built with a tag for each MPI; without, Join says how:
//
//	go build -tags 'mpi openmpi' ./cmd/farhash    # pkg-config ompi-c: libopenmpi-dev
//	go build -tags 'mpi mpich' ./cmd/farhash      # pkg-config mpich: libmpich-dev
//
// For another MPI give only the tag mpi and set CGO_CFLAGS and CGO_LDFLAGS to what its mpicc uses.
//
// # Start
//
//	mpirun -n 4 --bind-to none PROGRAM    # bound to one core, Go has one processor
//
// The program calls farhash.Join or farhash.Run, or [Join]. MPI cannot begin again: after Close,
// Join is an error, and while a job is open as well. Between [Start] and its stop, jobs may be
// joined one after the other, and [JoinComm] makes jobs of the processes of communicators. Several
// of these may be open at once, also of communicators that have processes in common. Such a job is
// closed by itself: Close waits for its ranks, and not for other processes. Processes that are in
// two jobs join and close these in the same order, as with all collective calls.
//
// A program may have initialised MPI itself with MPI_THREAD_SERIALIZED or more; less is refused,
// except with [Config].Passive, where only the callers of the engine call MPI. With SERIALIZED the
// program makes its own calls while a job is open by [Exclusive]. The engine then leaves MPI
// initialised.
//
// # Direct access
//
// Ranks of one host share memory by rma/shm, and there are three cases:
//
//	all on one host   windows and queues come from rma/shm: processor atomics, direct
//	                  memory; MPI only starts and ends the job
//	several hosts     MPI_Win_create over the shared memory of each host; gets and puts within a
//	                  host are loads and stores, all else goes by MPI. With Open MPI 4 at
//	                  MPI_THREAD_MULTIPLE, which makes no windows, all else goes by messages
//	[Config].Hidden   MPI_Win_allocate, and everything goes by MPI
//
// [rma.Window].CPUAtomicsCoherent holds in the first case, and in the second where atomics go by
// messages, see below. Otherwise a library may swap words under a lock or in the target's process,
// so MPI alone swaps them.
//
// The windows of several hosts are [rma.Server]s: ranks ship requests to each other. Where the
// program has initialised MPI with less than MPI_THREAD_MULTIPLE, and with [Config].Passive, ranks
// send each other no messages, and everything is one-sided: the program may wait in MPI for a rank
// that waits for an answer. All ranks find out at the start whether all can. In a program that
// leaves MPI to the engine, what runs in [Exclusive] must not wait for other ranks.
//
// # The end
//
// Close sends a message to the others and waits until all have closed, as MPI_Finalize would.
// Abandon, for a rank that has failed, waits for five seconds; the launcher ends the others when
// this process ends. Where MPI_Finalize does not return, the process continues after five seconds.
//
// Failed lists nobody. A rank that a signal kills ends the job, as the launcher ends the others.
// One that exits without Close or Abandon, and so without MPI_Finalize, does so under Open MPI;
// under MPICH on several hosts the others may wait for it for ever, as in a program in C. In a
// collective call the context bounds that wait, but an operation on its memory may not end. So let
// a rank that fails return from farhash.Run, which abandons the job, or give collective calls a
// context with a limit.
//
// # What does not work is found at the start
//
// Ranks that cannot join within the limit tell each other so, and the error names those that have
// not come; the limit grows with the ranks for each processor ([Config].Timeout).
//
// A launcher of another MPI starts processes as jobs of one rank each; Join finds that by the
// launcher's variables, and fails. Join has each rank use the memory of others in every way and
// compares (unless all share memory): wrong words, no end and a crash of the library are reported
// with the remedy. Of Open MPI 4 the default one-sided component crashes in the first
// compare-and-swap on one host and makes no windows over TCP, so OMPI_MCA_osc is set to sm,pt2pt,
// or sm,ucx,pt2pt where there is a fast network, if it is not set. A program that initialises MPI
// itself sets it before. pt2pt refuses MPI_THREAD_MULTIPLE: unless the variable names ucx or rdma,
// there are no windows of MPI then, and all operations go by messages.
//
// # What it costs
//
//	go test -tags 'mpi openmpi' -bench Rates -run - -benchtime 1x ./rma/mpi
//
// compares with a loop in C that calls MPI_Get and MPI_Win_flush. Microseconds of one
// operation of 64 bytes between two network namespaces over TCP (Intel Xeon under KVM, 2 cores; the
// second of two runs), where the other rank waits in a collective call:
//
//	                get   joined get   put   swap   swaps, 64 in flight
//	Open MPI 4.1.4   33       0.9       23     37      5.0
//	  loop in C      14                  9     16
//	MPICH 4.0.2      25       0.6       53     30      4.8
//	  loop in C      13                 13      8
//
// Where both ranks do operations, a read of the cache takes 1.3 times as long as in C under Open
// MPI, and 0.8 times under MPICH (eval/docs/benchmarks.md). Within a host an operation through a
// queue of rma/shm takes 0.05 to 0.1, and a table with direct access calls nothing of this package.
// Operations on a rank that was not in use take up to 100 microseconds longer.
//
// # Messages
//
// Requests and answers are messages on the job's communicator, a duplicate of the program's. The
// thread that owns MPI takes them, or a thread that waits for an answer. A goroutine of the engine
// calls the handlers, or, as waking it takes longer, one that waits for an answer to a request of
// its own. Who waits in one job takes the messages of all. A rank has four requests on their way to
// another one, and the others wait. All requests that have come share 32 MiB with their answers;
// those that find no room are sent again later, and long ones of many ranks ask first, as
// rma/internal/remote says. Messages of operations on memory, and their answers, are as long as a
// request that need not ask: 8 MiB / (4 * ranks), and 64 KiB at most. So all messages of others
// take 56 MiB at most: 32 stored, 8 of requests, 8 of operations and 8 of their answers on the
// way. A rank keeps 400 bytes for each other one besides. A rendezvous takes several messages
// more, so with MPICH over TCP there is none below 128 KiB: UCX_RNDV_THRESH is set if it is not,
// before main where the launcher has started ranks on several hosts, as the program may initialise
// MPI.
//
// Compare-and-swap and fetch-and-add go by messages as well, up to 64 in each, and the owner's
// thread does them by instructions of its processor. So direct access is atomic with them, and the
// ranks of a host use each other's memory directly. MPI does them instead where a host has a card
// that can (/sys/class/infiniband or /sys/class/cxi), and with [Config].Hidden. Where MPI makes no
// windows, gets and puts go so too: the owner does the operations of a message in their order, and
// one that is longer than a message goes in pieces.
//
// # Which calls
//
// A window is locked for all ranks (MPI_Win_lock_all) from its making to its end. A segment begins
// at a cache line: MPICH 4.0 has a fault with others. Submit joins the gets to one rank, up to 64,
// into one MPI_Get with hindexed types on both sides, and puts alike. Compare-and-swap is
// MPI_Compare_and_swap, fetch-and-add is MPI_Fetch_and_op, except on Open MPI 4, where it is not
// atomic (osc/pt2pt answers before it adds) and is made of swaps. MPI orders only atomics on one
// word. A queue promises order on the same words, so it keeps bits for the lines in flight, and
// what may touch one waits until nothing is in flight. MPI_Win_flush completes operations; with
// MPI_Win_flush_local, Open MPI brought the answer of a fetch-and-add before it had happened, and
// hung. On libraries other than Open MPI a single get is MPI_Rget, completed by its request. (In
// MPICH 4.0.2 the request of a joined MPI_Rget is done before the words are there.) Done and Wait
// may so complete more than was asked for, and a flush does not end with a context. While it waits
// for one rank, nothing of others is noticed: so a queue cannot wait for any of its operations, and
// is no [rma.AnyWaiter].
//
// Collective calls are MPI_Ibarrier, MPI_Iallgather and MPI_Iallreduce. During one of them the rank
// also examines the context and the messages of ranks that have left, so that no call waits for
// these. NewWindow makes the window when all ranks have agreed, and frees those that all have
// closed.
//
// # Threads
//
// One thread of C owns MPI. It initialises MPI with MPI_THREAD_SERIALIZED, finalises it, and enters
// it every 100 microseconds for other ranks if this one does not, so that a rank that computes
// serves them even if Go has only one processor. Where ranks share a processor they enter it as
// often together: otherwise 30 ranks on two cores did nothing else. A rank that uses the memory of
// another one sends it an empty message, at most once a millisecond; the owner there then makes
// progress for two milliseconds, sleeping for a few microseconds where nothing comes, unless other
// threads keep calling MPI; those that wait in a collective call do so too rarely. It leaves
// messages to threads that wait for answers, and polls only if none waits for the lock. Queues call
// MPI in their own thread, once for a batch, under the lock of the owner; to hand a batch over to
// the owner would cost two switches of threads.
//
// Where ranks on a host are as many as its processors or more, waiting yields: Open MPI by its
// variable (from half as many on, as a rank has two threads), MPICH by a function in place of
// ucp_worker_progress, since it would keep the core and slow everything many times. MPI_Finalize of
// MPICH over TCP waits for ranks that are gone; a function in place of ucp_disconnect_nb prevents
// that, also where the program finalises MPI.
//
// Each MPI has a link file of its own, since Go does not rebuild when the answer of pkg-config
// changes. The C files have an order, which internal.h lists: a file calls only what is below it.
package mpi
