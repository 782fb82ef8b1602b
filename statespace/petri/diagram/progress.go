package diagram

import (
	"context"
	"math/big"
	"runtime"
	"time"

	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/symbolic"
)

// Snapshot is how far a strategy has come.
type Snapshot struct {
	Strategy  symbolic.Strategy // empty while places are ordered
	Ran       time.Duration     // processor time, with ordering places; by several goroutines, time
	Stats     symbolic.Stats
	MaxBytes  uint64   // that Stats.Bytes may come to
	Saturated int      // levels, from the last one up, whose transitions are done
	Levels    int      // in all
	States    *big.Int // there are as many at least; nil before any is counted
}

// progressEvery is how often Progress is called while places are ordered.
const progressEvery = 10 * time.Millisecond

// clock measures the processor time of a goroutine that is locked to its thread; of several
// goroutines, and where that is not known, the time without pauses.
type clock struct {
	thread time.Duration // when the clock was started
	known  bool
	begin  time.Time
	before time.Duration // that counts as well
	paused time.Duration
}

func newClock(before time.Duration, locked bool) *clock {
	c := &clock{begin: time.Now(), before: before}
	if locked {
		c.thread, c.known = threadTime()
	}
	return c
}

func (c *clock) ran() time.Duration {
	if c.known {
		now, _ := threadTime()
		return c.before + now - c.thread
	}
	return c.before + time.Since(c.begin) - c.paused
}

// report calls Progress.
func (c *clock) report(progress func(Snapshot), s Snapshot) {
	s.Ran = c.ran()
	begin := time.Now()
	progress(s)
	c.paused += time.Since(begin)
}

// order chooses an order.
func (o *Options) order(ctx context.Context, net *petri.Net) error {
	var c *clock
	if o.Progress != nil {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		c = newClock(0, true)
	}
	if o.Order.Places == nil {
		last := time.Now()
		o.Order = choose(net, func() bool {
			if o.Progress != nil && time.Since(last) > progressEvery {
				c.report(o.Progress, Snapshot{Levels: len(net.Places)})
				last = time.Now()
			}
			return ctx.Err() == nil
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if o.Progress != nil {
		o.ordered = c.ran()
	}
	return nil
}

const (
	// countShare is the part of the time, one in so many, that may be spent on counting what is
	// there so far.
	countShare = 20
	// leastNodes are counted at any time. To count a node takes as long as some calls of
	// operations, so there may be one node for so many calls that were made.
	leastNodes   = 1 << 15
	callsPerNode = 100
)

// reporter makes snapshots of one strategy.
type reporter struct {
	opts   *Options
	clock  *clock
	levels int
	states *big.Int
	next   time.Time // not to count before
}

// progress is the Config.Progress of a store.
func (o *Options) progress(levels int) func(*symbolic.Store) {
	if o.Progress == nil {
		return nil
	}
	r := &reporter{opts: o, clock: newClock(o.ordered, o.Goroutines <= 1), levels: levels}
	return r.report
}

func (r *reporter) report(s *symbolic.Store) {
	if begin := time.Now(); begin.After(r.next) {
		nodes := max(leastNodes, int(s.Stats().Lookups/callsPerNode))
		if least := s.Least(nodes); r.states == nil || least.Cmp(r.states) > 0 {
			r.states = least
		}
		r.next = time.Now().Add(countShare * time.Since(begin))
	}
	r.clock.report(r.opts.Progress, Snapshot{Strategy: r.opts.Strategy, Stats: s.Stats(),
		MaxBytes: r.opts.MaxBytes, Saturated: s.Saturated(), Levels: r.levels, States: r.states})
}
