package set

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
)

// lateJob is a job whose queues hold the step machines to the contract of rma:
// what was submitted is done late, in any order, part by part; a get fills its
// buffer with rubbish before it is done; a put reads its source late; a queue has
// no more room than was requested, and waiting for what was not submitted panics.
type lateJob struct {
	rma.Job
	seed   uint64
	queues atomic.Uint64
	fail   atomic.Int64 // the submission, counted from now, that fails; 0 for none
}

var errSubmit = errors.New("the engine has failed")

func (j *lateJob) NewQueue(depth int) (rma.Queue, error) {
	inner, err := j.Job.NewQueue(1)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(j.seed, j.queues.Add(1)))
	return &lateQueue{inner: inner, depth: depth, rng: rng, job: j}, nil
}

type lateState int

const (
	latePosted lateState = iota
	lateSubmitted
	lateDone
)

// lateRequest is a request in flight.
type lateRequest struct {
	state lateState
	left  [][2]int // spans of buf that have still to move
	buf   rma.Buf
	put   bool
	w     rma.Window
	rank  int
	off   int
	old   uint64 // compare-and-swap
	word  uint64 // new word or delta, then what was read
	add   bool
}

type lateQueue struct {
	job      *lateJob
	inner    rma.Queue
	depth    int
	rng      *rand.Rand
	next     rma.Handle
	requests map[rma.Handle]*lateRequest
	order    []rma.Handle // of what is submitted and not done
	posted   []rma.Handle
	stats    rma.Stats
}

func (q *lateQueue) Alloc(words int) (rma.Buf, error) { return q.inner.Alloc(words) }

func (q *lateQueue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	q.stats.Gets++
	for i := range dst {
		dst[i] = q.rng.Uint64()
	}
	return q.post(&lateRequest{buf: dst, left: q.spans(len(dst)), w: w, rank: rank, off: off})
}

func (q *lateQueue) Put(src rma.Buf, w rma.Window, rank, off int) rma.Handle {
	q.stats.Puts++
	return q.post(&lateRequest{buf: src, left: q.spans(len(src)), put: true,
		w: w, rank: rank, off: off})
}

func (q *lateQueue) CompareAndSwap(w rma.Window, rank, off int,
	old, newWord uint64) rma.Handle {
	q.stats.CompareAndSwaps++
	return q.post(&lateRequest{w: w, rank: rank, off: off, old: old, word: newWord})
}

func (q *lateQueue) FetchAdd(w rma.Window, rank, off int, delta uint64) rma.Handle {
	q.stats.FetchAdds++
	return q.post(&lateRequest{w: w, rank: rank, off: off, word: delta, add: true})
}

func (q *lateQueue) post(r *lateRequest) rma.Handle {
	if r.off < 0 || r.off+max(1, len(r.buf)) > r.w.Len() {
		panic(fmt.Sprintf("request of %d words at %d is outside a segment of %d",
			len(r.buf), r.off, r.w.Len()))
	}
	if q.requests == nil {
		q.requests = map[rma.Handle]*lateRequest{}
	}
	if len(q.requests) == q.depth {
		panic(fmt.Sprintf("more than %d requests in flight", q.depth))
	}
	q.next++
	q.requests[q.next] = r
	q.posted = append(q.posted, q.next)
	return q.next
}

func (q *lateQueue) Submit() error {
	if q.job.fail.Load() > 0 && q.job.fail.Add(-1) == 0 {
		return errSubmit
	}
	for _, h := range q.posted {
		q.requests[h].state = lateSubmitted
		q.order = append(q.order, h)
	}
	q.posted = q.posted[:0]
	return nil
}

// spans divides n words into some spans, out of order.
func (q *lateQueue) spans(n int) (spans [][2]int) {
	for begin := 0; begin < n; {
		end := min(n, begin+1+q.rng.IntN(1+n/2))
		spans = append(spans, [2]int{begin, end})
		begin = end
	}
	q.rng.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
	return spans
}

// progress moves some words of some request.
func (q *lateQueue) progress() {
	if len(q.order) == 0 {
		return
	}
	i := q.rng.IntN(len(q.order))
	r := q.requests[q.order[i]]
	switch {
	case r.buf == nil && r.add:
		r.word = q.await(q.inner.FetchAdd(r.w, r.rank, r.off, r.word))
	case r.buf == nil:
		r.word = q.await(q.inner.CompareAndSwap(r.w, r.rank, r.off, r.old, r.word))
	default:
		span := r.left[0]
		if words := r.buf[span[0]:span[1]]; r.put {
			q.await(q.inner.Put(words, r.w, r.rank, r.off+span[0]))
		} else {
			q.await(q.inner.Get(words, r.w, r.rank, r.off+span[0]))
		}
		r.left = r.left[1:]
	}
	if len(r.left) == 0 {
		r.state = lateDone
		q.order[i] = q.order[len(q.order)-1]
		q.order = q.order[:len(q.order)-1]
	}
}

func (q *lateQueue) await(h rma.Handle) uint64 {
	_ = q.inner.Submit()
	word, _ := q.inner.Value(h)
	return word
}

func (q *lateQueue) Done(h rma.Handle) bool {
	r := q.requests[h]
	if r == nil || r.state == latePosted {
		panic(fmt.Sprintf("operation %d was not submitted, or is released", h))
	}
	if q.rng.IntN(2) == 0 {
		q.progress()
	}
	return r.state == lateDone
}

func (q *lateQueue) Wait(ctx context.Context, h rma.Handle) error {
	for !q.Done(h) {
		q.progress()
	}
	return ctx.Err()
}

func (q *lateQueue) Value(h rma.Handle) (uint64, error) {
	if !q.Done(h) {
		panic(fmt.Sprintf("operation %d is not done", h))
	}
	r := q.requests[h]
	delete(q.requests, h)
	if r.buf != nil {
		return 0, nil
	}
	return r.word, nil
}

func (q *lateQueue) Stats() *rma.Stats { return &q.stats }

func (q *lateQueue) Close() error { return q.inner.Close() }
