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
// FARHASH_RENDEZVOUS=HOST:PORT and FARHASH_TOKEN or FARHASH_TOKEN_FILE.
//
// Ranks meet in a star around rank 0 (rma/internal/star), who lets in who knows the token, and
// tell each other the addresses of their workers of UCX. Ranks that do not come are named.
// Barriers and what ranks agree on when they make a window go through the star.
//
// # What the token protects, and what it does not
//
// Who does not know the token does not become a rank: rank 0, at the rendezvous, reads 84 bytes
// from who connects, for five seconds at most, and hangs up. It listens at the address given and
// no other.
//
// The token does not protect what comes after. What the ranks say to each other is neither
// encrypted nor signed. Each rank also listens at a port that the system chooses, by UCX, on
// every device that UCX reaches by TCP, and UCX asks nobody there who it is: who reaches the port
// can end the rank, in UCX 1.13 by 13 bytes, and who speaks UCX's protocol can read and write its
// memory. So only the hosts of a job may reach these ports. Where UCX_NET_DEVICES is not set a
// rank has UCX use, of the devices that it reaches by TCP, the one alone by which the rank meets
// rank 0, and all InfiniBand and RoCE cards as before; UCX_NET_DEVICES=all undoes that. farhash
// doctor tells which ports these are.
//
// # Memory
//
// When ranks meet they tell each other of their hosts: same kernel, same /dev/shm, same host
// name. Ranks of one host share memory by rma/shm, and there are three cases:
//
//	all on one host   the windows and queues are those of rma/shm, nothing of UCX
//	several hosts     each host's segments lie in memory that its ranks share, registered with
//	                  UCX; within a host operations are loads, stores and, where they agree
//	                  with UCX, atomics of the processor; all else goes by UCX
//	[Config].Hidden   segments are memory of each rank alone, and everything goes by UCX
//
// Memory of a window is given back when all ranks have closed it, by the next NewWindow.
//
// # Litmus
//
// Whether atomics of a network card and of processors agree, nobody tells. So at the start
// every rank adds to words of a rank on another host and swaps them, while the owner does so by
// the processor, and all count. If no update is lost, [rma.Caps].CPUAtomicsCoherent holds; else
// it does not, and every compare-and-swap and fetch-and-add goes through UCX, within a host too;
// plain loads and stores still go direct. If UCX alone loses updates, Join fails. The test
// finds with high probability what it looks for, as a litmus test does. [LookAround] lists what
// UCX sees on a host, and [Loopback] does the test between two ranks of one process, which is
// how farhash doctor tries it out.
//
// # Queues
//
// Go writes operations into slots in memory of C, and a batch is posted by one call. UCX's
// callbacks write the state of a slot last of all, and Go reads it without a call. A put is done
// when a flush of its endpoint is, one for all puts of a batch to a rank. UCX orders nothing and
// a queue promises order on the same words, so it counts the lines in flight, and an operation
// on one of these, unless all are gets, waits for its turn, and those behind it with it. Buffers
// are those of Alloc; another one panics.
//
// # Requests
//
// Windows are [rma.Server]s and queues [rma.Carrier]s: a request of up to 64 KiB travels to the
// program of another rank as one active message, and its answer comes back as one. Beside the
// words, which are all its data, each carries a note of 24 bytes:
//
//	serial  8 bytes  number of the request among all of its sender
//	window  4        its number: windows are made in the same order everywhere
//	rank    4        who sends this
//	ticket  4        one of four that the sender of the request has for the other rank
//	room    4        words that the answer may have; in an answer 0, or why there is none
//
// Who has a ticket may have a request on its way; it is free again when the answer has come. So
// each rank has at most four requests at a time on their way to another one, from all its
// queues, and further ones wait for their turn in the order in which they were submitted. They
// hold up neither other operations of their queue nor requests to other ranks, whoever takes
// an answer sends the next one, and requests clash with nothing.
//
// A callback of UCX copies a request into the inbox, and one goroutine of the job takes them
// in the order in which they came, calls the handlers and sends the answers, while Close
// waits for the others as well. The inbox has at most four requests of each rank, and as many
// answers may be on their way back: 8 * ranks * 128 KiB, kept for what comes later. What
// is beyond that, or longer than allowed, is refused and written nowhere. An answer is taken
// if ticket and serial are those of a request that somebody waits for, and fits into the room
// that was given; others are late, from ranks that were given up, and are dropped. Where a rank
// has no handler for a window, the answer says so: [rma.ErrNotServed].
//
// A request to a rank that is lost ends like a get of its memory, whether its handler has run or
// not. Requests of a lost rank that are in the inbox are dropped. A rank that computes answers
// when Go lets the goroutine run: at once if a processor of GOMAXPROCS is free, else after the
// rest of a time slice of ten milliseconds, then all that is in the inbox. Requests to
// ranks of the same host, and to oneself, go through UCX too. Where all ranks are on one host
// the windows are those of rma/shm, which are no servers.
//
// # Threads
//
// A rank has one worker of UCX and a lock around it. Who waits for an operation makes progress
// for all, and lets others run in between. When nobody waits, a thread of C sleeps until the
// worker's event descriptor tells of something, so a rank that computes serves the others. Over
// TCP the target's processor does the work, but no thread of its program, save for requests.
// UCX_TCP_CONN_NB is set to y if it is not set: else UCX waits for a connection to a host that
// was cut off, for minutes, while nobody else can make progress.
//
// # Ranks that are lost
//
// A rank is lost when its connection to rank 0 ends without a farewell, when nothing is heard of
// it there for three seconds, or when UCX tells of an error of its endpoint. What others have in
// flight there, and ask of it later, ends with an error that is an [rma.RankError], also on
// queues of neighbours. Memory of a neighbour that a table sees by [Window].Words outlives it,
// and who works there directly goes on. Failed lists it,
// collective calls fail, and operations among the others go on. If rank 0 is lost, the others
// probe each other by a get of a word, and who does not answer for a second and a half is lost.
// A process that was stopped for longer is lost; one that sees that it was stopped itself does
// not blame the others. Where UCX never answers for an operation, its slot and the memory of its
// queue are kept. Where it does not close an endpoint in a tenth of a second, because bytes wait
// that nobody takes any more, the operations are given up all the same.
//
// Nothing is asked of a rank before a first get has shown that UCX has connected the two: a rank
// that is cut off meanwhile is then one whose endpoint can be left alone. UCX 1.13 aborts a
// process that closes an endpoint, or a worker, while it still has to answer a wish to connect
// (its pull request 8175), and in other cases where a connection over TCP breaks: mend.c, purge.c
// and defer.c tell which, and keep it from that: they stand before functions of UCX, which a
// program does not that is itself loaded as a library, by dlopen, after UCX. The worker of a job
// that has lost a rank stays until the process ends.
//
// Where all ranks are on one host, memory outlives its owner, as rma/shm says.
//
// Close waits until all others have left or are lost: until then they may use this rank's
// memory. Abandon, for a rank that has failed, waits for five seconds, and so does Join when it
// fails. Where the rank has lost another one, the others blame that one, and not this rank.
// Where rank 0 is lost nobody knows who has left, and Close does not wait.
//
// # Ranks that come back
//
// A new process may take the place of a rank that has died, but not that of rank 0, with
// [Config].Rejoin (farhash.Rejoin, FARHASH_REJOIN=1, farhash run --rejoin RANK). It greets rank 0,
// who still listens, and is let in if it knows the token and the others miss the rank; until they
// do, which takes three seconds where a host was cut off, it is refused. Rank 0 tells it of the
// workers and windows of the others. Join returns when all of them reach its worker instead of
// the old one.
//
// NewWindow then takes over the next window of that name that the others have, with a segment of
// zeros, and returns when all reach it. Until then, and in windows that it does not take over, what
// they ask of the rank ends with an error as before. So it does for ever on queues that they
// made before the rank came back: what a step machine has seen of the old memory must not
// lead it in the new one. Neighbours reach the new segment through UCX as others do, and
// [Window].Words is nil for it. The litmus test is not done again.
//
// For collective calls the rank stays lost, on all ranks, and Failed goes on to list it. Tables
// can tell lives of a rank apart by [rma.Rejoiner].
//
// A process that was only taken for dead, since it was stopped, and goes on after another one
// has its place, has lost rank 0 and is known to nobody, but its gets and puts still arrive.
//
// # What was measured
//
//	go test -tags ucx -bench Rates -run - -benchtime 1x ./rma/ucx
//
// Microseconds of one operation of 64 bytes (swaps: 8) between two network namespaces over TCP,
// UCX 1.13, on a busy machine of two cores:
//
//	               get   put   swap
//	1 in flight     23    23     15
//	16              6     6      8
//	64              6     5      9
//
// A message costs that much whatever it carries, so what asks for much at once should ask for
// it in few gets, or ship it:
//
//	go test -tags ucx -bench Ships -run - -benchtime 1x ./rma/ucx
//
// Requests that are answered with as many words, four in flight:
//
//	words each way                    1      64    1024    8192
//	requests a second             97000   70000   75000   24000
//	million words a second          0.1     4.5      77     200
//	microseconds of one alone        25      22      25      57
package ucx
