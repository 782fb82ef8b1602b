// Package rejoin says which processes have had the place of a rank. Engines that let ranks rejoin
// implement [Job]. What is written for all engines uses the functions. [rma.Rejoined] is public, as
// programs need it.
package rejoin

import (
	"slices"

	"github.com/farhash/farhash/rma"
)

// Job is a job of an engine where a new process may take the place of a rank that has
// died. Its memory begins with zeros, and what the rank held is lost, so a table has to support
// it. For the other ranks it remains a rank that has failed: collective calls fail as before, and
// Failed lists it. A queue does not access the memory of ranks that have rejoined since the queue
// was made.
type Job interface {
	rma.Job
	// Rejoined reports whether this process has taken such a place. Its collective calls fail.
	// Its NewWindow takes over the next window of that key which the others have made.
	Rejoined() bool
	// Incarnation is the number of processes that have taken the place of a rank after the
	// first one, and whether the present one is alive, as far as this rank knows.
	Incarnation(rank int) (number int, alive bool)
	// Returns counts how often this rank has seen others rejoin.
	Returns() uint64
}

// Returns counts how often this rank has seen others rejoin. Older queues do not access their
// memory.
func Returns(job rma.Job) uint64 {
	if r, ok := job.(Job); ok {
		return r.Returns()
	}
	return 0
}

// Incarnation is the incarnation of this rank: 0 for the first process.
func Incarnation(job rma.Job) int {
	r, ok := job.(Job)
	if !ok {
		return 0
	}
	number, _ := r.Incarnation(job.Rank())
	return number
}

// Dead reports whether the process with that incarnation of a rank is gone.
func Dead(job rma.Job, rank, incarnation int) bool {
	r, ok := job.(Job)
	if !ok {
		return slices.Contains(job.Failed(), rank)
	}
	now, alive := r.Incarnation(rank)
	return incarnation < now || incarnation == now && !alive
}
