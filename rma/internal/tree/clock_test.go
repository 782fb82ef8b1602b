package tree

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// A rank may count by a time that it is given.
func TestElapsed(t *testing.T) {
	now := atomic.Int64{}
	job := newTree(Config{Size: 1, Silence: time.Millisecond,
		Elapsed: func() time.Duration { return time.Duration(now.Add(1) - 1) }})
	over := job.AfterSilence()
	for now.Load() < 10 { // which asks while a millisecond passes again and again
		runtime.Gosched()
	}
	select {
	case <-over:
		t.Error("the silence is over when 10 ns are")
	default:
	}
	now.Store(int64(2 * time.Millisecond))
	<-over
}

// Who waits does so for at least the time given, and not for a clock that has ended.
func TestAfter(t *testing.T) {
	begin, c := time.Now(), newClock(64*time.Millisecond)
	<-c.after(20 * time.Millisecond)
	if passed := time.Since(begin); passed < 20*time.Millisecond {
		t.Errorf("20 ms are over after %v", passed)
	}
	c.end()
	c.end()
	select {
	case <-c.after(time.Hour):
		t.Error("an hour is over when the clock ends")
	default:
	}
}
