package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// Run starts fn on every rank of a simulated cluster and lets them run, one at a time,
// until all have ended. The argument of fn is a [*Job].
//
// The error comes from the lowest rank that failed by itself, with the seed; errors about
// other ranks come second, and a planned kill is no error. A panic of a rank is an error
// with its stack. A deadlock, and a run past its limits, are errors that list what each
// rank waits for; all ranks are unwound then. runtime.Goexit in a rank, as called by t.FailNow,
// ends the goroutine that called Run once the other ranks are unwound.
func Run(opts Options, fn func(job rma.Job) error) (Report, error) {
	opts, err := opts.complete()
	if err != nil {
		return Report{}, err
	}
	c := newCluster(opts, fn)
	defer c.release()
	defer c.unwind()
	err = c.run()
	c.unwind()
	if err == nil {
		err = c.firstCause()
	}
	c.report.TimeNs = int64(c.now / nanosecond)
	if err != nil {
		err = fmt.Errorf("sim: seed %d: %w", opts.Seed, err)
	}
	return c.report, err
}

// cluster is the whole simulation.
type cluster struct {
	opts      Options
	fn        func(job rma.Job) error
	durations durations
	limit     instant
	rng       *rand.Rand

	now       instant
	events    events
	scheduled uint64  // events so far, fewer than 2^orderBits
	ready     []*rank // ranks that run before time advances
	steps     uint64  // events and calls of the engine so far
	looksAt   uint64  // the number of them at which it looks whether the context has ended

	ranks   []*rank // by number; a rank that starts again is a new one
	current *rank   // whose turn it is; nil between turns
	alive   int     // ranks that have not ended or will start again

	hosts    []host
	pool     []*operation
	meeting  meeting
	windows  int
	reserved []*memory.Reserved // windows that are given back when the run is over
	plan     plan
	report   Report
}

// longest is how long a run may take in virtual time, so that no clock overflows.
const longest = 100 * MaxNs * nanosecond

func newCluster(opts Options, fn func(job rma.Job) error) *cluster {
	hosts := (opts.Ranks + opts.RanksPerHost - 1) / opts.RanksPerHost
	c := &cluster{opts: opts, fn: fn, limit: longest,
		durations: opts.Cost.durations(hosts, opts.Incoherent),
		rng:       rand.New(rand.NewPCG(opts.Seed, 0x5eed0fa11)),
		ranks:     make([]*rank, opts.Ranks), hosts: make([]host, hosts), alive: opts.Ranks}
	if opts.MaxTimeNs > 0 {
		c.limit = instant(opts.MaxTimeNs) * nanosecond
	}
	c.report.Seed = opts.Seed
	c.meeting.calls = make([]call, opts.Ranks)
	c.makePlan()
	for id := range c.ranks {
		c.ranks[id] = newRank(c, id)
		c.scheduleTurn(0, wake, c.ranks[id])
	}
	return c
}

// unwind ends the ranks that have not ended by themselves.
func (c *cluster) unwind() {
	for _, r := range c.ranks {
		if !r.ended {
			r.dead = true
			c.current = r
			r.stop()
			c.current = nil
		}
	}
}

// release gives reserved windows back, which no rank uses any more.
func (c *cluster) release() {
	for _, block := range c.reserved {
		_ = block.Release()
	}
}

// firstCause is the error to return: one of a rank's own before the report that another
// rank is gone or has failed.
func (c *cluster) firstCause() error {
	var second error
	for _, r := range c.ranks {
		if r.err != nil && !isEcho(r.err) {
			return r.err
		}
		if second == nil {
			second = r.err
		}
	}
	return second
}

func isEcho(err error) bool {
	var gone *rma.RankError
	var failed *rma.PeerError
	return errors.As(err, &gone) || errors.As(err, &failed)
}

// chance is true once in so many times; never for 0.
func (c *cluster) chance(oneIn int) bool { return oneIn > 0 && c.rng.IntN(oneIn) == 0 }

// upTo is a random duration of 0 to maxNs.
func (c *cluster) upTo(maxNs int64) instant {
	if maxNs == 0 {
		return 0
	}
	return instant(c.rng.Int64N(maxNs*int64(nanosecond) + 1))
}

// stall is a rare delay of a message or of a rank.
func (c *cluster) stall() instant {
	if !c.chance(c.opts.StallEvery) {
		return 0
	}
	c.report.Stalls++
	return c.upTo(c.opts.StallNs)
}

// trace writes a line for people.
func (c *cluster) trace(format string, args ...any) {
	if c.opts.Trace != nil {
		fmt.Fprintf(c.opts.Trace, "%v: %s\n", c.now, fmt.Sprintf(format, args...))
	}
}
