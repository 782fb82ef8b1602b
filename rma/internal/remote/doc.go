// Package remote is what rma/ucx and rma/mpi share, whose ranks reach each other by a library in C.
//
//	Queue     posts operations: it checks them and writes them into slots, which are memory of C
//	Window    what a Queue knows of a window
//	Server    a Window that answers requests
//	Handlers  the handlers of a rank; rma/local uses them too
//	Inbox     the requests that have come, and the goroutine that has them answered
//
// An engine embeds a Queue and adds Submit, Done, Wait and Close, and embeds a Server in its
// windows. remote.h has the same in C, with the tickets of requests, memory and threads. remote.c
// is compiled only with the tags of the engines.
//
// # Memory for requests
//
// A rank keeps a store of 32 MiB for the requests of all others. A request takes its length, the
// room for its answer and about 100 bytes, until its answer has been sent.
//
//	sender                        receiver
//	request with its words    ->  there is room: stored
//	                              there is none: its words are dropped, its claim waits
//	long request: its note    ->  its claim waits; there may be room at once
//	                          <-  grant, when room was set aside: claims have their turns in order
//	request with its words    ->  stored
//	                          <-  answer
//
// A request is long from 8 MiB / (4 * ranks) on, so what is on its way unasked is 8 MiB at most, in
// buffers of the library. With up to 32 ranks no request is long, and each finds room, as 4 from
// each rank are half of the store: nothing is asked or sent twice. There is no deadlock: what has
// room is answered without any other request, since handlers do not ship, and the longest request
// fits into an empty store. So the first claim gets room, and each becomes the first. The claims of
// a lost rank end, with their room.
package remote
