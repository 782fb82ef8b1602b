package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/farhash/farhash/rma"
)

// Live has ranks of an engine make calls in real time, and checks their history as Run does. It
// is for what the simulation does not have, such as requests to the programs of other
// ranks: it is quick, and has no faults, and no two runs of a seed are the same.
func (t *Table) Live(e Engine, ranks, calls int, seed uint64) error {
	l := live{run: run{table: t}, start: time.Now()}
	err := e.Run(ranks, func(job rma.Job) error { return l.rank(job, calls, seed) })
	if err == nil {
		err = l.linearizable()
	}
	if err != nil {
		err = fmt.Errorf("%s, on %s with %d ranks, seed %d: %w", t.Name, e.Name, ranks, seed, err)
	}
	return err
}

// live is a run in real time.
type live struct {
	run
	start time.Time
	mu    sync.Mutex // of the history
}

func (l *live) rank(job rma.Job, calls int, seed uint64) error {
	ctx := context.Background()
	client, err := l.table.Open(ctx, job, rand.New(rand.NewPCG(seed, 0x0be2)))
	if err != nil {
		return fmt.Errorf("opening the table: %w", err)
	}
	rng := rand.New(rand.NewPCG(seed, uint64(job.Rank())))
	for range calls {
		if err := l.call(job, client.Draw(rng)); err != nil {
			return err
		}
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	if job.Rank() == 0 {
		for _, call := range client.Audit() {
			err = errors.Join(err, l.call(job, call))
		}
		err = errors.Join(err, client.Check(ctx, l.history))
	}
	return errors.Join(err, job.Barrier(ctx))
}

// call makes a call and keeps its operations.
func (l *live) call(job rma.Job, call Call) error {
	answers := make([]any, len(call.Inputs))
	begin := time.Since(l.start).Nanoseconds()
	err := call.Do(answers)
	end := time.Since(l.start).Nanoseconds()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, input := range call.Inputs {
		if answers[i] == nil && err == nil {
			err = fmt.Errorf("got no answer and no error: %v", input)
		}
		l.history = append(l.history, Operation{Input: input, Rank: job.Rank(), CallNs: begin,
			Answer: answers[i], ReturnNs: end})
	}
	if err != nil {
		err = fmt.Errorf("rank %d: %v: %w", job.Rank(), call.Inputs, err)
	}
	return err
}
