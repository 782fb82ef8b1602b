package remote

import (
	"context"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/rma"
)

// MaxQueueDepth keeps the slots within what C counts.
const MaxQueueDepth = 1 << 24

// Op is the beginning of a slot of a queue, as FR_OP in remote.h.
type Op struct {
	window unsafe.Pointer // of the library
	buf    *uint64        // get and put; what is shipped
	off    int64
	words  int64
	answer *uint64 // to what is shipped
	room   int64   // for it, in words
	old    uint64  // compare-and-swap: expected
	word   uint64  // compare-and-swap: new; fetch-and-add: delta
	seen   uint64  // what was there; words of the answer
	rank   int32
	state  int32 // the library writes it last
	error  int32 // of one that is done: 0, or a code
	kind   uint8
	orphan uint8 // given up; the library may still write there
}

// The kinds of operations.
const (
	Get = iota
	Put
	Swap
	Add
	Ship
)

// The states of a slot.
const (
	Free    = iota
	Posted  // since the last Submit
	Waiting // submitted, and not begun
	Flying
	Done
)

// Unserved is the error of a request for which there is no handler.
const Unserved = -1003

// Queue is the front of a queue: it writes operations into slots, and slots into a ring.
type Queue struct {
	// Fault is the error of an operation on the memory of a rank that has ended with a code.
	Fault func(rank int, code int32) error
	// Renew gives a slot another operation in place of an orphan.
	Renew func(h rma.Handle)

	ops     []*Op
	ring    []int32 // posted slots, in order
	tail    int     // where the next one goes
	posts   int     // since the last Submit
	free    []rma.Handle
	buffers buffers
	stats   rma.Stats
}

// CheckDepth refuses a depth for which there can be no queue.
func CheckDepth(engine string, depth int) error {
	if depth < 1 || depth > MaxQueueDepth {
		return fmt.Errorf("%s: a queue needs a depth of 1 to %d, not %d", engine, MaxQueueDepth,
			depth)
	}
	return nil
}

// Init makes a queue over slots and a ring of their number.
func (q *Queue) Init(engine string, ops []*Op, ring []int32, memory Memory) {
	q.ops, q.ring = ops, ring
	q.buffers = buffers{engine: engine, memory: memory}
	for h := len(ops) - 1; h >= 0; h-- {
		q.free = append(q.free, rma.Handle(h))
	}
}

// Alloc returns a zeroed buffer in memory of C.
func (q *Queue) Alloc(words int) (rma.Buf, error) { return q.buffers.alloc(words) }

// End gives up the slots, and the buffers too if the library writes there no more.
func (q *Queue) End(idle bool) {
	if idle {
		q.buffers.release()
	}
	q.ops, q.ring, q.free = nil, nil, nil
}

// Get copies words of a segment into dst.
func (q *Queue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	h, op := q.post(Get, w, rank, off, len(dst))
	op.buf = q.buffers.own(dst)
	q.stats.Gets++
	return h
}

// Put copies src into a segment.
func (q *Queue) Put(src rma.Buf, w rma.Window, rank, off int) rma.Handle {
	h, op := q.post(Put, w, rank, off, len(src))
	op.buf = q.buffers.own(src)
	q.stats.Puts++
	return h
}

// CompareAndSwap swaps one word of a segment.
func (q *Queue) CompareAndSwap(w rma.Window, rank, off int, old, newWord uint64) rma.Handle {
	h, op := q.post(Swap, w, rank, off, 1)
	op.old, op.word = old, newWord
	q.stats.CompareAndSwaps++
	return h
}

// FetchAdd adds to one word of a segment.
func (q *Queue) FetchAdd(w rma.Window, rank, off int, delta uint64) rma.Handle {
	h, op := q.post(Add, w, rank, off, 1)
	op.word = delta
	q.stats.FetchAdds++
	return h
}

// Ship sends a request to the handler of a rank. The window must be an [rma.Server].
func (q *Queue) Ship(request, answer rma.Buf, window rma.Window, rank int) rma.Handle {
	CheckShip(request, answer, window, rank)
	h, op := q.take(Ship, windowOf(window.(rma.Server)), rank, 0, len(request))
	op.buf = q.buffers.own(request)
	if op.room = int64(len(answer)); op.room > 0 {
		op.answer = q.buffers.own(answer)
	}
	q.stats.Ships++
	return h
}

