package rma

import "math"

// A Committer is a window that may have been made with [Spec].Reserve.
type Committer interface {
	// Commit makes sure that there is memory for words at (rank, off), which is zeroed at first.
	// Before, no rank may use them; when it has returned nil, every rank may. Any rank may call it
	// for any other, from any goroutine and as often as it likes. An error is a syscall.ENOMEM or
	// syscall.ENOSPC and says what to do; words that were committed before stay. A range outside
	// the segment panics. Where memory was taken at once Commit does nothing.
	Commit(rank, off, words int) error
}

// reserver is a job of an engine that knows [Spec].Reserve.
type reserver interface{ Reserves() bool }

// Reserves reports whether windows with [Spec].Reserve take memory only when it is committed. Ranks
// of several hosts may get different answers.
func Reserves(job Job) bool {
	r, ok := job.(reserver)
	return ok && r.Reserves()
}

// limited is a job whose windows are not in plain memory.
type limited interface{ Room() uint64 }

// Room is how many bytes the file system of shared memory has left for windows of this host;
// math.MaxUint64 where windows are plain memory.
func Room(job Job) uint64 {
	if l, ok := job.(limited); ok {
		return l.Room()
	}
	return math.MaxUint64
}
