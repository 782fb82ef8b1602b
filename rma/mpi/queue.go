//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

// queue is a queue of MPI. Its slots are memory of C, where MPI writes results.
type queue struct {
	remote.Queue
	job *member
	c   *C.fh_queue
}

var _ rma.Carrier = (*queue)(nil)

// NewQueue returns a queue with room for depth operations in flight.
func (j *member) NewQueue(depth int) (rma.Queue, error) {
	if err := remote.CheckDepth("rma/mpi", depth); err != nil {
		return nil, err
	}
	q := &queue{job: j, c: C.fh_new_queue(j.c, C.int(depth), flag(j.lib.useRequests()),
		flag(j.lib.addBySwap()))}
	if q.c == nil {
		return nil, fmt.Errorf("rma/mpi: no memory for a queue with %d operations in flight", depth)
	}
	ops := make([]*remote.Op, depth)
	for h := range ops {
		ops[h] = (*remote.Op)(unsafe.Pointer(&unsafe.Slice(C.fh_ops(q.c), depth)[h]))
	}
	q.Init("rma/mpi", ops, unsafe.Slice((*int32)(C.fh_ring(q.c)), depth), remote.CMemory)
	return q, nil
}

func flag(yes bool) C.int {
	if yes {
		return 1
	}
	return 0
}

// Submit starts what was posted.
func (q *queue) Submit() error {
	n := q.TakePosts()
	if n == 0 {
		return nil
	}
	return q.job.lib.fault("starting operations", C.fh_submit(q.c, C.int(n)))
}

// Done reports whether h is done. It makes progress.
func (q *queue) Done(h rma.Handle) bool {
	if q.State(h) == remote.Flying {
		C.fh_wait(q.c, C.int(h), 0) // an error comes again in Wait
	}
	return q.State(h) == remote.Done
}

// Wait returns when h is done, or with an error when ctx ends first. Where the library
// completes by a flush, it is done in any case.
func (q *queue) Wait(ctx context.Context, h rma.Handle) error {
	var pace backoff.Backoff
	for {
		switch q.State(h) {
		case remote.Done:
			return ctx.Err()
		case remote.Flying:
		default:
			panic(fmt.Sprintf("rma/mpi: operation %d is waited for and was not submitted", h))
		}
		code := C.fh_wait(q.c, C.int(h), spins)
		answered := q.IsShip(h) && q.job.inbox.AnswerNow()
		if code != 0 && code != C.FH_PENDING {
			return q.job.lib.fault("waiting for an operation", code)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if code == C.FH_PENDING && !answered {
			pause(&pace)
		}
	}
}

// calls is how many gets and puts of MPI the queue has made.
func (q *queue) calls() int { return int(C.fh_calls(q.c)) }

// Close waits for what is in flight: MPI still writes to the queue's memory.
func (q *queue) Close() error {
	if q.c == nil {
		return nil
	}
	err := q.job.lib.fault("ending a queue", C.fh_drain(q.c))
	q.End(err == nil) // otherwise MPI may still write there
	if err == nil {
		C.fh_free_queue(q.c)
	}
	q.c = nil
	return err
}
