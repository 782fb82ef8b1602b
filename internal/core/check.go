package core

import (
	"context"
	"fmt"
	"strings"

	"github.com/farhash/farhash/rma"
)

// maxFaults is how many faults the error of a check reports.
const maxFaults = 10

// Faults collects what a check finds broken.
type Faults struct {
	Table string // for messages: "set"
	found []error
}

// Add adds a fault.
func (f *Faults) Add(format string, args ...any) {
	f.found = append(f.found, fmt.Errorf(f.Table+": "+format, args...))
}

// Err is all faults, nil if there are none.
func (f *Faults) Err() error {
	if len(f.found) == 0 {
		return nil
	}
	return f
}

// Error has the first faults, one a line.
func (f *Faults) Error() string {
	var lines []string
	for i, fault := range f.found {
		if i == maxFaults {
			lines = append(lines, fmt.Sprintf("%s: and %d more faults", f.Table, len(f.found)-i))
			break
		}
		lines = append(lines, fault.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap is all faults.
func (f *Faults) Unwrap() []error { return f.found }

// CheckAll waits for all ranks, runs check on every one, and tells every rank whether all were
// clean. Collective.
func CheckAll(ctx context.Context, job rma.Job, what string,
	check func(context.Context) error) error {
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	return rma.AllSucceeded(ctx, job, what+": check", check(ctx))
}
