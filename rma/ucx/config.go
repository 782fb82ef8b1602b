package ucx

import "time"

// Config says which rank of which job this process is.
type Config struct {
	Rank, Size int
	// Rendezvous is the HOST:PORT where rank 0 listens while the ranks meet, and which the
	// others connect to.
	Rendezvous string
	// Token is what only the ranks of this job know: the same random text on each, of 8 bytes
	// at least.
	Token string
	// Timeout bounds the wait for the other ranks; 0 means DefaultTimeout.
	Timeout time.Duration
	// Hidden windows give no load/store view, and everything goes through UCX, also between
	// ranks of one host. For tests and for measuring that path.
	Hidden bool
	// Rejoin has this process take the place of a rank of a running job, but rank 0, that has
	// died: see the documentation of the package.
	Rejoin bool
}

// DefaultTimeout is how long a rank waits for the others to arrive.
const DefaultTimeout = time.Minute
