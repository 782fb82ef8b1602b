// Package tree connects the ranks of a job over TCP without a launcher: rank 0 listens at an
// address that all ranks know, and the others connect to it. What all ranks tell each other goes
// through a tree of them, so that a call takes O(log N) rounds and no rank sends more than 8 copies
// of anything.
//
//	tree, err := tree.Join(ctx, tree.Config{Rank: 1, Size: 3, Address: address, Token: token})
//	all, err := tree.Gather(ctx, mine) // what each rank gave
//	err = tree.Barrier(ctx)            // without that
//
// # The tree
//
// Rank 0 is the top. A rank divides the ranks below it into at most 8 spans of consecutive ranks of
// about the same length, and the first rank of each is its child. So up to 9 ranks are a star, 73
// ranks have 2 rounds, and 10,000 ranks have 5.
//
//	0 --+-- 1 --+-- 2       ranks of a job of 7, if the fan-out were 2
//	    |       +-- 3
//	    +-- 4 --+-- 5
//	            +-- 6
//
// Every rank has a line: its connection to rank 0, by which it has joined. A rank whose parent is
// another one connects to that one too, and from then on the line is silent until it leaves or
// needs it. Where the parent cannot be reached, or the connection to it ends, the rank uses its
// line in place of it. So the death of a rank within the tree cuts nobody off, and a network in
// which all ranks reach rank 0 is enough.
//
// # Admission
//
// Rank 0 listens on the given address and no other, as long as the job lasts; a rank with others
// below it listens at a port that the system chooses, on the address of its line. A process that
// connects is admitted if it knows the token of the job and the job has a place for it. The member
// proves by an HMAC over random numbers of both sides that it knows the token, and the listener
// proves it in return. The token itself is not sent. What follows is neither encrypted nor signed:
// the network between the ranks is trusted, all other networks are not.
//
//	member -> listener  magic, rank, ranks, its port or 0, nonce   52 bytes
//	listener -> member  nonce                                      32 bytes
//	member -> listener  HMAC("member", nonces, rank, ranks, port)  32 bytes
//	listener -> member  verdict, number, HMAC("hub", ...)          40 bytes
//
// Before that is done the listener reads these bytes and no more, for five seconds at most. If the
// system refuses a connection, as when too many files are open, the listener tries again. The error
// for ranks that do not come names that limit.
//
// # Frames
//
// A frame is its length (4 bytes, little-endian), a letter and a payload:
//
//	G  up       a number of a gathering, and what ranks gave for it
//	R  down     a number of a gathering, and what all ranks gave for it
//	F  down     ranks that have left or died; how many gatherings each took part in; the lost rank
//	            because of which it left
//	H  both     nothing: the kernel at the other end confirms it
//	L  on lines, to rank 0    this rank leaves; the lost rank because of which, if there is one
//	M, O  on lines, to rank 0    this rank has a parent and is not to be watched; it has none now
//	D  on lines, to rank 0    the connection of a child has ended
//	Z  down     the line of this rank has ended
//	S, X  on lines    all ranks have come, and where the parent is; the job ends, and why
//
// What ranks gave is a list of runs: the first rank, the number of ranks, and what each of them
// gave. A rank joins the runs of the ranks below it, and neighbours who gave the same become one.
// So a barrier takes some 30 bytes on each connection, whatever the number of ranks. A rank sends
// up when all below it that are connected to it have given; what comes later it sends up at once.
// Rank 0 knows what is missing, and sends R when nothing is.
//
// A rank whose connection to its parent has ended gives again, on its line. Rank 0 takes what it
// does not have yet, and sends the last R and all F again.
//
// A gathering ends with an error for a rank that waits for another one which is gone and has not
// contributed. Rank 0 decides which have: where it has learnt that a rank is gone, it takes nothing
// from it any more, so that all ranks come to the same end. A rank whose gathering has failed is
// out of step, and all its later ones fail alike.
//
// # Lost ranks
//
// A rank has died when its line ends, unless it has left before. A connection ends with its
// process, and a process that is stopped or gets no processor has not died, however long that is.
//
// Between hosts a rank has died as well when its host is out of reach for Config.Silence. The
// kernels say so, not the processes: each end of a connection looks whether the kernel at the other
// end has confirmed what was sent (TCP_INFO). When nothing has come for an eighth of that time, it
// sends a frame H, and TCP repeats that until it is confirmed. A kernel owes an answer for
// three quarters of that time, and at least 0.6 s, before its host is out of reach. So neither a
// process that is stopped at one end nor one at the other is an error, also when its buffers are
// full. Then its kernel is asked less and less often, and the end of its host is noticed later: by
// as much as the process has taken nothing, and by two minutes at most. Systems other than Linux
// ask by SO_KEEPALIVE. Within a host, when both ends of a connection have the same address, nobody
// asks.
//
// A rank is watched by its parent, and watches it. When the connection between them ends, the
// parent tells rank 0, which watches the line from then on. So a rank that loses only its parent is
// not lost.
//
// When rank 0 dies, the others learn that, and nothing more of each other. A rank that has left is
// present until it closes the line. Where it has left because another rank was lost, errors name
// that one.
//
// A rank that is gone before all have connected ends the wait of all others.
//
// # What it takes
//
// With 10,000 ranks of which each gives 200 bytes, every rank has 2 MB of them, and sends them 8
// times at most. Rank 0 sends 240 bytes for a barrier, 100 bytes to each rank once while they join,
// and keeps a file descriptor and a goroutine for each: some 5 KiB.
package tree
