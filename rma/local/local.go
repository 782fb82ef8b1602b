package local

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/remote"
)

// MaxRanks is the largest number of ranks of a job.
const MaxRanks = 1 << 16

// Options change how a job works.
type Options struct {
	// Hidden windows allow no direct access, so that tables use one-sided access
	// through queues. For tests and for measuring that path.
	Hidden bool
	// Carries has queues ship requests and windows answer them, as rma.Carrier and rma.Server
	// say. That pays only between hosts, so it is for tests.
	Carries bool
	// Hosts, if above 1, limits direct access to the segments of ranks of the same simulated
	// host: rank r of n is on host r*Hosts/n. For tests of jobs on several hosts.
	Hosts int
}

// Run starts fn on n ranks, one goroutine each, and waits for all of them. The
// error comes from the lowest rank that failed; a panic of a rank is an error.
func Run(n int, fn func(job rma.Job) error) error { return RunWith(Options{}, n, fn) }

// RunWith is Run with options.
func RunWith(opts Options, n int, fn func(job rma.Job) error) error {
	if n < 1 || n > MaxRanks {
		return fmt.Errorf("rma/local: a job has 1 to %d ranks, not %d", MaxRanks, n)
	}
	c := newCluster(opts, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for rank := range n {
		wg.Go(func() {
			job := c.join(rank)
			errs[rank] = fmt.Errorf("rma/local: rank %d ended its goroutine", rank)
			defer func() { // after runtime.Goexit as well, as called by t.FailNow
				if errs[rank] != nil {
					c.group(rank).SetState(rank, direct.Failed)
				}
				errs[rank] = errors.Join(errs[rank], job.Close())
			}()
			errs[rank] = call(job, fn)
		})
	}
	wg.Wait()
	return firstCause(errs)
}

// Single returns a job of one rank. Close it when done.
func Single() rma.Job { return SingleWith(Options{}) }

// SingleWith is Single with options.
func SingleWith(opts Options) rma.Job { return newCluster(opts, 1).join(0) }

// call runs fn and turns a panic into an error that keeps the stack.
func call(job *member, fn func(job rma.Job) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("rma/local: rank %d panicked: %v\n%s", job.rank, p, debug.Stack())
		}
	}()
	return fn(job)
}

// firstCause prefers an error of a rank's own to the report that another rank is
// lost or has failed, which is only its consequence.
func firstCause(errs []error) error {
	var second error
	for _, err := range errs {
		var gone *rma.RankError
		var failed *rma.PeerError
		switch {
		case err == nil:
		case !errors.As(err, &gone) && !errors.As(err, &failed):
			return err
		case second == nil:
			second = err
		}
	}
	return second
}

// cluster is what the ranks of a job share.
type cluster struct {
	opts  Options
	lines []uint64

	handlers []remote.Handlers // by rank; nil where requests are not shipped

	mu      sync.Mutex
	pending map[int]*shared // windows being made, by their number
}

// shared is the memory of one window.
type shared struct {
	flat    []uint64
	err     error
	release func() error
	units   *direct.Units // of a reserved window, else nil
	users   int           // ranks that have it and have not closed it
}

func newCluster(opts Options, n int) *cluster {
	c := &cluster{opts: opts, lines: make([]uint64, n*direct.LineWords),
		pending: map[int]*shared{}}
	if opts.Carries {
		c.handlers = make([]remote.Handlers, n)
	}
	return c
}

// member is one rank of a cluster of goroutines.
type member struct {
	cluster    *cluster
	rank, size int
	group      *direct.Group

	mu      sync.Mutex
	made    int // collective calls of NewWindow
	windows direct.Registry
}

var _ rma.Job = (*member)(nil)

func (c *cluster) join(rank int) *member {
	j := &member{cluster: c, rank: rank, size: c.size(), group: c.group(rank)}
	j.group.SetState(rank, direct.Joined)
	return j
}

func (c *cluster) size() int { return len(c.lines) / direct.LineWords }

// group is a rank's view of the words for collective calls.
func (c *cluster) group(rank int) *direct.Group {
	return direct.NewGroup(rank, c.size(), c.lines, func(int) bool { return true })
}

func (j *member) Rank() int { return j.rank }
func (j *member) Size() int { return j.size }

// Barrier returns when every rank has called it.
func (j *member) Barrier(ctx context.Context) error { return j.group.Barrier(ctx) }

// NewQueue returns a queue that works on memory, an [rma.Carrier] where Options.Carries is set.
func (j *member) NewQueue(depth int) (rma.Queue, error) {
	if j.cluster.opts.Carries {
		return direct.NewCarrier(depth)
	}
	return direct.NewQueue(depth)
}

// Reserves reports whether memory of windows can be taken in parts.
func (j *member) Reserves() bool { return memory.CanReserve() }

// Failed lists the ranks whose function returned an error or panicked.
func (j *member) Failed() []int { return j.group.Failed() }

// NewWindow makes a window over memory of this process.
func (j *member) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := direct.AgreeOnSpec(ctx, j.group, spec); err != nil {
		return nil, err
	}
	number := j.made
	j.made++
	s := j.cluster.share(number, spec)
	// All ranks have taken the memory before its number is forgotten.
	if err := j.group.Barrier(ctx); err != nil {
		j.cluster.drop(number, s)
		return nil, err
	}
	j.cluster.forget(number)
	if s.err != nil {
		return nil, s.err
	}
	w := j.windows.Open(j.rank, j.size, s.flat, j.cluster.opts.Hidden,
		func() error {
			if j.cluster.handlers != nil {
				j.cluster.handlers[j.rank].Serve(uint32(number), nil)
			}
			return j.cluster.drop(number, s)
		})
	if s.units != nil {
		w.CommitBy(func(begin, end int) error { return s.units.Commit(begin*8, end*8) })
	}
	if hosts := j.cluster.opts.Hosts; hosts > 1 {
		w.Show(func(a, b int) bool { return a*hosts/j.size == b*hosts/j.size })
	}
	if j.cluster.handlers != nil {
		return direct.Served(w, j.cluster.handlers, number), nil
	}
	return w, nil
}

// share returns the memory of a window; the rank that comes first makes it.
func (c *cluster) share(number int, spec rma.Spec) *shared {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.pending[number]; s != nil {
		s.users++
		return s
	}
	s := &shared{users: 1}
	c.pending[number] = s
	words := spec.Words * c.size()
	if spec.Reserve && memory.CanReserve() {
		s.reserve(words, "window "+spec.Name)
		return s
	}
	if s.err = memory.Check(uint64(words)*8, "window "+spec.Name); s.err == nil {
		s.flat, s.release, s.err = memory.Words(words)
	}
	return s
}

// reserve maps words whose memory is taken in parts.
func (s *shared) reserve(words int, what string) {
	var block *memory.Reserved
	if block, s.err = memory.Reserve(words); s.err != nil {
		return
	}
	s.flat, s.release = block.Words, block.Release
	s.units = direct.NewUnits(what, words*8, block.Take)
}

func (c *cluster) forget(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, number)
}

// drop releases the memory when its last user has closed it.
func (c *cluster) drop(number int, s *shared) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.users--
	if s.users > 0 {
		return nil
	}
	delete(c.pending, number)
	if s.release == nil {
		return nil
	}
	return s.release()
}

// Close leaves the job and closes its windows.
func (j *member) Close() error {
	j.group.Close() // first: NewWindow may wait, holding the lock
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cluster.handlers != nil {
		j.cluster.handlers[j.rank].Close() // before the memory that they use
	}
	return j.windows.CloseAll()
}
