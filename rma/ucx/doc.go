// Package ucx is the engine whose ranks are processes of one host or of many that reach each
// other by UCX: InfiniBand, RoCE or TCP. No launcher of another library is needed, and ranks
// may be lost. It needs cgo and is built with a tag; without, Join says how:
//
//	go build -tags ucx ./cmd/farhash    # pkg-config ucx: libucx-dev
//
// # Start
//
// On each host, with an address of the first one and a token that only the ranks know:
//
//	farhash run --rendezvous 10.0.0.1:29500 --nnodes 2 --node-rank 0 --nproc 2 \
//	    --token-file token -- PROGRAM
//
// Under srun, mpirun or torchrun, set alike for all ranks FARHASH_ENGINE=ucx,
// FARHASH_RENDEZVOUS=HOST:PORT and FARHASH_TOKEN or FARHASH_TOKEN_FILE. The program calls
// farhash.Join or farhash.Run, or [Join] with a [Config] of its own. An error names ranks that do
// not come.
//
// # Direct access
//
// Ranks of one host share memory by rma/shm, and there are three cases:
//
//	all on one host   windows and queues come from rma/shm; UCX is not used
//	several hosts     a rank loads and stores memory of its own host directly; where processor
//	                  atomics agree with UCX's, it uses these too; all else goes by UCX
//	[Config].Hidden   every rank has memory of its own, and everything goes by UCX
//
// On several hosts, and with Hidden, windows are [rma.Server]s and queues [rma.Carrier]s.
//
// # Ranks that are lost
//
// A rank is lost when its connection to rank 0 ends and it has not left, when it is on another host
// that is out of reach for [Config].Silence, or when UCX reports an error of its endpoint. The
// kernel of a host says whether it is in reach (rma/internal/tree): a process that is stopped, or
// gets no processor, is not lost, and the others wait until it goes on. Operations on its
// memory, in flight or later, end with an error that is an [rma.RankError]. Failed lists the rank,
// collective calls fail, and operations among the others continue. A request to a lost rank ends
// with an error whether its handler has run or not. Memory of a lost rank of the same host stays,
// and direct access to it continues. If rank 0 is lost, the others ping each other, and a rank that
// does not answer for [Config].Silence is lost, also one that is stopped for so long. The time in
// which a rank was stopped itself does not count against the others.
//
// # The end
//
// Close waits until all others have left or are lost: until then they may use this rank's memory.
// Abandon, for a rank that has failed, waits for five seconds, and so does Join when it fails.
// Where the rank has lost another one, the errors of the others name that one. Where rank 0 is lost
// no rank learns which others have left, and Close does not wait. The memory of a window is
// released when all ranks have closed it, by the next NewWindow.
//
// # What the token protects, and what it does not
//
// A process that does not know the token does not become a rank: rank 0 reads 88 bytes from a new
// connection at the rendezvous, for at most five seconds, and closes it. Rank 0 listens at the
// given address and no other. With more than 9 ranks, some others listen as well, each at a port
// that the system chooses on the address of its connection to rank 0, and admit ranks alike.
//
// Messages between ranks are neither encrypted nor signed. UCX makes each rank listen at a port
// that the system chooses, on every device for TCP, and does not authenticate connections there: a
// process that reaches the port can end the rank, in UCX 1.13 by 13 bytes, and one that speaks
// UCX's protocol can read and write its memory. So only the hosts of a job may reach these ports.
// Where UCX_NET_DEVICES is not set, a rank has UCX use only one device for TCP, the one of its
// connection to rank 0, and all InfiniBand and RoCE cards; UCX_NET_DEVICES=all undoes that. farhash
// doctor lists these ports.
//
// # What it costs
//
// A message costs the same whatever its length, so few long gets, or requests, are best. Requests
// with answers of the same length, four in flight, between two network namespaces over TCP, UCX
// 1.13, on a busy machine of two cores:
//
//	words each way                    1      64    1024    8192
//	requests a second             97000   70000   75000   24000
//	million words a second          0.1     4.5      77     200
//	microseconds of one alone        25      22      25      57
//
//	go test -tags ucx -bench 'Rates|Ships' -run - -benchtime 1x ./rma/ucx
//
// measures these, and gets, puts and swaps.
//
// # How ranks meet
//
// Ranks connect to rank 0, which admits processes that know the token, and to each other in a tree
// (rma/internal/tree). Barriers, and messages by which ranks make a window, go through it. Ranks
// exchange what identifies their hosts (kernel, /dev/shm and host name), have ranks of one host
// share memory, and exchange the addresses of their UCX workers.
//
// The memory of a segment is registered with UCX. UCX keeps it registered with a card after the
// window is closed, until libc unmaps it. Go unmaps without libc, so the engine tells UCX:
// otherwise ranks read and write the pages of the closed window where the next one has its address.
//
// # Litmus test
//
// Atomics of a network card need not be atomic with respect to a processor's, and UCP does
// not say which of the two it uses. So Join has every rank add to words of a rank on another host
// and swap them, while the owner does the same by the processor, and all count. If no update is
// lost, [rma.Window].CPUAtomicsCoherent holds. Otherwise every compare-and-swap and fetch-and-add
// goes through UCX, also within a host; plain loads and stores remain direct. If UCX alone loses
// updates, Join fails. The test finds lost updates with high probability where every tenth is lost,
// and hardly where it is one of thousands, as with atomics of Soft-RoCE, which UCX 1.13 does not
// use: internal/verbs tests the atomics of a device alone, and for longer. [Loopback] does the test
// between two ranks of one process, as farhash doctor does.
//
// # Queues
//
// rma/internal/remote writes operations into slots, which are memory of C, and one call posts a
// batch. UCX's callbacks write the state of a slot last, and Go reads it without a call. A put is
// done when a flush of its endpoint is, one for all puts of a batch to a rank. UCX orders nothing
// and a queue guarantees order on the same words. So it counts the lines in flight. An operation on
// one of these, unless all are gets, waits, and so do those posted after it. A batch waits for the
// first operation in flight, so that what can continue then is submitted together; when that takes
// more than a millisecond, as where a packet was lost, for any of them.
//
// # Requests
//
// A request of up to 64 KiB is one active message, and so is its answer. With the words goes a note
// of 24 bytes:
//
//	serial  8 bytes  number of the request among all of its sender
//	window  4        its number: windows are made in the same order everywhere
//	rank    4        of the sender
//	ticket  1        one of four that the sender of the request has for the other rank
//	turn    1        it comes with its words, asks for room, or has been given room
//	words   2        of the request
//	room    4        words that the answer may have; in an answer 0, or why there is none
//
// A request needs a ticket, which is free again when the answer has come. So each rank has at most
// four requests in flight to another one, from all its queues. Others wait, in the order in which
// they were submitted, and delay no other operations. The thread that takes an answer sends the
// next request.
//
// A callback of UCX copies a request into the inbox, and one goroutine of the job takes them in the
// order in which they came, calls the handlers and sends the answers, also while Close waits for
// the other ranks. The inbox has at most four requests of each rank. Each takes memory for its
// words and for the room of its answer, until that is sent. All together they have 32 MiB, and as
// much as a quarter of that is on its way, however many ranks there are; a rank keeps 160 bytes for
// each other one besides. So requests take 40.2 MiB at most with 1,000 ranks, and 41.5 with
// 10,000. A request that there is no room for is sent again when there is, as rma/internal/remote
// says; 32 ranks never need that, nor do 1,000 ranks with requests of 262 words and answers of 700.
// Requests beyond four, or longer than allowed, are refused and not stored. So are requests of
// ranks that are lost, which may be alive,
// also those that came before the loss. An answer is taken if ticket and serial belong to a
// request that waits, and if it fits into the room that was given.
//
// A rank that computes answers when Go lets the goroutine run: at once if a processor of GOMAXPROCS
// is free, else after the rest of a time slice of ten milliseconds. Requests to ranks of the same
// host, and to oneself, go through UCX too.
//
// # Threads
//
// A rank has one UCX worker and a lock around it. A goroutine that waits for an operation makes
// progress for all, and lets others run in between. When none waits, a thread of C sleeps until the
// worker's event descriptor signals an event, so a rank that computes serves the others. Where more
// than eight ranks of a host share a processor that thread alone makes progress, and it wakes the
// threads that wait: if these polled, they would keep the processors from the ranks that they wait
// for. Over TCP the target's processor does the work, but no goroutine of its program, except for
// requests. Where UCX may use TCP, UCX_TCP_CONN_NB is set to y if it is not set: otherwise UCX
// waits for a connection to a host that was cut off, for minutes, while nothing else can make
// progress.
//
// # What UCX does not give back
//
// Where UCX never completes an operation on a lost rank, its slot and the memory of its queue are
// kept. Where UCX does not close an endpoint within a tenth of a second, because bytes wait that
// the other side does not take, the operations are given up as well. The worker of a job that has
// lost a rank stays until the process ends.
//
// No operation on a rank starts before a first get has shown that UCX has connected the two, so
// that the endpoint of a rank that is cut off before that can stay open. UCX 1.13 aborts a process
// that closes an endpoint, or a worker, while it still has to answer a request to connect (its pull
// request 8175), and in other cases where a connection over TCP breaks. workarounds.c says which,
// and prevents that. It is compiled only with headers older than 1.14, and changes nothing where
// the program runs with a later library. It replaces functions of UCX, which does not work in a
// program that is itself loaded as a library, by dlopen, after UCX.
//
// The C files have an order, which internal.h lists: a file calls only what is below it.
package ucx
