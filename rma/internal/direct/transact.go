package direct

import (
	"sync"

	"github.com/farhash/farhash/rma"
)

// transactor is a queue with transactions and requests. Transactions take turns with those of
// the queues that have the same lock.
type transactor struct {
	Queue
	lock *sync.Mutex
}

var (
	_ rma.Transactor = (*transactor)(nil)
	_ rma.Carrier    = (*transactor)(nil)
)

// NewTransactor is NewQueue for a queue with transactions and requests.
func NewTransactor(depth int, lock *sync.Mutex) (rma.Queue, error) {
	q, err := NewQueue(depth)
	if err != nil {
		return nil, err
	}
	return &transactor{Queue: *q.(*Queue), lock: lock}, nil
}

// transaction is one that is in flight.
type transaction struct {
	lock    *sync.Mutex
	segment []uint64
	changes rma.Transaction
}

// Transact changes words of a segment together.
func (q *transactor) Transact(w rma.Window, rank int, t rma.Transaction) rma.Handle {
	q.stats.CompareAndSwaps++
	off, words := t.Span()
	target := q.target(w, rank, off, words)
	q.stats.Bytes += uint64(len(t)-words) * 8 // those between are not touched
	segment := segmented(w).segment(rank)
	return q.post(operation{kind: transact, target: target,
		transaction: &transaction{q.lock, segment, t}})
}

// run returns 1 if the words were what they should be, else 0.
func (t *transaction) run() uint64 {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.changes.On(t.segment) {
		return 1
	}
	return 0
}