// CheckShip panics where a request could not be sent: that is a bug of the caller, as an
// operation outside a segment is.
func CheckShip(request, answer rma.Buf, w rma.Window, rank int) {
	if n := max(len(request), len(answer)); n > rma.MaxShipWords || len(request) == 0 {
		panic(fmt.Sprintf("rma: a request of %d words with an answer of %d; they are limited "+
			"to %d, and a request has one at least", len(request), len(answer),
			rma.MaxShipWords))
	}
	if rank < 0 || rank >= w.Size() {
		panic(fmt.Sprintf("rma: a request to rank %d of %d", rank, w.Size()))
	}
}

// post checks the place of an operation and takes a slot for it.
func (q *Queue) post(kind uint8, window rma.Window, rank, off, words int) (rma.Handle, *Op) {
	w := windowOf(window)
	if rank < 0 || rank >= w.Size() || words < 1 || words > w.words ||
		off < 0 || off > w.words-words {
		panic(fmt.Sprintf("%s: %d words at %d of rank %d are outside a window of %d ranks "+
			"with %d words each", w.engine, words, off, rank, w.Size(), w.words))
	}
	return q.take(kind, w, rank, off, words)
}

// take takes a slot for an operation. One more than there is room for is a bug of the caller.
func (q *Queue) take(kind uint8, w *Window, rank, off, words int) (rma.Handle, *Op) {
	if w.Closed() {
		panic(w.engine + ": an operation on a window that this rank has closed")
	}
	n := len(q.free)
	if n == 0 {
		panic(fmt.Sprintf("%s: more than %d operations in flight on a queue; take the "+
			"results of those that are done", w.engine, len(q.ops)))
	}
	h := q.free[n-1]
	q.free = q.free[:n-1]
	op := q.ops[h]
	*op = Op{window: w.C, rank: int32(rank), off: int64(off), words: int64(words), kind: kind,
		state: Posted}
	q.ring[q.tail] = int32(h)
	if q.tail++; q.tail == len(q.ring) {
		q.tail = 0
	}
	q.posts++
	q.stats.Bytes += uint64(words) * 8
	return h, op
}

// TakePosts is the number of operations that were posted since it was called last.
func (q *Queue) TakePosts() int {
	n := q.posts
	q.posts = 0
	return n
}

// State is the state of a slot. C writes it last, after the results.
func (q *Queue) State(h rma.Handle) int32 { return atomic.LoadInt32(&q.ops[h].state) }

// IsShip reports whether an operation is a request.
func (q *Queue) IsShip(h rma.Handle) bool { return q.ops[h].kind == Ship }

// Peek returns what h saw, and whether it has failed, and keeps h.
func (q *Queue) Peek(h rma.Handle) (seen uint64, failed bool) {
	return q.ops[h].seen, q.ops[h].error != 0
}

// Value returns what h saw and releases h.
func (q *Queue) Value(h rma.Handle) (uint64, error) {
	if q.State(h) != Done {
		panic(fmt.Sprintf("%s: operation %d is not done", q.buffers.engine, h))
	}
	op := *q.ops[h]
	if op.orphan != 0 {
		q.Renew(h)
	} else {
		q.ops[h].state = Free
	}
	q.free = append(q.free, h)
	switch {
	case op.error == Unserved:
		return 0, fmt.Errorf("%s: rank %d: %w", q.buffers.engine, op.rank, rma.ErrNotServed)
	case op.error != 0:
		return 0, q.Fault(int(op.rank), op.error)
	case op.kind == Ship:
		q.stats.Bytes += op.seen * 8
	}
	return op.seen, nil
}

// Stats are the queue's counters.
func (q *Queue) Stats() *rma.Stats { return &q.stats }

// Result submits what was posted to q and returns the result of h.
func Result(ctx context.Context, q rma.Queue, h rma.Handle) (uint64, error) {
	if err := q.Submit(); err != nil {
		return 0, err
	}
	if err := q.Wait(ctx, h); err != nil {
		return 0, err
	}
	return q.Value(h)
}
