//go:build ucx && cgo

package ucx

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

// spins is how often C polls for completion, letting other threads run in between, before Go
// examines the context.
const spins = 50

// queue is a queue of UCX. Its slots are memory of C, where UCX writes results.
type queue struct {
	remote.Queue
	job            *member
	c              *C.fu_queue
	oversubscribed bool
	polled         rma.Handle // the first one since the last progress that was not done
}

var (
	_ rma.Carrier   = (*queue)(nil)
	_ rma.AnyWaiter = (*queue)(nil)
)

// NewQueue returns a queue with room for depth operations in flight.
func (j *member) NewQueue(depth int) (rma.Queue, error) {
	if err := remote.CheckDepth("rma/ucx", depth); err != nil {
		return nil, err
	}
	q := &queue{job: j, c: C.fu_new_queue(j.c, C.int(depth)), oversubscribed: j.oversubscribed(),
		polled: rma.NoHandle}
	if q.c == nil {
		return nil, fmt.Errorf("rma/ucx: no memory for a queue with %d operations in flight", depth)
	}
	q.Init("rma/ucx", unsafe.Slice((**remote.Op)(unsafe.Pointer(C.fu_ops(q.c))), depth),
		unsafe.Slice((*int32)(C.fu_ring(q.c)), depth), remote.CMemory)
	q.Fault = j.memoryFault
	q.Renew = func(h rma.Handle) { C.fu_renew(q.c, C.int(h)) }
	return q, nil
}

// memoryFault is the error of an operation on the memory of a rank.
func (j *member) memoryFault(rank int, code int32) error {
	switch code {
	case C.FH_LOST:
		return j.lost(rank)
	case C.FH_GARBLED:
		return fmt.Errorf("rma/ucx: a request to rank %d, or its answer, is malformed; "+
			"run the same program on every rank", rank)
	}
	return j.fault(fmt.Sprintf("an operation on the memory of rank %d", rank), C.int(code))
}

// Submit starts what was posted.
func (q *queue) Submit() error {
	n := q.TakePosts()
	if n == 0 {
		return nil
	}
	return q.job.fault("starting operations", C.fu_submit(q.c, C.int(n)))
}

// Done reports whether h is done. It makes progress when it is called again for the same
// operation: once in each round over all operations.
func (q *queue) Done(h rma.Handle) bool {
	switch q.State(h) {
	case remote.Done:
		return true
	case remote.Posted, remote.Free:
		return false
	}
	if q.polled == rma.NoHandle || q.State(q.polled) == remote.Free {
		q.polled = h
	} else if q.polled == h {
		C.fu_wait(q.c, C.int(h), 0) // an error comes again in Wait
		q.polled = rma.NoHandle
	}
	return q.State(h) == remote.Done
}

// Wait returns when h is done, or with an error when ctx ends first.
func (q *queue) Wait(ctx context.Context, h rma.Handle) error { return q.wait(ctx, h, nil) }

// WaitAny returns when the first of some operations is done, or any after a while.
func (q *queue) WaitAny(ctx context.Context, ops []rma.Handle) error {
	return q.wait(ctx, ops[0], ops[1:])
}

func (q *queue) wait(ctx context.Context, h rma.Handle, others []rma.Handle) error {
	var pace backoff.Backoff
	var impatient time.Time // from when on the others count
	for {
		switch q.State(h) {
		case remote.Done:
			return ctx.Err()
		case remote.Waiting, remote.Flying:
		default:
			panic(fmt.Sprintf("rma/ucx: operation %d is waited for and was not submitted", h))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		switch code := C.fu_wait(q.c, C.int(h), spins); code {
		case 0:
		case C.FH_PENDING:
			if impatient.IsZero() {
				impatient = time.Now().Add(rma.Patience)
			} else if time.Now().After(impatient) && slices.ContainsFunc(others, q.isDone) {
				return ctx.Err()
			}
			if !q.oversubscribed { // else it has slept
				pace.Pause()
			}
		default:
			return q.job.fault("waiting for an operation", code)
		}
	}
}

func (q *queue) isDone(h rma.Handle) bool { return q.State(h) == remote.Done }

// Close waits for operations in flight: UCX still writes to the queue's memory. The memory is kept
// where a lost rank has never answered.
func (q *queue) Close() error {
	if q.c == nil {
		return nil
	}
	var pace backoff.Backoff
	for C.fu_drained(q.c) == 0 {
		pace.Pause()
	}
	q.End(C.fu_free_queue(q.c) == 0)
	q.c = nil
	return nil
}
