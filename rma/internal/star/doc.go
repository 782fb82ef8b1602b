// Package star lets the ranks of a job meet over TCP without a launcher: rank 0 listens at
// an address that all know, the others connect to it, and what a rank says to all goes
// through rank 0.
//
//	rank 1 --+
//	rank 2 --+-- hub, in the process of rank 0, which is a member of it like the others
//	rank 3 --+
//
// # Who is let in
//
// The hub listens on the address given and no other, as long as the job lasts. Whoever
// connects and knows the token of the job is let in if it has a place: a member proves by an
// HMAC over random numbers of both sides that it does, and the hub proves it in return. The token
// itself does not travel. What comes after is neither encrypted nor signed: the network between the
// ranks is trusted, the rest of the world is not.
//
//	member -> hub    magic, again, rank, ranks, nonce     52 bytes
//	hub -> member    nonce                              32 bytes
//	member -> hub    HMAC("member", nonces, rank, ranks)  32 bytes
//	hub -> member    verdict, number, HMAC("hub", ...)  40 bytes
//
// Before that is done the hub reads these bytes and no more, for five seconds at most.
//
// # What is said
//
// A frame is its length (4 bytes, little-endian), a letter and a payload:
//
//	G  to the hub     what this rank gives to the next gathering
//	R  to a member    what all have given
//	F  to a member    a rank has left or died, how often it has given before, whom it missed
//	L  to the hub     this rank leaves; if it cannot go on without another one, which
//	H  both ways      still here
//	S, X  to a member  all have come; the job does not begin, for this reason
//	A  to a member    what one that joins again has to know of the job
//	B, N  both ways   one that has joined again says that, and something more
//	K  both ways      a rank has acted upon that
//
// A gathering ends with an error for who waits for a rank that is gone and has not given. A
// rank whose gathering has failed is out of step, and all later ones fail alike.
//
// # Who is gone
//
// A connection that ends, or on which nothing comes for four beats of 750 ms, is that of a
// rank that has died, unless it has left before. A process that was itself stopped meanwhile
// grants the others as much time again. When rank 0 dies, the others learn that and nothing
// more of each other. One that has left is there until it hangs up. Where it has left because
// it missed another rank, errors name that one.
//
// A rank that is gone before all have come ends the wait of all others.
//
// # Who comes back
//
// A process may take the place of a rank that has died, but not that of rank 0. It gives to no
// gathering, as for those the rank has died. What it says is told to all others in order, with
// what else happens to ranks, and it waits until all have acted upon it. So are those who join
// again later told.
package star
