package core

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
)

// ErrFault is the panic of code that finds that a window is gone which it waits for.
var ErrFault = errors.New("a window of this table is gone")

// Fault is what a table knows of faults: accesses to memory whose file was cut off. The zero value
// is that of a table without such a file.
type Fault struct {
	Job    rma.Shared // in which the table was opened by name, else nil
	broken atomic.Bool
	err    atomic.Pointer[error]
}

// Flag is set after a fault.
func (f *Fault) Flag() *atomic.Bool { return &f.broken }

// Err is the error of every call after a fault, or nil.
func (f *Fault) Err() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// CatchFaults has faults of this goroutine be panics, and returns what was before, for Recover.
func CatchFaults() (before bool) { return debug.SetPanicOnFault(true) }

// Recover turns the panic of a fault in a window of the job into an error of the table. It is to be
// deferred.
func (f *Fault) Recover(before bool, err *error) {
	debug.SetPanicOnFault(before)
	switch p := recover().(type) {
	case nil:
	case interface {
		runtime.Error
		Addr() uintptr
	}:
		fault := f.Job.Fault(p.Addr())
		if fault == nil {
			panic(p)
		}
		f.err.CompareAndSwap(nil, &fault)
		f.broken.Store(true)
		*err = fault
	default:
		if p != ErrFault {
			panic(p)
		}
		*err = f.Err()
	}
}

// Guard calls fn. In a table that was opened by name it returns the error of a fault. Single calls
// have these lines written out: a function value takes as long as half of a search for a word.
func (f *Fault) Guard(fn func() error) (err error) {
	if f.Job != nil {
		defer f.Recover(CatchFaults(), &err)
		if err := f.Err(); err != nil {
			return err
		}
	}
	return fn()
}

// Recorded takes the configuration of a table that is opened by name from its file. values are the
// numbers of the configuration, 0 for what is left to the file; set replaces them; complete checks
// them and fills in what follows from them. Of a new file it records what complete makes of them.
func Recorded(job rma.Shared, what string, values func() []rma.Field, set func(numbers []uint64),
	complete func() error) error {
	if !job.Attached() {
		if err := complete(); err != nil {
			return err
		}
		var record []uint64
		for _, f := range values() {
			record = append(record, f.Value)
		}
		job.SetRecord(record)
		return nil
	}
	given, record := values(), job.Record()
	if len(record) != len(given) {
		return fmt.Errorf("%s: the file has %d numbers for a configuration of %d; remove it", what,
			len(record), len(given))
	}
	numbers := make([]uint64, len(record))
	for i, f := range given {
		if numbers[i] = f.Value; f.Value == 0 {
			numbers[i] = record[i]
		}
	}
	set(numbers)
	err := complete()
	for i, f := range values() {
		if given[i].Value != 0 && f.Value != record[i] {
			return fmt.Errorf("%s: %s differ: the table has %d, and the configuration %d; leave "+
				"it at 0 to take what the table has", what, f.Name, record[i], given[i].Value)
		}
	}
	return err
}

// checksBeside is how often CheckBeside has to find a fault.
const checksBeside = 4

// CheckBeside runs a check while others change the table, so that it may report what was only half
// done: it checks again as long as there are Faults that every check has found, and returns those
// that are left in the end. Other errors it returns at once.
func CheckBeside(check func() error) error {
	left := Faults{Table: "check"}
	for n := range checksBeside {
		err := check()
		found, others := splitFaults(err)
		if len(others) > 0 {
			return err
		}
		now := map[string]bool{}
		for _, fault := range found {
			now[fault.Error()] = true
		}
		if n == 0 {
			left.found = found
		}
		left.found = slices.DeleteFunc(left.found, func(fault error) bool {
			return !now[fault.Error()]
		})
		if len(left.found) == 0 {
			break
		}
	}
	return left.Err()
}

// splitFaults divides an error into the faults of tables and all else.
func splitFaults(err error) (faults, others []error) {
	switch e := err.(type) {
	case nil:
	case *Faults:
		faults = e.found
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			f, o := splitFaults(part)
			faults, others = append(faults, f...), append(others, o...)
		}
	default:
		others = []error{err}
	}
	return faults, others
}
