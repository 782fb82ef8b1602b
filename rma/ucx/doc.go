// Package ucx is the engine whose ranks are processes of one host or of many that reach each other
// by UCX: InfiniBand, RoCE or TCP. No launcher of another library is needed, and ranks may be
// lost. It needs cgo and is built with a tag; without, Join says how:
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
// A rank is lost when its connection to rank 0 ends and it has not left, when it is on another
// host that is out of reach for [Config].Silence, or when UCX reports an error of its endpoint.
// The kernel of a host says whether it is in reach (rma/internal/tree): a process that is stopped,
// or gets no processor, is not lost, and the others wait until it goes on. Operations on its
// memory, in flight or later, end with an error that is an [rma.RankError]. Failed lists the rank,
// collective calls fail, and operations among the others continue. A request to a lost rank ends
// with an error whether its handler has run or not. Memory of a lost rank of the same host stays,
// and direct access to it continues. If rank 0 is lost, the others ping each other, and a rank
// that does not answer for [Config].Silence is lost, also one that is stopped for so long. The
// time in which a rank was stopped itself does not count against the others.
//
// # The end
//
// Close waits until all others have left or are lost: until then they may use this rank's memory.
// Abandon, for a rank that has failed, waits for five seconds, and so does Join when it fails.
// Where the rank has lost another one, the errors of the others name that one. Where rank 0 is
// lost no rank learns which others have left, and Close does not wait. The memory of a window is
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
// connection to rank 0, and all InfiniBand and RoCE cards; UCX_NET_DEVICES=all undoes that.
// farhash doctor lists these ports.
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
// # How it works
//
// DESIGN.md describes how ranks meet, queues, requests, threads, and which faults of UCX the
// engine works around.
package ucx
