// Package mpi is the engine whose ranks are processes of an MPI job, on one host or on many. It
// needs cgo and is built with a tag for each MPI; without, Join says how:
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
// messages (DESIGN.md). Otherwise a library may swap words under a lock or in the target's
// process, so MPI alone swaps them.
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
// compares with a loop in C that calls MPI_Get and MPI_Win_flush. Microseconds of one operation of
// 64 bytes between two network namespaces over TCP (Intel Xeon under KVM, 2 cores; the second of
// two runs), where the other rank waits in a collective call:
//
//	                get   joined get   put   swap   swaps, 64 in flight
//	Open MPI 4.1.4   33       0.9       23     37      5.0
//	  loop in C      14                  9     16
//	MPICH 4.0.2      25       0.6       53     30      4.8
//	  loop in C      13                 13      8
//
// Where both ranks do operations, a read of the cache takes 1.3 times as long as in C under Open
// MPI, and 0.8 times under MPICH (eval/docs/benchmarks.md). Within a host an operation through a
// queue of rma/shm takes 0.05 to 0.1, and a table with direct access calls nothing of this
// package. Operations on a rank that was not in use take up to 100 microseconds longer.
//
// # How it works
//
// DESIGN.md describes messages, the calls of MPI, threads, and which faults of Open MPI and MPICH
// the engine works around.
package mpi
