package mpi

import "time"

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
