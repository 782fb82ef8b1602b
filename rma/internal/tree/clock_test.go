package tree

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// asked is a connection that hands on each limit of a Read.
type asked struct {
	net.Conn
	limits chan time.Time
}

func (a *asked) SetReadDeadline(limit time.Time) error {
	a.limits <- limit
	return a.Conn.SetReadDeadline(limit)
}

// Where this process does not run, the silence of another one does not count: it is as long as this
// process's clock says.
func TestSilenceOfOwnTime(t *testing.T) {
	const silence = 4 * time.Millisecond
	one, other := net.Pipe()
	defer other.Close()
	a := &asked{one, make(chan time.Time, 100)}
	// The clock does not run.
	c := &conn{Conn: a, silence: silence, clock: newClock(silence), watched: true}
	read := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	for range 5 {
		select {
		case <-a.limits:
		case err := <-read:
			t.Fatalf("a process that does not run counts the silence of others: %v", err)
		}
	}
	c.clock.steps.Add(stepsOfSilence)
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the silence: %v", err)
	}
}

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
