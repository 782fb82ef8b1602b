//go:build ucx && cgo

package ucx

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/backoff"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/buffers"
)

const (
	maxQueueDepth = 1 << 24
	// spins is how often C polls for completion, letting other threads run in between, before
	// Go examines the context.
	spins = 50
)

// Queue is a queue of UCX. Its slots lie in memory of C, where UCX writes results.
type Queue struct {
	job    *Job
	c      *C.fu_queue
	ops    []*C.fu_op
	ring   []C.int32_t // posted slots in order
	tail   int         // where the next one goes
	posts  int         // since the last Submit
	free   []rma.Handle
	bufs   buffers.Store
	polled rma.Handle // the first one since the last progress that was not done
	stats  rma.Stats
}

var _ rma.Queue = (*Queue)(nil)

// NewQueue returns a queue with room for depth operations in flight.
func (j *Job) NewQueue(depth int) (rma.Queue, error) {
	if depth < 1 || depth > maxQueueDepth {
		return nil, fmt.Errorf("rma/ucx: a queue needs a depth of 1 to %d, not %d",
			maxQueueDepth, depth)
	}
	q := &Queue{job: j, c: C.fu_new_queue(j.c, C.int(depth)), polled: rma.NoHandle}
	if q.c == nil {
		return nil, fmt.Errorf("rma/ucx: no memory for a queue with %d operations in flight", depth)
	}
	q.bufs = buffers.Store{Engine: "rma/ucx", Allocate: calloc}
	q.ops = unsafe.Slice(C.fu_ops(q.c), depth)
	q.ring = unsafe.Slice((*C.int32_t)(unsafe.Pointer(C.fu_ring(q.c))), depth)
	for h := depth - 1; h >= 0; h-- {
		q.free = append(q.free, rma.Handle(h))
	}
	return q, nil
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

// post checks the place of an operation and takes a slot for it. A window of another
// engine is a bug of the caller.
func (q *Queue) post(kind C.uint8_t, window rma.Window, rank, off, words int) (
	rma.Handle, *C.fu_op) {
	w := window.(*Window)
	if rank < 0 || rank >= w.job.size || words < 1 || words > w.words ||
		off < 0 || off > w.words-words {
		panic(fmt.Sprintf("rma/ucx: %d words at %d of rank %d are outside a window of %d ranks "+
			"with %d words each", words, off, rank, w.job.size, w.words))
	}
	return q.take(kind, w, rank, off, words)
}

// take takes a slot for an operation. One more than there is room for is a bug of the caller.
func (q *Queue) take(kind C.uint8_t, w *Window, rank, off, words int) (rma.Handle, *C.fu_op) {
	if w.closed.Load() {
		panic("rma/ucx: an operation on a window that this rank has closed")
	}
	n := len(q.free)
	if n == 0 {
		panic(fmt.Sprintf("rma/ucx: more than %d operations in flight on a queue; take the "+
			"results of those that are done", len(q.ops)))
	}
	h := q.free[n-1]
	q.free = q.free[:n-1]
	op := q.ops[h]
	*op = C.fu_op{queue: q.c, window: w.c, rank: C.int32_t(rank), off: C.int64_t(off),
		words: C.int64_t(words), kind: kind, state: C.FH_POSTED}
	q.ring[q.tail] = C.int32_t(h)
	if q.tail++; q.tail == len(q.ring) {
		q.tail = 0
	}
	q.posts++
	q.stats.Bytes += uint64(words) * 8
	return h, op
}

// Submit starts what was posted.
func (q *Queue) Submit() error {
	if q.posts == 0 {
		return nil
	}
	err := q.job.fault("starting operations", C.fu_submit(q.c, C.int(q.posts)))
	q.posts = 0
	return err
}

// state is the state of an operation. C writes it last, after the results.
func (q *Queue) state(h rma.Handle) int32 {
	return atomic.LoadInt32((*int32)(unsafe.Pointer(&q.ops[h].state)))
}

// Done reports whether h is done. It makes progress when it is called again for the same
// operation: once in each round over all operations.
func (q *Queue) Done(h rma.Handle) bool {
	switch q.state(h) {
	case C.FH_DONE:
		return true
	case C.FH_POSTED, C.FH_FREE:
		return false
	}
	if q.polled == rma.NoHandle || q.state(q.polled) == C.FH_FREE {
		q.polled = h
	} else if q.polled == h {
		C.fu_wait(q.c, C.int(h), 0) // an error comes again in Wait
		q.polled = rma.NoHandle
	}
	return q.state(h) == C.FH_DONE
}

// Wait returns when h is done, or with an error when ctx ends first.
func (q *Queue) Wait(ctx context.Context, h rma.Handle) error {
	var pace backoff.Backoff
	for {
		switch q.state(h) {
		case C.FH_DONE:
			return ctx.Err()
		case C.FH_WAITING, C.FH_FLYING:
		default:
			panic(fmt.Sprintf("rma/ucx: operation %d is waited for and was not submitted", h))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		switch code := C.fu_wait(q.c, C.int(h), spins); code {
		case 0:
		case C.FH_PENDING:
			pace.Pause()
		default:
			return q.job.fault("waiting for an operation", code)
		}
	}
}

// Value returns what h saw and releases h.
func (q *Queue) Value(h rma.Handle) (uint64, error) {
	op := q.ops[h]
	if q.state(h) != C.FH_DONE {
		panic(fmt.Sprintf("rma/ucx: operation %d is not done", h))
	}
	if op.orphan != 0 { // UCX may still write there
		C.fu_renew(q.c, C.int(h))
	} else {
		op.state = C.FH_FREE
	}
	q.free = append(q.free, h)
	switch {
	case op.error == 0 && op.kind >= C.FH_SWAP:
		if op.kind == C.FH_SHIP {
			q.stats.Bytes += uint64(op.seen) * 8
		}
		return uint64(op.seen), nil
	case op.error == 0:
		return 0, nil
	case op.error == C.FH_LOST:
		return 0, q.job.lost(int(op.rank))
	case op.error == C.FH_UNSERVED:
		return 0, fmt.Errorf("rma/ucx: rank %d: %w", op.rank, rma.ErrNotServed)
	case op.error == C.FH_GARBLED:
		return 0, fmt.Errorf("rma/ucx: a request to rank %d, or its answer, is malformed; "+
			"run the same program on every rank", op.rank)
	}
	return 0, q.job.fault(fmt.Sprintf("an operation on the memory of rank %d", op.rank),
		C.int(op.error))
}

// Stats are the queue's counters.
func (q *Queue) Stats() *rma.Stats { return &q.stats }

// Close waits for operations in flight: UCX still writes to the queue's memory. The memory is kept
// where a lost rank has never answered.
func (q *Queue) Close() error {
	if q.c == nil {
		return nil
	}
	var pace backoff.Backoff
	for C.fu_drained(q.c) == 0 {
		pace.Pause()
	}
	if C.fu_free_queue(q.c) == 0 {
		q.bufs.Release(free)
	}
	q.c, q.ops, q.ring = nil, nil, nil
	return nil
}
