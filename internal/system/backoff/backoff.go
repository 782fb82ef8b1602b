// Package backoff paces loops that wait for another rank.
package backoff

import (
	"runtime"
	"time"

	"github.com/farhash/farhash/rma"
)

// Backoff paces a loop that waits for another rank: first it spins, then it
// lets other goroutines run, then it sleeps for longer and longer. Ranks may
// outnumber cores, so a waiting rank must get out of the way soon. The zero
// value is ready.
type Backoff struct {
	// Job, if it is a [Sleeper], is asked to sleep instead. It may be nil.
	Job rma.Job

	rounds int
	sleep  time.Duration
}

// Sleeper is a Job whose time is not the machine's, such as one of a simulated
// cluster.
type Sleeper interface {
	Sleep(ns int64)
}

const (
	spinRounds  = 64
	yieldRounds = 128
	minSleep    = 10 * time.Microsecond
	maxSleep    = time.Millisecond
)

// Pause waits a little longer than the last time, and reports whether it has
// slept: the moment to examine what is slower to read, such as whether a peer died.
func (b *Backoff) Pause() (slept bool) {
	if s, ok := b.Job.(Sleeper); ok {
		b.sleep = min(max(2*b.sleep, time.Microsecond), maxSleep)
		s.Sleep(b.sleep.Nanoseconds())
		return true
	}
	b.rounds++
	switch {
	case b.rounds <= spinRounds:
		return false
	case b.rounds <= yieldRounds:
		runtime.Gosched()
		return false
	}
	b.sleep = min(max(2*b.sleep, minSleep), maxSleep)
	time.Sleep(b.sleep)
	return true
}

// Reset starts over, after something was found to do.
func (b *Backoff) Reset() { *b = Backoff{Job: b.Job} }
