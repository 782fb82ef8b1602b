package mpi

import (
	"time"
	"unsafe"
)

// Config changes how a job is joined. The zero value is ready.
type Config struct {
	// Timeout bounds the wait for the other ranks; 0 means a minute, and five seconds more for
	// each rank with which this one shares a processor.
	Timeout time.Duration
	// Hidden windows allow no direct access: everything goes through MPI, also between ranks of
	// one host. For tests and for measuring that path.
	Hidden bool
	// Passive: the engine calls MPI only in the threads of its callers, during their calls. It
	// is for programs that have initialised MPI for one thread, and call it themselves at other
	// times. Operations on the memory of a rank then wait until that rank calls MPI. The same
	// on every rank.
	Passive bool
}

// Singles are what a caller in C moves the words of a window by. Get and Put are of type
//
//	int (*)(void *window, int rank, int64_t offset, uint64_t *words, int64_t n)
//
// and return when the words have arrived, with 0, or with an error, after which MPI may still
// access them. Puts and gets in other threads, and in queues, are in no order with them.
type Singles struct {
	Window   unsafe.Pointer // their first argument
	Get, Put unsafe.Pointer
	Direct   unsafe.Pointer // uint64_t **: by rank, a segment that this process addresses, or NULL
}
