package symbolic

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// crew is how the workers of a store work together. Most of the time each works by itself, and
// reads signal alone.
type crew struct {
	signal atomic.Uint32 // what workers must attend to
	events atomic.Uint32 // changes whenever something below does

	mu        sync.Mutex
	changed   sync.Cond
	queue     []*task // offered and not taken
	running   int     // workers that make calls
	hungry    int     // workers that could make a call of another one
	exclusive bool    // a worker is alone, or about to be
	helpers   int     // goroutines of this operation
	over      bool    // the operation has ended: helpers are to end
	failure   any     // the panic that has ended it

	goroutines sync.WaitGroup // helpers
}

// The bits of signal.
const (
	hasEnded    = 1 << iota // the context of the store
	hasFailed               // another worker
	wantsHalt               // a worker wants to be alone
	wantsTasks              // a worker has nothing to do
	progressDue             // Config.Progress is to be called
)

// errOther is the error of workers that end as another one has failed.
var errOther = errors.New("symbolic: another goroutine has failed")

// set sets or clears a bit of signal.
func (c *crew) set(bit uint32, on bool) {
	if on {
		c.signal.Or(bit)
	} else {
		c.signal.And(^bit)
	}
}

// notify tells all that wait that something has changed. The lock is held.
func (c *crew) notify() {
	c.set(wantsTasks, c.hungry > len(c.queue))
	c.events.Add(1)
	c.changed.Broadcast()
}

// attend does what signal asks for, at a point where all nodes that the worker needs are reachable.
func (w *worker) attend() {
	signal := w.crew.signal.Load()
	switch {
	case signal&hasEnded != 0:
		panic(stop{w.cause()})
	case signal&hasFailed != 0:
		panic(stop{errOther})
	case signal&wantsHalt != 0:
		w.halt()
	case signal&progressDue != 0:
		w.report()
	case signal&wantsTasks != 0 && w.forked-w.offered >= w.leastForked:
		w.offer()
	}
}

// halt waits while another worker is alone.
func (w *worker) halt() {
	c := &w.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest()
}

// rest lets a worker that wants to be alone be so. The lock is held.
func (c *crew) rest() {
	for c.exclusive {
		c.running--
		c.notify()
		for c.exclusive {
			c.changed.Wait()
		}
		c.running++
	}
}

// alone runs f while no other worker runs. What w needs is reachable.
func (w *worker) alone(f func()) {
	c := &w.crew
	c.mu.Lock()
	c.rest()
	c.exclusive = true
	c.set(wantsHalt, true)
	defer func() {
		c.exclusive = false
		c.set(wantsHalt, false)
		c.notify()
		c.mu.Unlock()
	}()
	for c.running > 1 {
		c.changed.Wait()
	}
	f()
}

// offer lets others make the oldest call that w has forked: most often the largest one.
func (w *worker) offer() {
	c := &w.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) < c.hungry {
		t := &w.tasks[w.offered]
		t.state = offered
		w.offered++
		c.queue = append(c.queue, t)
		c.notify()
	}
}

// joinOffered ends the last fork, which was offered.
func (w *worker) joinOffered() (Node, bool) {
	c, t := &w.crew, &w.tasks[w.forked]
	c.mu.Lock()
	defer c.mu.Unlock()
	isTaken := t.state != offered
	if isTaken {
		w.forked++ // in use until it is done
		w.wait(func() bool { return t.state == done })
		if t.state != done {
			panic(stop{errOther})
		}
		w.forked--
	} else {
		c.queue = slices.DeleteFunc(c.queue, func(other *task) bool { return other == t })
		c.notify()
	}
	t.state = private
	w.offered = w.forked
	return t.result, isTaken
}

// wait makes calls of others until something is so. The lock is held.
func (w *worker) wait(is func() bool) {
	c := &w.crew
	may := w.depth < w.deepest/2 // else the calls could be too deep in each other
	leave := func(n int) {
		c.running -= n
		if may {
			c.hungry += n
		}
		c.notify()
	}
	leave(1)
	for c.exclusive || !is() && c.signal.Load()&hasFailed == 0 {
		if may && !c.exclusive && len(c.queue) > 0 {
			t := c.queue[0]
			c.queue = slices.Delete(c.queue, 0, 1)
			t.state = taken
			leave(-1)
			t.result = w.makeCall(t)
			t.state = done
			leave(1)
			continue
		}
		c.sleep()
	}
	leave(-1)
}

// makeCall makes the call of a task without the lock.
func (w *worker) makeCall(t *task) Node {
	w.crew.mu.Unlock()
	defer w.crew.mu.Lock()
	return w.make(&t.call)
}

// spins is how often a worker looks for an event before it sleeps: some microseconds.
const spins = 2000

// sleep waits for an event, awake at first. The lock is held.
func (c *crew) sleep() {
	seen := c.events.Load()
	c.mu.Unlock()
	for i := 0; i < spins && c.events.Load() == seen; i++ {
	}
	c.mu.Lock()
	if c.events.Load() == seen {
		c.changed.Wait()
	}
}

// callHelpers starts the other goroutines of an operation that takes a while, as many as there may
// be now.
func (w *worker) callHelpers() {
	c := &w.crew
	most := len(w.workers) - 1
	if c.helpers >= most {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.cache.shared = true
	for ; c.helpers < most; c.helpers++ {
		helper := w.workers[c.helpers+1]
		c.running++
		c.goroutines.Go(helper.help)
	}
}

// help makes calls of others until the operation is over.
func (w *worker) help() {
	c := &w.crew
	c.mu.Lock()
	defer func() {
		c.leave(recover())
		c.mu.Unlock()
	}()
	w.wait(func() bool { return c.over })
}

// leave ends the work of a goroutine, which a panic may have ended. The lock is held.
func (c *crew) leave(r any) {
	if s, ok := r.(stop); r != nil && (!ok || s.err != errOther) {
		if c.failure == nil {
			c.failure = r
		}
		c.set(hasFailed, true)
	}
	c.running--
	c.notify()
}

// end ends an operation, after the goroutine that has called, and returns the panic that has ended
// it.
func (c *crew) end(r any) (failure any) {
	c.mu.Lock()
	c.over = true
	c.leave(r)
	c.mu.Unlock()
	c.goroutines.Wait()
	failure = c.failure
	c.over, c.failure, c.helpers, c.queue = false, nil, 0, c.queue[:0]
	c.signal.And(hasEnded | progressDue)
	return failure
}
