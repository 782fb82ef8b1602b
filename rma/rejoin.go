package rma

import (
	"fmt"
	"slices"
)

// A Rejoiner is a job of an engine where a new process may take the place of a rank that has
// died. Its memory begins with zeros, and what the rank held is lost, so a table has to support
// it. For the other ranks it remains a rank that has failed: collective calls fail as before, and
// Failed lists it. A queue does not access the memory of ranks that have rejoined since the queue
// was made.
type Rejoiner interface {
	Job
	// Rejoined reports whether this process has taken such a place. Its collective calls fail.
	// Its NewWindow takes over the next window of that key which the others have made.
	Rejoined() bool
	// Incarnation is the number of processes that have taken the place of a rank after the
	// first one, and whether the present one is alive, as far as this rank knows.
	Incarnation(rank int) (number int, alive bool)
	// Returns counts how often this rank has seen others rejoin.
	Returns() uint64
}

// Rejoined reports whether this process has taken the place of a rank that had died.
func Rejoined(job Job) bool {
	r, ok := job.(Rejoiner)
	return ok && r.Rejoined()
}

// Returns counts how often this rank has seen others rejoin. Older queues do not access their
// memory.
func Returns(job Job) uint64 {
	if r, ok := job.(Rejoiner); ok {
		return r.Returns()
	}
	return 0
}

// Incarnation is the incarnation of this rank: 0 for the first process.
func Incarnation(job Job) int {
	r, ok := job.(Rejoiner)
	if !ok {
		return 0
	}
	number, _ := r.Incarnation(job.Rank())
	return number
}

// Dead reports whether the process with that incarnation of a rank is gone.
func Dead(job Job, rank, incarnation int) bool {
	r, ok := job.(Rejoiner)
	if !ok {
		return slices.Contains(job.Failed(), rank)
	}
	now, alive := r.Incarnation(rank)
	return incarnation < now || incarnation == now && !alive
}

// refuseRejoined is the error of a call that needs everything that every rank has held.
func refuseRejoined(job Job, what string) error {
	if !Rejoined(job) {
		return nil
	}
	return fmt.Errorf("%s: rank %d has rejoined, and what it held is lost, which only a cache "+
		"supports; end the job and start all ranks again, from a checkpoint or by Load",
		what, job.Rank())
}
