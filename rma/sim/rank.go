package sim

import (
	"fmt"
	"iter"
	"runtime/debug"
)

// rank is a rank: its function is a coroutine that runs while the scheduler waits.
type rank struct {
	c   *cluster
	id  int
	job *Job

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	clock   instant // its own time, never before the cluster's while it runs
	stops   uint32  // times that it gave its turn away
	blocked bool    // it waits for waiting to be over, and nothing else will wake it
	waiting waiting
	checkIn instant // until it next examines the context of a collective call
	calls   uint64  // of the engine
	last    place   // of the operation posted last
	dead    bool    // killed, or the run is over: it is to unwind
	ended   bool    // its function has returned or is unwound
	err     error
	slow    float64 // factor of its processor's time
	diedAt  instant

	deadlyCall uint64 // in which it is killed, 0 for none

	arrivals int   // collective calls that it made
	broken   error // why it can make no more
	left     bool  // its job is closed
	failed   bool  // it died
}

// unwinding is the panic by which a rank leaves its function when it is killed.
type unwinding struct{ rank int }

func newRank(c *cluster, id int) *rank {
	r := &rank{c: c, id: id, slow: c.plan.slow[id],
		deadlyCall: c.opts.Faults.deadlyCall(id)}
	r.job = &Job{r: r}
	r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
		r.yield = yield
		r.main()
	})
	return r
}

// main runs the rank's function and records how it ends. A Goexit passes through.
func (r *rank) main() {
	r.err = fmt.Errorf("rank %d ended its goroutine", r.id)
	defer func() {
		p := recover()
		if _, planned := p.(unwinding); p != nil && !planned {
			r.err = fmt.Errorf("rank %d panicked: %v\n%s", r.id, p, debug.Stack())
		}
		r.end()
	}()
	r.unwindIfDead() // killed before it began
	r.err = r.c.fn(r.job)
}

// end records that the rank is gone: dead for the others if its function failed.
func (r *rank) end() {
	c := r.c
	r.ended = true
	if r.dead {
		r.err = nil // it was killed as planned, or the run has an error of its own
		return
	}
	c.alive--
	if r.err != nil && c.opts.Trace != nil {
		c.trace("rank %d fails: %v", r.id, r.err)
	}
	r.leave(r.err != nil)
}

// leave makes the rank known as gone: in good order, or dead.
func (r *rank) leave(died bool) {
	r.failed = r.failed || died
	if !r.left {
		r.left = true
		r.c.depart(r, !died)
	}
}

// resume gives a rank its turn until it waits, sleeps or ends.
func (c *cluster) resume(r *rank) {
	if r.ended {
		return
	}
	r.stops++
	r.blocked = false
	r.clock = max(r.clock, c.now)
	c.report.Turns++
	c.current = r
	r.next()
	c.current = nil
}

// suspend gives the turn away until the rank is woken.
func (r *rank) suspend() {
	if !r.yield(struct{}{}) {
		r.dead = true
	}
	r.unwindIfDead()
}

func (r *rank) unwindIfDead() {
	if r.dead {
		panic(unwinding{r.id})
	}
}

// wakeAt has a rank that waits continue at a moment.
func (c *cluster) wakeAt(r *rank, at instant) {
	r.blocked = false
	if at > c.now {
		c.scheduleTurn(at, wake, r)
	} else {
		c.ready = append(c.ready, r)
	}
}

// enter begins every call of the engine that can take time or be the last of a rank.
func (r *rank) enter() {
	r.unwindIfDead()
	c := r.c
	if c.current != r {
		panic(fmt.Sprintf("sim: rank %d calls the engine when it is not its turn; "+
			"a rank of the simulation is one goroutine", r.id))
	}
	r.calls++
	c.steps++
	if c.over() {
		c.wakeAt(r, c.now) // the scheduler sees that it is over
		r.suspend()
	}
	if c.plan.deadlyCalls {
		c.drawKill(r)
		r.unwindIfDead()
	}
	if c.opts.StallEvery > 0 {
		r.clock += c.stall()
	}
}

// spend lets time of the rank's processor pass. Others notice at the next advance.
func (r *rank) spend(d instant) {
	if r.slow != 1 {
		d = instant(min(float64(d)*r.slow, float64(MaxNs*nanosecond)))
	}
	r.clock += d
}
