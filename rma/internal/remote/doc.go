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
package remote
