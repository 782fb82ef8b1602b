package core

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
)

// ErrFault is the panic of code that finds that a window is gone which it waits for.
var ErrFault = errors.New("a window of this table is gone")

// Fault is what a table that was opened by name knows of faults: accesses to memory whose file was
// cut off. The zero value is none.
type Fault struct {
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

// Recover turns the panic of a fault in a window of a job into an error of the table. It is to be
// deferred.
func (f *Fault) Recover(job rma.Shared, before bool, err *error) {
	debug.SetPanicOnFault(before)
	switch p := recover().(type) {
	case nil:
	case interface {
		runtime.Error
		Addr() uintptr
	}:
		fault := job.Fault(p.Addr())
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

// Guard calls fn, and returns the error of a fault. job is nil for a table that nobody can cut off.
func (f *Fault) Guard(job rma.Shared, fn func() error) (err error) {
	if job == nil {
		return fn()
	}
	defer f.Recover(job, CatchFaults(), &err)
	if err := f.Err(); err != nil {
		return err
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

// maxChecks is how often CheckBeside checks at most.
const maxChecks = 20

// CheckBeside runs a check while others change the table, so that one may report what was only half
// done. It returns an error that comes twice in succession, and nil when a check finds none.
func CheckBeside(check func() error) error {
	last := ""
	for range maxChecks {
		err := check()
		if err == nil || err.Error() == last {
			return err
		}
		last = err.Error()
	}
	return fmt.Errorf("a check finds another fault each time, so others change the table; the "+
		"last one is: %s", last)
}
