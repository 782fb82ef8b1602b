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
// What the ranks say to each other is neither encrypted nor signed, and UCX accepts connections
// on all devices that it uses (UCX_NET_DEVICES): the network between the ranks must be trusted.
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
// finds with high probability what it looks for, as a litmus test does.
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
// # Threads
//
// A rank has one worker of UCX and a lock around it. Who waits for an operation makes progress
// for all, and lets others run in between. When nobody waits, a thread of C sleeps until the
// worker's event descriptor tells of something, so a rank that computes serves the others. Over
// TCP the target's processor does the work, but no thread of its program. UCX_TCP_CONN_NB is set
// to y if it is not set: else UCX waits for a connection to a host that was cut off, for
// minutes, while nobody else can make progress.
//
// # Ranks that are lost
//
// A rank is lost when its connection to rank 0 ends without a farewell, when nothing is heard of
// it there for three seconds, or when UCX tells of an error of its endpoint. What others have in
// flight there, and ask of it later, ends with an error that is an [rma.RankError]; its
// segment is then not used by neighbours either, so that all see the same. Failed lists it,
// collective calls fail, and operations among the others go on. If rank 0 is lost, the others
// probe each other by a get of a word, and who does not answer for a second and a half is lost.
// A process that was stopped for longer is lost; one that sees that it was stopped itself does
// not blame the others. Where UCX never answers for an operation, its slot and the memory of its
// queue are kept. A lost rank does not come back.
//
// Where all ranks are on one host, memory outlives its owner, as rma/shm says.
//
// Close waits until all others have left or are lost: until then they may use this rank's
// memory. Abandon, for a rank that has failed, waits for five seconds. Where rank 0 is lost
// nobody knows who has left, and Close does not wait.
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
// it in few gets.
package ucx
