package sim

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// Job is a rank's membership in a simulated cluster. It belongs to one goroutine: the
// one in which Run called the rank's function.
type Job struct {
	r *rank
}

var (
	_ rma.Job    = (*Job)(nil)
	_ rma.Priced = (*Job)(nil)
)

func (j *Job) Rank() int { return j.r.id }
func (j *Job) Size() int { return len(j.r.c.ranks) }

// GetCosts are what gets from another host cost a rank, by Options.Cost.
func (j *Job) GetCosts() rma.GetCosts {
	c := j.r.c
	return c.opts.Cost.gets((len(c.ranks) + len(c.hosts) - 1) / len(c.hosts))
}

// NowNs is the virtual time in nanoseconds. All that other ranks do before it has
// happened.
func (j *Job) NowNs() int64 {
	j.r.enter()
	j.r.advance()
	return int64(j.r.clock / nanosecond)
}

// Sleep lets virtual time pass: to back off, or to pace a loop that waits.
func (j *Job) Sleep(ns int64) {
	j.r.enter()
	j.r.clock += duration(ns)
	j.r.advance()
}

// Compute is Sleep for work that a slow rank takes longer for.
func (j *Job) Compute(ns int64) {
	j.r.enter()
	j.r.spend(duration(ns))
	j.r.advance()
}

// duration keeps clocks from overflowing: no sleep is longer than MaxNs.
func duration(ns int64) instant { return instant(min(max(ns, 0), MaxNs)) * nanosecond }

// Rand returns a source of random numbers that the seed and the rank decide.
func (j *Job) Rand() *rand.Rand {
	return rand.New(rand.NewPCG(j.r.c.opts.Seed, uint64(j.r.id)<<32))
}

// NewWindow makes a window over memory of this process.
func (j *Job) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	j.r.enter()
	s, err := j.r.meet(ctx, call{window: true, spec: spec})
	if err != nil {
		return nil, err
	}
	return &window{r: j.r, s: s}, nil
}

// Barrier returns when every rank has called it.
func (j *Job) Barrier(ctx context.Context) error {
	j.r.enter()
	_, err := j.r.meet(ctx, call{})
	return err
}

// NewQueue returns a queue with room for depth operations in flight.
func (j *Job) NewQueue(depth int) (rma.Queue, error) {
	j.r.enter()
	if depth < 1 {
		return nil, fmt.Errorf("sim: a queue needs a depth of at least 1, not %d", depth)
	}
	return newQueue(j.r, depth), nil
}

// Reserves reports whether memory of windows can be taken in parts.
func (j *Job) Reserves() bool { return memory.CanReserve() }

// Failed lists the ranks that were killed or whose function returned an error or panicked.
func (j *Job) Failed() []int {
	j.r.enter()
	j.r.spend(j.r.c.durations.poll)
	j.r.advance()
	var failed []int
	for _, r := range j.r.c.ranks {
		if r.failed {
			failed = append(failed, r.id)
		}
	}
	return failed
}

// Close leaves the job.
func (j *Job) Close() error {
	if !j.r.dead {
		j.r.leave(false)
	}
	return nil
}
