package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// maxFaults is how many faults a check reports.
const maxFaults = 10

// Faults collects what a check finds broken.
type Faults struct {
	Table string // for messages: "set"
	found []error
	more  int
}

// Add adds a fault. Only the first ones are kept.
func (f *Faults) Add(format string, args ...any) {
	if len(f.found) == maxFaults {
		f.more++
		return
	}
	f.found = append(f.found, fmt.Errorf(f.Table+": "+format, args...))
}

// Err is all faults, nil if there are none.
func (f *Faults) Err() error {
	if f.more > 0 {
		more := fmt.Errorf("%s: and %d more faults", f.Table, f.more)
		return errors.Join(append(f.found, more)...)
	}
	return errors.Join(f.found...)
}

// CheckAll waits for all ranks, runs check on every one, and tells every rank whether all were
// clean. Collective.
func CheckAll(ctx context.Context, job rma.Job, what string,
	check func(context.Context) error) error {
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	return rma.AllSucceeded(ctx, job, what+": check", check(ctx))
}
