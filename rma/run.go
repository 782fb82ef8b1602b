package rma

import (
	"context"
	"fmt"
	"time"
)

// Op is a protocol step machine: one operation of a table.
type Op interface {
	// Step is called first with nothing posted, then each time the handle that it
	// returned is done. It takes the results that it waited for, posts what it
	// needs next on q and returns the handle to wait for, or NoHandle when the
	// operation has ended. Several requests may be in flight; Step waits for one.
	// An error ends the operation as well.
	Step(q Queue) (Handle, error)
}

// Run drives one operation to its end.
func Run(ctx context.Context, q Queue, op Op) error {
	for {
		h, err := op.Step(q)
		if err != nil || h == NoHandle {
			return err
		}
		if err := q.Submit(); err != nil {
			return err
		}
		q.Stats().RoundTrips++
		if err := q.Wait(ctx, h); err != nil {
			return err
		}
	}
}

// fewFlights is how many operations RunAll has in flight without allocating.
const fewFlights = 64

// flight is one slot of RunAll: the operation in it and what it waits for.
type flight struct {
	op   Op
	wait Handle
}

// step steps the operation and frees the slot when it has ended.
func (f *flight) step(q Queue) error {
	h, err := f.op.Step(q)
	if err != nil {
		return err
	}
	if h == NoHandle {
		f.op = nil
		return nil
	}
	f.wait = h
	q.Stats().RoundTrips++
	return nil
}

// RunAll drives many operations with up to depth of them in flight. next is
// called with a slot number below depth whenever that slot is free, and returns
// the operation to run there, nil when there are no more. RunAll ends with the
// first error, or when ctx ends; operations then in flight are abandoned, and the
// queue must be closed.
func RunAll(ctx context.Context, q Queue, depth int, next func(slot int) Op) error {
	if depth < 1 {
		return fmt.Errorf("rma: operations in flight must be at least 1, not %d", depth)
	}
	var few [fewFlights]flight // on the stack
	flights := few[:min(depth, fewFlights)]
	if depth > fewFlights {
		flights = make([]flight, depth)
	}
	var waits []Handle // of flights
	for {
		active, stepped := 0, false
		for slot := range flights {
			f := &flights[slot]
			if f.op == nil {
				f.op = next(slot)
			} else if !q.Done(f.wait) {
				active++
				continue
			}
			if f.op == nil {
				continue
			}
			stepped = true
			if err := f.step(q); err != nil {
				return err
			}
			if f.op != nil {
				active++
			}
		}
		if active == 0 && !stepped {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := q.Submit(); err != nil {
			return err
		}
		if !stepped {
			var err error
			if waits, err = waitOne(ctx, q, flights, waits[:0]); err != nil {
				return err
			}
		}
	}
}

// Patience is for how long [AnyWaiter].WaitAny waits for the first of its operations alone.
const Patience = time.Millisecond

// AnyWaiter is a queue whose operations may take long, each for another reason, as where a message
// was lost and is sent again.
type AnyWaiter interface {
	Queue
	// WaitAny returns when the first of some operations is done, or, when that takes longer than
	// [Patience], any of them; or with an error when ctx ends. To return sooner would divide what
	// is submitted together.
	WaitAny(ctx context.Context, ops []Handle) error
}

// waitOne blocks until an operation in flight may continue. waits is memory for their handles.
func waitOne(ctx context.Context, q Queue, flights []flight, waits []Handle) ([]Handle, error) {
	waiter, ok := q.(AnyWaiter)
	for _, f := range flights {
		if f.op == nil {
			continue
		}
		if !ok {
			return nil, q.Wait(ctx, f.wait)
		}
		waits = append(waits, f.wait)
	}
	if len(waits) == 0 {
		return waits, nil
	}
	return waits, waiter.WaitAny(ctx, waits)
}
