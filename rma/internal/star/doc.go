// Package star connects the ranks of a job over TCP without a launcher: rank 0 listens at an
// address that all ranks know, and the others connect to it. A message to all ranks goes through
// rank 0.
//
//	rank 1 --+
//	rank 2 --+-- hub, in the process of rank 0, which is a member like the others
//	rank 3 --+
//
// # Admission
//
// The hub listens on the given address and no other, as long as the job lasts. A process that
// connects is admitted if it knows the token of the job and the job has a place for it. The member
// proves by an HMAC over random numbers of both sides that it knows the token, and the hub proves
// it in return. The token itself is not sent. What follows is neither encrypted nor signed: the
// network between the ranks is trusted, all other networks are not.
//
//	member -> hub    magic, rank, ranks, nonce            48 bytes
//	hub -> member    nonce                                32 bytes
//	member -> hub    HMAC("member", nonces, rank, ranks)  32 bytes
//	hub -> member    verdict, number, HMAC("hub", ...)    40 bytes
//
// Before that is done the hub reads these bytes and no more, for five seconds at most.
//
// # Frames
//
// A frame is its length (4 bytes, little-endian), a letter and a payload:
//
//	G  to the hub     this rank's payload for the next gathering
//	R  to a member    the payloads of all ranks
//	F  to a member    a rank has left or died; the gatherings that it took part in before; the
//	                  lost rank because of which it left
//	L  to the hub     this rank leaves; the lost rank because of which it does, if there is one
//	H  both ways      a sign of life
//	S, X  to a member  all ranks have connected; the job does not begin, with the reason
//
// A gathering ends with an error for a rank that waits for another one which is gone and has not
// contributed. A rank whose gathering has failed is out of step, and all its later ones fail alike.
//
// # Lost ranks
//
// A rank has died when its connection ends, or when nothing comes on it for four beats of 750 ms,
// unless it has left before. A process that was itself stopped grants the others as much time
// again. When rank 0 dies, the others learn that, and nothing more of each other. A rank that
// has left is present until it closes the connection. Where it has left because another rank was
// lost, errors name that one.
//
// A rank that is gone before all have connected ends the wait of all others.
package star
