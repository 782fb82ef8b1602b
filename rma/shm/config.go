package shm

import (
	"fmt"
	"regexp"
	"time"
)

// Config says which rank of which job this process is.
type Config struct {
	Rank, Size int
	// member is a name that the ranks of this job share and no other job of this
	// user on this host has: letters, digits, '.', '_' and '-', at most 64.
	Job string
	// Dir is the shared memory file system; empty means /dev/shm.
	Dir string
	// Timeout bounds the wait for the other ranks; 0 means DefaultTimeout.
	Timeout time.Duration
	// Hidden windows allow no direct access, so that tables use one-sided access
	// through queues. For tests and for measuring that path.
	Hidden bool
}

// DefaultTimeout is how long a rank waits for the others to arrive.
const DefaultTimeout = time.Minute

// DefaultDir is the file system of shared memory on Linux.
const DefaultDir = "/dev/shm"

// MaxRanks is the largest number of ranks of a job on one host.
const MaxRanks = 1 << 12

var jobName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (c *Config) complete() error {
	if c.Size < 1 || c.Size > MaxRanks {
		return fmt.Errorf("rma/shm: a job has 1 to %d ranks, not %d", MaxRanks, c.Size)
	}
	if c.Rank < 0 || c.Rank >= c.Size {
		return fmt.Errorf("rma/shm: rank %d is not a rank of a job of %d", c.Rank, c.Size)
	}
	if !jobName.MatchString(c.Job) {
		return fmt.Errorf("rma/shm: job name %q: use 1 to 64 letters, digits, '.', '_' and '-'",
			c.Job)
	}
	if c.Dir == "" {
		c.Dir = DefaultDir
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	return nil
}
