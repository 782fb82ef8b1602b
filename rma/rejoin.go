package rma

import (
	"fmt"
	"slices"
)

// A Rejoiner is a job of an engine where a new process may take the place of a rank that has
// died. Its memory begins anew, all zeros, and what the rank held is lost, so a table has to
// allow it. To the others it remains a rank that has failed: collective calls go on to fail,
// and Failed to list it. A queue does not reach the memory of ranks that have come back since
// the queue was made.
type Rejoiner interface {
	Job
	// Rejoined tells whether this process has taken such a place. Its collective calls fail;
	// NewWindow takes over the next window of that name which the others have made.
	Rejoined() bool
	// Life tells how often the place of a rank was taken anew, and whether the process that has
	// it is alive, as far as this rank knows.
	Life(rank int) (life int, alive bool)
	// Returns counts how often this rank has seen others come back.
	Returns() uint64
}

// Rejoined tells whether this process has taken the place of a rank that had died.
func Rejoined(job Job) bool {
	r, ok := job.(Rejoiner)
	return ok && r.Rejoined()
}

// Returns counts how often this rank has seen others come back: queues that are older do not
// reach their memory.
func Returns(job Job) uint64 {
	if r, ok := job.(Rejoiner); ok {
		return r.Returns()
	}
	return 0
}

// Life is how often the place of this rank was taken anew.
func Life(job Job) int {
	r, ok := job.(Rejoiner)
	if !ok {
		return 0
	}
	life, _ := r.Life(job.Rank())
	return life
}

// Dead tells whether the process is gone that had the place of a rank after it was taken anew
// so often.
func Dead(job Job, rank, life int) bool {
	r, ok := job.(Rejoiner)
	if !ok {
		return slices.Contains(job.Failed(), rank)
	}
	now, alive := r.Life(rank)
	return life < now || life == now && !alive
}

// refuseRejoined is the error of what needs all that every rank has held.
func refuseRejoined(job Job, what string) error {
	if !Rejoined(job) {
		return nil
	}
	return fmt.Errorf("%s: rank %d has joined again, and what it held is lost, which a cache "+
		"alone can bear; end the job and start all ranks anew, from a checkpoint or by Load",
		what, job.Rank())
}
