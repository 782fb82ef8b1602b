package mpi

import "time"

// Config changes how a job is joined. The zero value is ready.
type Config struct {
	// Timeout bounds the wait for the other ranks; 0 means DefaultTimeout.
	Timeout time.Duration
	// Hidden windows give no load/store view, and everything goes through MPI, also
	// between ranks of one host. For tests and for measuring that path.
	Hidden bool
}

// DefaultTimeout is how long a rank waits for the others to arrive.
const DefaultTimeout = time.Minute

// ProgressInterval is how often the engine enters MPI for other ranks when this one
// does not. An operation on the memory of a rank that computes takes so much longer.
const ProgressInterval = 100 * time.Microsecond
