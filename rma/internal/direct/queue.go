package direct

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/rma"
)

type kind uint8

const (
	get kind = iota
	put
	compareAndSwap
	fetchAdd
	ship
)

type state uint8

const (
	free state = iota
	posted
	done
)

// operation is one slot of a queue.
type operation struct {
	kind   kind
	state  state
	target []uint64 // the words that it works on
	buf    rma.Buf  // get and put
	old    uint64   // compare-and-swap
	word   uint64   // new word, delta, and in the end what was seen

	request *request
	err     error // of a request
}

// Queue runs its operations at Submit, in the order in which they were posted.
type Queue struct {
	depth  int
	slots  []operation
	free   []rma.Handle
	posted []rma.Handle
	stats  rma.Stats
}

var _ rma.Queue = (*Queue)(nil)

// NewQueue returns a queue with room for depth operations in flight.
func NewQueue(depth int) (rma.Queue, error) {
	if depth < 1 {
		return nil, fmt.Errorf("rma: a queue needs a depth of at least 1, not %d", depth)
	}
	return &Queue{depth: depth, slots: make([]operation, 0, depth)}, nil
}

// Alloc returns a zeroed buffer.
func (q *Queue) Alloc(words int) (rma.Buf, error) { return make(rma.Buf, words), nil }

// Get copies words of a segment into dst.
func (q *Queue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	q.stats.Gets++
	return q.post(operation{kind: get, buf: dst, target: q.target(w, rank, off, len(dst))})
}

// Put copies src into a segment.
func (q *Queue) Put(src rma.Buf, w rma.Window, rank, off int) rma.Handle {
	q.stats.Puts++
	return q.post(operation{kind: put, buf: src, target: q.target(w, rank, off, len(src))})
}

// CompareAndSwap swaps one word of a segment.
func (q *Queue) CompareAndSwap(w rma.Window, rank, off int,
	old, newWord uint64) rma.Handle {
	q.stats.CompareAndSwaps++
	return q.post(operation{kind: compareAndSwap, old: old, word: newWord,
		target: q.target(w, rank, off, 1)})
}

// FetchAdd adds to one word of a segment.
func (q *Queue) FetchAdd(w rma.Window, rank, off int, delta uint64) rma.Handle {
	q.stats.FetchAdds++
	return q.post(operation{kind: fetchAdd, word: delta, target: q.target(w, rank, off, 1)})
}

// target checks the place of an operation and returns its words.
func (q *Queue) target(window rma.Window, rank, off, words int) []uint64 {
	w := segmented(window)
	if rank < 0 || rank >= w.size || off < 0 || words < 1 ||
		off+words > w.words {
		panic(fmt.Sprintf("rma: words %d to %d of rank %d are outside a window of %d ranks "+
			"with %d words each", off, off+words, rank, w.size, w.words))
	}
	q.stats.Bytes += uint64(words) * 8
	return w.segment(rank)[off : off+words]
}

func (q *Queue) post(op operation) rma.Handle {
	op.state = posted
	invariant.Check(len(q.free) > 0 || len(q.slots) < q.depth, "more than %d operations "+
		"in flight on a queue; take the results of those that are done", q.depth)
	var h rma.Handle
	if n := len(q.free); n > 0 {
		h = q.free[n-1]
		q.free = q.free[:n-1]
		q.slots[h] = op
	} else {
		h = rma.Handle(len(q.slots))
		q.slots = append(q.slots, op)
	}
	q.posted = append(q.posted, h)
	return h
}

// Submit runs what was posted.
func (q *Queue) Submit() error {
	for _, h := range q.posted {
		q.slots[h].run()
	}
	q.posted = q.posted[:0]
	return nil
}

func (op *operation) run() {
	switch op.kind {
	case get:
		for i := range op.target {
			op.buf[i] = atomic.LoadUint64(&op.target[i])
		}
		op.word = 0
	case put:
		for i, word := range op.buf {
			atomic.StoreUint64(&op.target[i], word)
		}
		op.word = 0
	case compareAndSwap:
		op.word = swap(&op.target[0], op.old, op.word)
	case fetchAdd:
		op.word = atomic.AddUint64(&op.target[0], op.word) - op.word
	case ship:
		op.word, op.err = op.request.run()
	}
	op.state = done
}

// swap stores newWord at p if old is there, and returns what was there.
func swap(p *uint64, old, newWord uint64) uint64 {
	for {
		if atomic.CompareAndSwapUint64(p, old, newWord) {
			return old
		}
		// mark: a compare-and-swap has failed
		// The word may have become old again since: then it must be swapped.
		if seen := atomic.LoadUint64(p); seen != old {
			return seen
		}
	}
}

// Done reports whether h has run.
func (q *Queue) Done(h rma.Handle) bool { return q.slots[h].state == done }

// Wait fails where a real engine would hang: when h was never submitted.
func (q *Queue) Wait(ctx context.Context, h rma.Handle) error {
	if !q.Done(h) {
		panic(fmt.Sprintf("rma: operation %d is waited for and was not submitted", h))
	}
	return ctx.Err()
}

// Value returns the word that h saw and releases h.
func (q *Queue) Value(h rma.Handle) (uint64, error) {
	op := &q.slots[h]
	if op.state != done {
		panic(fmt.Sprintf("rma: operation %d is not done", h))
	}
	word, err := op.word, op.err
	*op = operation{}
	q.free = append(q.free, h)
	return word, err
}

// Stats are the queue's counters.
func (q *Queue) Stats() *rma.Stats { return &q.stats }

// Close drops everything posted.
func (q *Queue) Close() error {
	*q = Queue{}
	return nil
}
