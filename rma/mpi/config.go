package mpi

import "time"

// Config changes how a job is joined. The zero value is ready.
type Config struct {
	// Timeout bounds the wait for the other ranks; 0 means DefaultTimeout.
	Timeout time.Duration
	// Hidden windows give no load/store view, and everything goes through MPI, also
	// between ranks of one host. For tests and for measuring that path.
	Hidden bool
	// Passive has MPI called by nobody but the callers of this engine, while they call it: for
	// programs that have initialised MPI for one thread, and call it themselves at other
	// times. What is done to the memory of a rank then waits until that rank calls MPI.
	// The same on every rank.
	Passive bool
}

// DefaultTimeout is how long a rank waits for the others to arrive.
const DefaultTimeout = time.Minute

// ProgressInterval is how often the engine enters MPI for other ranks when this one
// does not. An operation on the memory of a rank that computes takes so much longer.
const ProgressInterval = 100 * time.Microsecond
