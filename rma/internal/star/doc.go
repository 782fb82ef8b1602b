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
// The hub listens on the address given and no other, until all ranks have come. Whoever
// connects and knows the token of the job is let in: a member proves by an HMAC over random
// numbers of both sides that it does, and the hub proves it in return. The token itself does
// not travel. What comes after is neither encrypted nor signed: the network between the
// ranks is trusted, the rest of the world is not.
//
//	member -> hub    magic, rank, ranks, nonce          48 bytes
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
//	F  to a member    a rank has left or died, and how often it has given before
//	L  to the hub     this rank leaves
//	H  both ways      still here
//	S, X  to a member  all have come; the job does not begin, for this reason
//
// A gathering ends with an error for who waits for a rank that is gone and has not given. A
// rank whose gathering has failed is out of step, and all later ones fail alike.
//
// # Who is gone
//
// A connection that ends, or on which nothing comes for four beats of 750 ms, is that of a
// rank that has died, unless it has left before. A process that was itself stopped meanwhile
// grants the others as much time again. When rank 0 dies, the others learn that and nothing
// more of each other.
package star
