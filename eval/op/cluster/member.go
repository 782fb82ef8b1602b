package cluster

import (
	"context"
	"math"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// member is a rank's job as the set sees it: its queues take the time of a processor
// for what they bring, and it remembers the window with the buckets. The set does not see that
// its rank has a part of them: what it did there directly would take no virtual time.
type member struct {
	*sim.Job
	wordNs float64
	procs  int // ranks of a host, whose memory is read in place; 0: it is copied as well

	bucketWords int // of each rank; no other window has so many
	buckets     rma.Window
}

// NewWindow makes a window.
func (m *member) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	w, err := m.Job.NewWindow(ctx, spec)
	if err == nil && spec.Words == m.bucketWords {
		m.buckets = w
		return unseen{w}, nil
	}
	return w, err
}

// unseen is a window that shows nothing of its memory.
type unseen struct{ rma.Window }

func (unseen) Words(int) []uint64 { return nil }

// whole is the window that an operation names.
func whole(w rma.Window) rma.Window {
	if u, ok := w.(unseen); ok {
		return u.Window
	}
	return w
}

// NewQueue makes a queue.
func (m *member) NewQueue(depth int) (rma.Queue, error) {
	q, err := m.Job.NewQueue(depth)
	if err != nil {
		return nil, err
	}
	return &reader{Queue: q, m: m, words: make([]int, depth)}, nil
}

// reader is a queue whose rank takes its time over what gets have brought.
type reader struct {
	rma.Queue
	m     *member
	words []int   // by handle, of gets that must be copied
	dueNs float64 // time to be taken, less than a nanosecond
}

// Get copies words of a segment.
func (q *reader) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	h := q.Queue.Get(dst, whole(w), rank, off)
	if q.m.procs == 0 || rank/q.m.procs != q.m.Rank()/q.m.procs {
		q.words[h] = len(dst)
	}
	return h
}

// CompareAndSwap swaps a word of a segment.
func (q *reader) CompareAndSwap(w rma.Window, rank, off int, old, newWord uint64) rma.Handle {
	return q.Queue.CompareAndSwap(whole(w), rank, off, old, newWord)
}

// Value takes a result.
func (q *reader) Value(h rma.Handle) (uint64, error) {
	word, err := q.Queue.Value(h)
	if n := q.words[h]; n > 0 {
		q.words[h] = 0
		q.dueNs += float64(n) * q.m.wordNs
		full := math.Floor(q.dueNs)
		q.dueNs -= full
		q.m.Compute(int64(full))
	}
	return word, err
}
