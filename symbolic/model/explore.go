package model

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"sync"
	"time"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/symbolic"
)

// Options control an exploration.
type Options struct {
	// MaxBytes is the memory for diagrams, as in symbolic.Config; 0 means 0.8 of what is left.
	MaxBytes uint64
	// Strategy of firing. Empty lets symbolic.Saturation and symbolic.Loops run at the same time,
	// with half of the memory and of the goroutines each: neither is always the better one, and the
	// first answer counts.
	Strategy symbolic.Strategy
	// Deadlocks has states counted as well that no state follows.
	Deadlocks bool

	goroutines int // of one strategy; 0: as in symbolic.Config
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
		res, err = race(ctx, m, opts)
	}
	if err != nil {
		return nil, err
	}
	res.Elapsed = time.Since(begin)
	return res, nil
}

// errLost ends the strategy that another one has beaten.
var errLost = errors.New("another strategy has found the answer")

// race explores by two strategies at the same time, and ends one when the other has the answer.
func race(ctx context.Context, m *Model, opts Options) (*Result, error) {
	strategies := [2]symbolic.Strategy{symbolic.Loops, symbolic.Saturation}
	if opts.MaxBytes == 0 {
		left, err := memory.Now()
		if err != nil {
			return nil, fmt.Errorf("how much memory there is cannot be found (%w); give a limit",
				err)
		}
		opts.MaxBytes = left.Bytes / 5 * 4
	}
	opts.MaxBytes /= uint64(len(strategies))
	opts.goroutines = max(1, runtime.GOMAXPROCS(0)/len(strategies))
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var results [len(strategies)]*Result
	var errs [len(strategies)]error
	var all sync.WaitGroup
	for i, strategy := range strategies {
		opts := opts
		opts.Strategy = strategy
		all.Go(func() {
			if results[i], errs[i] = explore(ctx, m, opts); errs[i] == nil {
				end(errLost)
			}
		})
	}
	all.Wait()
	for _, res := range results {
		if res != nil {
			return res, nil
		}
	}
	return nil, errs[0]
}

// explore explores by the strategy of opts.
func explore(ctx context.Context, m *Model, opts Options) (_ *Result, err error) {
	begin := time.Now()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("model: %w", context.Cause(ctx))
	}
	s, err := symbolic.New(ctx, symbolic.Config{Levels: m.Levels, MaxBytes: opts.MaxBytes,
		Goroutines: opts.goroutines})
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
		res.Deadlocks = s.Count(stuck)
	}
	res.States, res.Nodes = s.Count(all), s.Size(all)
	res.Stats = s.Stats()
	return res, nil
}
