package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/symbolic"
	"github.com/farhash/farhash/statespace/symbolic/spread"
)

// Options control an exploration.
type Options struct {
	// MaxBytes is the memory for diagrams, as in symbolic.Config; 0 means 0.8 of what is left.
	MaxBytes uint64
	// Strategy of firing. Empty means symbolic.Race: two at the same time, with half of the memory
	// each.
	Strategy symbolic.Strategy
	// Goroutines is how many goroutines work on one diagram, as in symbolic.Config. 0 means 1, or
	// what symbolic.Race gives each strategy.
	Goroutines int
	// Deadlocks has states counted as well that no state follows.
	Deadlocks bool
}

// Result is what was found. All numbers are exact.
type Result struct {
	States    *big.Int
	Deadlocks *big.Int // nil: not asked for

	Strategy symbolic.Strategy
	Nodes    int // of the set of all reachable states
	Stats    symbolic.Stats
	Elapsed  time.Duration
	Reaching time.Duration // the part of it until all states were found
}

// Explore finds all reachable states of a model. Without enough memory the error is a
// *symbolic.FullError; after the end of ctx its cause.
func Explore(ctx context.Context, m *Model, opts Options) (res *Result, err error) {
	begin := time.Now()
	if opts.Strategy != "" {
		res, err = explore(ctx, m, opts)
	} else {
		res, err = symbolic.Race(ctx, opts.MaxBytes, func(ctx context.Context,
			strategy symbolic.Strategy, cfg symbolic.Config) (*Result, error) {
			opts := opts
			opts.Strategy, opts.MaxBytes = strategy, cfg.MaxBytes
			opts.Goroutines = cmp.Or(opts.Goroutines, cfg.Goroutines)
			return explore(ctx, m, opts)
		})
	}
	if err != nil {
		return nil, err
	}
	res.Elapsed = time.Since(begin)
	return res, nil
}

// explore explores by the strategy of opts.
func explore(ctx context.Context, m *Model, opts Options) (_ *Result, err error) {
	begin := time.Now()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("model: %w", context.Cause(ctx))
	}
	s, err := symbolic.New(ctx, symbolic.Config{Levels: m.Levels, MaxBytes: opts.MaxBytes,
		Goroutines: opts.Goroutines})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	initial, relations, err := m.Load(s)
	if err != nil {
		return nil, err
	}
	all, err := s.ReachBy(initial, relations, opts.Strategy)
	if err != nil {
		return nil, err
	}
	s.Hold(all)
	res := &Result{Strategy: opts.Strategy, Reaching: time.Since(begin)}
	if opts.Deadlocks {
		stuck, err := s.StuckBy(all, relations)
		if err != nil {
			return nil, err
		}
		if res.Deadlocks, err = s.Count(stuck); err != nil {
			return nil, err
		}
	}
	if res.States, err = s.Count(all); err != nil {
		return nil, err
	}
	res.Nodes, err = s.Size(all)
	res.Stats = s.Stats()
	return res, err
}

// Spread is what ExploreSpread has found.
type Spread struct {
	States   *big.Int
	Nodes    []uint64 // of the set of all reachable states, by the rank that has them
	Stats    spread.Stats
	Elapsed  time.Duration
	Reaching time.Duration // the part of it until all states were found
}

// ExploreSpread counts all reachable states of a model, in one diagram in the memory of all ranks:
// maxBytes for all of them together. Each rank has all relations. Package spread says what that
// costs, and how it fails. Collective.
func ExploreSpread(ctx context.Context, job rma.Job, m *Model, maxBytes uint64) (res *Spread,
	err error) {
	begin := time.Now()
	d, err := spread.New(ctx, job, spread.Config{Levels: m.Levels, MaxBytes: maxBytes})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	from, err := m.spread(ctx, d, maxBytes/uint64(job.Size()))
	if err = rma.AllSucceeded(ctx, job, "model: relations", err); err != nil {
		return nil, err
	}
	all, err := d.Reach(ctx, from)
	if err != nil {
		return nil, err
	}
	reaching := time.Since(begin)
	counted, err := d.Count(ctx, all)
	if err != nil {
		return nil, err
	}
	return &Spread{counted.Vectors, counted.Nodes, d.Stats(), time.Since(begin), reaching}, nil
}

// spread gives a diagram of all ranks the relations and the initial set. The store that they are
// read into takes half of the memory of a rank at most.
func (m *Model) spread(ctx context.Context, d *spread.Diagram, bytes uint64) (from spread.Node,
	err error) {
	s, err := symbolic.New(ctx, symbolic.Config{Levels: m.Levels, MaxBytes: bytes / 2})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	initial, relations, err := m.Load(s)
	if err != nil {
		return 0, err
	}
	if err := d.AddRelations(s, relations...); err != nil {
		return 0, err
	}
	return d.Import(s, initial)
}
