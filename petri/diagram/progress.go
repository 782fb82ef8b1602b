package diagram

import (
	"context"
	"math/big"
	"time"

	"github.com/farhash/farhash/symbolic"
)

// Snapshot is how far a strategy has come.
type Snapshot struct {
	Strategy  symbolic.Strategy // empty while places are ordered
	Ordering  int               // steps of that so far, of a few ns
	Stats     symbolic.Stats
	MaxBytes  uint64   // that Stats.Bytes may come to
	Saturated int      // levels, from the last one up, whose transitions are done
	Levels    int      // in all
	States    *big.Int // there are as many at least; nil before any is counted
}

// progressEvery is how often Progress is called while places are ordered.
const progressEvery = 10 * time.Millisecond

// ordering reports progress while places are ordered, and false after the end of ctx.
func (o *Options) ordering(ctx context.Context, levels int) (more func(steps int) bool) {
	last, sum := time.Now(), 0
	return func(steps int) bool {
		sum += steps
		if o.Progress != nil && time.Since(last) > progressEvery {
			o.Progress(Snapshot{Ordering: sum, Levels: levels})
			last = time.Now()
		}
		return ctx.Err() == nil
	}
}

// countShare is the part of the time that may be spent on counting what is there so far.
const countShare = 20

// reporter makes snapshots of one strategy.
type reporter struct {
	opts   *Options
	levels int
	states *big.Int
	next   time.Time // not to count before
}

// progress is the Config.Progress of a store.
func (o *Options) progress(levels int) func(*symbolic.Store) {
	if o.Progress == nil {
		return nil
	}
	r := &reporter{opts: o, levels: levels}
	return r.report
}

func (r *reporter) report(s *symbolic.Store) {
	if begin := time.Now(); begin.After(r.next) {
		if least := s.Least(); r.states == nil || least.Cmp(r.states) > 0 {
			r.states = least
		}
		r.next = time.Now().Add(countShare * time.Since(begin))
	}
	r.opts.Progress(Snapshot{Strategy: r.opts.Strategy, Stats: s.Stats(),
		MaxBytes: r.opts.MaxBytes, Saturated: s.Saturated(), Levels: r.levels, States: r.states})
}
