package set

import (
	"context"
	"errors"
	"sync"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// callServer lets goroutines use a simulated cluster as they use other engines. Each call of
// the engine is put into the list of its rank. A rank of the simulation makes the calls of its
// list one after the other. While it waits within one, the others let virtual time pass. Time
// stops until there is a call when no rank has anything to do, or when ranks still wait after a
// long time, as they do for a rank that has not called Barrier yet.
type callServer struct {
	mu      sync.Mutex // guards what follows
	arrived *sync.Cond
	calls   [][]func(job *sim.Job) // of each rank
	pending int
	working int // ranks that are within a call
	ticks   int // in a row, while no call began or ended
	closed  []bool

	over chan struct{} // closed when the simulation has ended
}

// runSimulated runs fn for every rank, each in a goroutine of its own.
func runSimulated(n int, seed uint64, fn func(job rma.Job) error) error {
	o := &callServer{calls: make([][]func(*sim.Job), n), closed: make([]bool, n),
		over: make(chan struct{})}
	o.arrived = sync.NewCond(&o.mu)
	failed := make(chan error)
	go func() {
		failed <- onAll(n, func(rank int) error {
			defer o.close(rank)
			return fn(&simulatedJob{server: o, rank: rank, size: n})
		})
	}()
	_, err := sim.Run(sim.Random(n, seed), o.serve)
	close(o.over)
	return errors.Join(err, <-failed)
}

const (
	// tickNs is how long a rank without calls sleeps while others work.
	tickNs = 1_000_000
	// maxTicks of it are longer than any operation takes.
	maxTicks = 20
)

// serve is a rank of the simulation.
func (o *callServer) serve(job rma.Job) error {
	rank := job.Rank()
	for {
		call, closed := o.nextCall(rank)
		switch {
		case call != nil:
			call(job.(*sim.Job))
			o.mu.Lock()
			o.working--
			o.ticks = 0
			o.mu.Unlock()
		case closed:
			return nil
		default:
			job.(*sim.Job).Sleep(tickNs)
		}
	}
}

// nextCall is a rank's next call, nil when another rank is to run.
func (o *callServer) nextCall(rank int) (call func(*sim.Job), closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.pending == 0 && (o.working == 0 || o.ticks > maxTicks) && !o.closed[rank] {
		o.arrived.Wait()
	}
	o.ticks++
	if len(o.calls[rank]) == 0 {
		return nil, o.closed[rank]
	}
	o.ticks = 0
	call = o.calls[rank][0]
	o.calls[rank] = o.calls[rank][1:]
	o.pending--
	o.working++
	return call, false
}

// do has a rank make a call, and returns when it has.
func (o *callServer) do(rank int, call func(job *sim.Job)) {
	done := make(chan struct{})
	o.mu.Lock()
	o.calls[rank] = append(o.calls[rank], func(job *sim.Job) {
		call(job)
		close(done)
	})
	o.pending++
	o.mu.Unlock()
	o.arrived.Signal()
	select {
	case <-done:
	case <-o.over:
		panic("the simulation has ended, and its error says why")
	}
}

func (o *callServer) close(rank int) {
	o.mu.Lock()
	o.closed[rank] = true
	o.mu.Unlock()
	o.arrived.Signal()
}

// simulatedJob is a rank of a callServer.
type simulatedJob struct {
	server     *callServer
	rank, size int
}

func (j *simulatedJob) Rank() int { return j.rank }
func (j *simulatedJob) Size() int { return j.size }

func (j *simulatedJob) NewWindow(ctx context.Context, spec rma.Spec) (w rma.Window, err error) {
	j.server.do(j.rank, func(job *sim.Job) { w, err = job.NewWindow(ctx, spec) })
	return w, err
}

func (j *simulatedJob) Barrier(ctx context.Context) (err error) {
	j.server.do(j.rank, func(job *sim.Job) { err = job.Barrier(ctx) })
	return err
}

func (j *simulatedJob) NewQueue(depth int) (q rma.Queue, err error) {
	j.server.do(j.rank, func(job *sim.Job) { q, err = job.NewQueue(depth) })
	if err != nil {
		return nil, err
	}
	return &simulatedQueue{Queue: q, job: j}, nil
}

func (j *simulatedJob) Failed() (ranks []int) {
	j.server.do(j.rank, func(job *sim.Job) { ranks = job.Failed() })
	return ranks
}

func (j *simulatedJob) Close() (err error) {
	j.server.do(j.rank, func(job *sim.Job) { err = job.Close() })
	return err
}

// simulatedQueue has its rank do all that is not Alloc or Stats.
type simulatedQueue struct {
	rma.Queue
	job *simulatedJob
}

func (q *simulatedQueue) do(call func()) {
	q.job.server.do(q.job.rank, func(*sim.Job) { call() })
}

func (q *simulatedQueue) Get(dst rma.Buf, w rma.Window, rank, off int) (h rma.Handle) {
	q.do(func() { h = q.Queue.Get(dst, w, rank, off) })
	return h
}

func (q *simulatedQueue) Put(src rma.Buf, w rma.Window, rank, off int) (h rma.Handle) {
	q.do(func() { h = q.Queue.Put(src, w, rank, off) })
	return h
}

func (q *simulatedQueue) CompareAndSwap(w rma.Window, rank, off int,
	old, newWord uint64) (h rma.Handle) {
	q.do(func() { h = q.Queue.CompareAndSwap(w, rank, off, old, newWord) })
	return h
}

func (q *simulatedQueue) FetchAdd(w rma.Window, rank, off int, delta uint64) (h rma.Handle) {
	q.do(func() { h = q.Queue.FetchAdd(w, rank, off, delta) })
	return h
}

func (q *simulatedQueue) Submit() (err error) {
	q.do(func() { err = q.Queue.Submit() })
	return err
}

func (q *simulatedQueue) Done(h rma.Handle) (done bool) {
	q.do(func() { done = q.Queue.Done(h) })
	return done
}

func (q *simulatedQueue) Wait(ctx context.Context, h rma.Handle) (err error) {
	q.do(func() { err = q.Queue.Wait(ctx, h) })
	return err
}

func (q *simulatedQueue) Value(h rma.Handle) (word uint64, err error) {
	q.do(func() { word, err = q.Queue.Value(h) })
	return word, err
}

func (q *simulatedQueue) Close() (err error) {
	q.do(func() { err = q.Queue.Close() })
	return err
}
