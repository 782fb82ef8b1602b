package simulate

import (
	"context"
	"math"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// member is a rank's job as the set sees it: its queues take the time of a processor
// for what they bring, and it remembers the window with the buckets.
type member struct {
	*sim.Job
	wordNs float64
	procs  int // ranks of a host, whose memory is read where it lies; 0: it is copied as well

	bucketWords int // of each rank; no other window has so many
	buckets     rma.Window
}

// NewWindow makes a window.
func (m *member) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	w, err := m.Job.NewWindow(ctx, spec)
	if err == nil && spec.Words == m.bucketWords {
		m.buckets = w
	}
	return w, err
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
	h := q.Queue.Get(dst, w, rank, off)
	if q.m.procs == 0 || rank/q.m.procs != q.m.Rank()/q.m.procs {
		q.words[h] = len(dst)
	}
	return h
}

// Value takes a result.
func (q *reader) Value(h rma.Handle) (uint64, error) {
	word, err := q.Queue.Value(h)
	if n := q.words[h]; n > 0 {
		q.words[h] = 0
		q.dueNs += float64(n) * q.m.wordNs
		whole := math.Floor(q.dueNs)
		q.dueNs -= whole
		q.m.Compute(int64(whole))
	}
	return word, err
}
