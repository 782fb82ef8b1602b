//go:build mpi && cgo

package mpi

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/internal/backoff"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/buffers"
)

// maxQueueDepth keeps the slots within what C counts.
const maxQueueDepth = 1 << 24

// Queue is a queue of MPI. Its slots lie in memory of C, where MPI writes results.
type Queue struct {
	job   *Job
	c     *C.fh_queue
	ops   []C.fh_op
	free  []rma.Handle
	bufs  buffers.Store
	stats rma.Stats
}

var _ rma.Queue = (*Queue)(nil)

// NewQueue returns a queue with room for depth operations in flight.
func (j *Job) NewQueue(depth int) (rma.Queue, error) {
	if depth < 1 || depth > maxQueueDepth {
		return nil, fmt.Errorf("rma/mpi: a queue needs a depth of 1 to %d, not %d",
			maxQueueDepth, depth)
	}
	q := &Queue{job: j, c: C.fh_new_queue(j.c, C.int(depth), flag(j.lib.useRequests()),
		flag(j.lib.addBySwap()))}
	if q.c == nil {
		return nil, fmt.Errorf("rma/mpi: no memory for a queue with %d operations in flight", depth)
	}
	q.bufs = buffers.Store{Engine: "rma/mpi", Allocate: calloc}
	q.ops = unsafe.Slice(C.fh_ops(q.c), depth)
	for h := depth - 1; h >= 0; h-- {
		q.free = append(q.free, rma.Handle(h))
	}
	return q, nil
}

func flag(yes bool) C.int {
	if yes {
		return 1
	}
	return 0
}

// Alloc returns a zeroed buffer in memory of C.
func (q *Queue) Alloc(words int) (rma.Buf, error) { return q.bufs.Alloc(words) }

// own returns where a buffer lies, which must be one of Alloc.
func (q *Queue) own(buf rma.Buf) *C.uint64_t { return (*C.uint64_t)(q.bufs.Own(buf)) }

// calloc is memory of C.
func calloc(words int) *uint64 { return (*uint64)(C.calloc(C.size_t(words), 8)) }

// free gives it back.
func free(memory unsafe.Pointer) { C.free(memory) }

// Get copies words of a segment into dst.
func (q *Queue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	h, op := q.post(C.FH_GET, w, rank, off, len(dst))
	op.buf = q.own(dst)
	q.stats.Gets++
	return h
}

// Put copies src into a segment.
func (q *Queue) Put(src rma.Buf, w rma.Window, rank, off int) rma.Handle {
	h, op := q.post(C.FH_PUT, w, rank, off, len(src))
	op.buf = q.own(src)
	q.stats.Puts++
	return h
}

// CompareAndSwap swaps one word of a segment.
func (q *Queue) CompareAndSwap(w rma.Window, rank, off int, old, newWord uint64) rma.Handle {
	h, op := q.post(C.FH_SWAP, w, rank, off, 1)
	op.old, op.word = C.uint64_t(old), C.uint64_t(newWord)
	q.stats.CompareAndSwaps++
	return h
}

// FetchAdd adds to one word of a segment.
func (q *Queue) FetchAdd(w rma.Window, rank, off int, delta uint64) rma.Handle {
	h, op := q.post(C.FH_ADD, w, rank, off, 1)
	op.word = C.uint64_t(delta)
	q.stats.FetchAdds++
	return h
}

// post checks the place of an operation and takes a slot for it.
func (q *Queue) post(kind C.uint8_t, window rma.Window, rank, off, words int) (
	rma.Handle, *C.fh_op) {
	w := windowOf(window)
	if rank < 0 || rank >= w.job.size || words < 1 || words > w.words ||
		off < 0 || off > w.words-words {
		panic(fmt.Sprintf("rma/mpi: %d words at %d of rank %d are outside a window of %d ranks "+
			"with %d words each", words, off, rank, w.job.size, w.words))
	}
	return q.take(kind, w, rank, off, words)
}

// take takes a slot for an operation. One more than there is room for is a bug of the caller.
func (q *Queue) take(kind C.uint8_t, w *Window, rank, off, words int) (rma.Handle, *C.fh_op) {
	if w.closed.Load() {
		panic("rma/mpi: an operation on a window that this rank has closed")
	}
	n := len(q.free)
	if n == 0 {
		panic(fmt.Sprintf("rma/mpi: more than %d operations in flight on a queue; take the "+
			"results of those that are done", len(q.ops)))
	}
	h := q.free[n-1]
	q.free = q.free[:n-1]
	op := &q.ops[h]
	*op = C.fh_op{window: w.c, rank: C.int32_t(rank), off: C.int64_t(off),
		words: C.int64_t(words), kind: kind, state: C.FH_POSTED, next: -1}
	C.fh_post(q.c, C.int(h))
	q.stats.Bytes += uint64(words) * 8
	return h, op
}

// Submit starts what was posted.
func (q *Queue) Submit() error {
	return q.job.lib.fault("starting operations", C.fh_submit(q.c))
}

// Done reports whether h is done. It makes progress.
func (q *Queue) Done(h rma.Handle) bool {
	if q.ops[h].state == C.FH_FLYING {
		C.fh_wait(q.c, C.int(h), 0) // an error comes again in Wait
	}
	return q.ops[h].state == C.FH_DONE
}

// Wait returns when h is done, or with an error when ctx ends first. Where the library
// completes by a flush, it is done in any case.
func (q *Queue) Wait(ctx context.Context, h rma.Handle) error {
	var pace backoff.Backoff
	for {
		switch q.ops[h].state {
		case C.FH_DONE:
			return ctx.Err()
		case C.FH_FLYING:
		default:
			panic(fmt.Sprintf("rma/mpi: operation %d is waited for and was not submitted", h))
		}
		code := C.fh_wait(q.c, C.int(h), spins)
		served := q.ops[h].kind == C.FH_SHIP && q.job.serveNow()
		if code != 0 && code != C.FH_PENDING {
			return q.job.lib.fault("waiting for an operation", code)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if code == C.FH_PENDING && !served {
			pause(&pace)
		}
	}
}

// Value returns what h saw and releases h.
func (q *Queue) Value(h rma.Handle) (uint64, error) {
	op := &q.ops[h]
	if op.state != C.FH_DONE {
		panic(fmt.Sprintf("rma/mpi: operation %d is not done", h))
	}
	op.state = C.FH_FREE
	q.free = append(q.free, h)
	if op.error != 0 {
		return 0, fmt.Errorf("rma/mpi: rank %d: %w", op.rank, rma.ErrNotServed)
	}
	if op.kind == C.FH_SHIP {
		q.stats.Bytes += uint64(op.seen) * 8
	}
	return uint64(op.seen), nil
}

// calls is how many gets and puts of MPI the queue has made.
func (q *Queue) calls() int { return int(C.fh_calls(q.c)) }

// Stats are the queue's counters.
func (q *Queue) Stats() *rma.Stats { return &q.stats }

// Close waits for what is in flight: MPI still writes to the queue's memory.
func (q *Queue) Close() error {
	if q.c == nil {
		return nil
	}
	err := q.job.lib.fault("ending a queue", C.fh_drain(q.c))
	if err == nil { // otherwise MPI may still write there
		C.fh_free_queue(q.c)
		q.bufs.Release(free)
	}
	q.c, q.ops = nil, nil
	return err
}
