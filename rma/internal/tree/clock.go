package tree

import (
	"sync"
	"sync/atomic"
	"time"
)

// stepsOfSilence is in how many steps a clock counts the time for which a rank may be silent.
const stepsOfSilence = 64

// clock counts the time in which this process ran, in steps. A step that takes longer counts as
// one: a process that was stopped, or got no processor, does not count that time against the
// others, whose signs of life it has not read.
type clock struct {
	elapsed func() time.Duration // is asked in place of the steps, if it is there
	step    time.Duration
	steps   atomic.Int64
	begun   sync.Once
	ended   sync.Once
	stop    chan struct{}
}

func newClock(silence time.Duration) *clock {
	return &clock{step: max(silence/stepsOfSilence, 1), stop: make(chan struct{})}
}

// start has the clock count, if it does not yet.
func (c *clock) start() {
	if c.elapsed == nil {
		c.begun.Do(func() { go c.count() })
	}
}

// now is the time counted so far.
func (c *clock) now() time.Duration {
	if c.elapsed != nil {
		return c.elapsed()
	}
	return time.Duration(c.steps.Load()) * c.step
}

func (c *clock) count() {
	step := time.NewTimer(c.step)
	defer step.Stop()
	for {
		select {
		case <-step.C:
			c.steps.Add(1)
			step.Reset(c.step)
		case <-c.stop:
			return
		}
	}
}

// end ends the counting. It may be called again.
func (c *clock) end() { c.ended.Do(func() { close(c.stop) }) }

// after returns a channel that is closed when so much time has been counted.
func (c *clock) after(d time.Duration) <-chan struct{} {
	c.start()
	over, begun := make(chan struct{}), c.now()
	go func() {
		for left := d; left > 0; left = d - (c.now() - begun) {
			select {
			case <-time.After(left):
			case <-c.stop:
				return
			}
		}
		close(over)
	}()
	return over
}
