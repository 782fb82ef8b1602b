package sim

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/farhash/farhash/rma"
)

// queue is a rank's stream of operations. Operations on different words, and of
// different queues, overtake each other; operations on the same words do not.
type queue struct {
	r      *rank
	depth  int
	slots  []*operation // by handle; nil when free
	free   []rma.Handle
	posted []*operation
	closed bool
	stats  rma.Stats

	// The operations that have not taken effect, linked by their targets modulo the
	// number of lanes, a power of two.
	lanes []*operation
}

var _ rma.Queue = (*queue)(nil)

// maxLanes bounds the memory of a deep queue.
const maxLanes = 256

func newQueue(r *rank, depth int) *queue {
	lanes := min(depth, len(r.c.ranks), maxLanes)
	return &queue{r: r, depth: depth, lanes: make([]*operation, 1<<bits.Len(uint(lanes-1)))}
}

// Alloc returns a zeroed buffer.
func (q *queue) Alloc(words int) (rma.Buf, error) { return make(rma.Buf, words), nil }

// Get copies words of a segment into dst, which holds garbage until it is done.
func (q *queue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	h, op := q.post(get, w, rank, off, len(dst))
	q.stats.Gets++
	q.r.c.report.Gets++
	op.buf = dst
	return h
}

// Put copies src, as it is when the words are written, into a segment.
func (q *queue) Put(src rma.Buf, w rma.Window, rank, off int) rma.Handle {
	h, op := q.post(put, w, rank, off, len(src))
	q.stats.Puts++
	q.r.c.report.Puts++
	op.buf = src
	return h
}

// CompareAndSwap swaps one word of a segment.
func (q *queue) CompareAndSwap(w rma.Window, rank, off int, old, newWord uint64) rma.Handle {
	h, op := q.post(compareAndSwap, w, rank, off, 1)
	q.stats.CompareAndSwaps++
	q.r.c.report.CompareAndSwaps++
	op.old, op.word = old, newWord
	return h
}

// FetchAdd adds to one word of a segment.
func (q *queue) FetchAdd(w rma.Window, rank, off int, delta uint64) rma.Handle {
	h, op := q.post(fetchAdd, w, rank, off, 1)
	q.stats.FetchAdds++
	q.r.c.report.FetchAdds++
	op.word = delta
	return h
}

// post makes an operation with a handle. A window of another engine is a bug of the
// caller, and so is an operation more than the queue has room for.
func (q *queue) post(k opKind, to rma.Window, rank, off, words int) (rma.Handle, *operation) {
	q.r.enter()
	w := to.(*window)
	w.within(rank, off, words)
	if q.closed {
		panic("sim: an operation is posted on a queue that has been closed")
	}
	if len(q.free) == 0 && len(q.slots) == q.depth {
		panic(fmt.Sprintf("sim: more than %d operations in flight on a queue; take the "+
			"results of those that are done", q.depth))
	}
	op := q.r.c.newOperation()
	op.origin, op.q = q.r, q
	op.place = place{w: w.s, target: rank, off: off, words: words, kind: k}
	q.r.last = op.place
	q.stats.Bytes += uint64(words) * 8
	q.r.spend(q.r.c.durations.post)
	q.posted = append(q.posted, op)
	if n := len(q.free); n > 0 {
		h := q.free[n-1]
		q.free = q.free[:n-1]
		q.slots[h] = op
		return h, op
	}
	q.slots = append(q.slots, op)
	return rma.Handle(len(q.slots) - 1), op
}

// Submit sends everything that was posted.
func (q *queue) Submit() error {
	q.r.enter()
	if len(q.posted) == 0 {
		return nil
	}
	c := q.r.c
	q.r.spend(c.durations.submit)
	q.r.advance()
	gathered, target := 0, -1 // the gets of the last message, and from which rank
	for i, op := range q.posted {
		op.joined = op.kind == get && op.target == target && gathered < c.opts.Gather
		switch {
		case op.joined:
			gathered++
		case op.kind == get:
			gathered, target = 1, op.target
		default:
			target = -1
		}
		c.start(op)
		q.posted[i] = nil
	}
	q.posted = q.posted[:0]
	return nil
}

// at is the operation of a handle.
func (q *queue) at(h rma.Handle) *operation {
	if h < 0 || int(h) >= len(q.slots) || q.slots[h] == nil {
		panic(fmt.Sprintf("sim: handle %d is of no operation in flight", h))
	}
	return q.slots[h]
}

// Done reports whether h is done. It takes Cost.PollNs.
func (q *queue) Done(h rma.Handle) bool {
	q.r.enter()
	op := q.at(h)
	q.r.spend(q.r.c.durations.poll)
	if op.state == flying {
		q.r.advance()
	}
	return op.state == done
}

// Wait returns when h is done, or with an error when ctx ends first.
func (q *queue) Wait(ctx context.Context, h rma.Handle) error {
	q.r.enter()
	op := q.at(h)
	if op.state == posted {
		panic(fmt.Sprintf("sim: %v is waited for and was not submitted", op.place))
	}
	return q.r.await(ctx, waiting{op: op})
}

// WaitAny returns when the first of some operations is done, or any after Options.PatienceNs.
func (q *queue) WaitAny(ctx context.Context, ops []rma.Handle) error {
	if q.r.c.opts.PatienceNs == 0 {
		return q.Wait(ctx, ops[0])
	}
	q.r.enter()
	w := waiting{op: q.at(ops[0]), until: q.r.clock + instant(q.r.c.opts.PatienceNs)*nanosecond}
	for _, h := range ops[1:] {
		w.others = append(w.others, q.at(h))
	}
	return q.r.await(ctx, w)
}

// Value returns what h saw, or a [*LostError], and releases h.
func (q *queue) Value(h rma.Handle) (uint64, error) {
	q.r.enter()
	op := q.at(h)
	if op.state != done {
		panic(fmt.Sprintf("sim: %v is not done", op.place))
	}
	q.r.spend(q.r.c.durations.take)
	word, err := uint64(0), op.err
	if err == nil && op.kind >= compareAndSwap {
		word = op.old
	}
	q.r.c.recycle(op)
	q.slots[h] = nil
	q.free = append(q.free, h)
	return word, err
}

// Stats are the queue's counters.
func (q *queue) Stats() *rma.Stats { return &q.stats }

// Close drops everything posted. Operations that were submitted continue.
func (q *queue) Close() error {
	if q.closed {
		return nil
	}
	q.closed = true
	q.slots, q.free, q.posted = nil, nil, nil
	return nil
}

// line has an operation wait for the earlier ones of the queue on the same words.
func (q *queue) line(op *operation) {
	lane := &q.lanes[op.target&(len(q.lanes)-1)]
	for earlier := *lane; earlier != nil; earlier = earlier.succ {
		if op.overlaps(earlier) {
			earlier.after = append(earlier.after, op)
			op.before++
		}
	}
	op.succ = *lane
	if op.succ != nil {
		op.succ.prev = op
	}
	*lane = op
}

// unline takes an operation out of its lane.
func (q *queue) unline(op *operation) {
	if op.succ != nil {
		op.succ.prev = op.prev
	}
	if op.prev != nil {
		op.prev.succ = op.succ
	} else {
		q.lanes[op.target&(len(q.lanes)-1)] = op.succ
	}
	op.prev, op.succ = nil, nil
}
