package md

import (
	"context"
	"math/rand/v2"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// libraryJob is a rank of a simulated cluster whose messages go through a library, which takes its
// time: to send a message, and more to wait for the answer to a get or an atomic. Each time is
// drawn between half and one and a half times the mean. Without that all ranks would do the same
// at the same moment.
type libraryJob struct {
	*sim.Job
	sendNs, answerNs float64
	rng              *rand.Rand
	owedNs           float64 // has still to pass
}

func newLibraryJob(job *sim.Job, sendNs, answerNs float64) *libraryJob {
	return &libraryJob{Job: job, sendNs: sendNs, answerNs: answerNs, rng: job.Rand()}
}

// owe draws a time. It passes before the next message leaves, or before the clock is read.
func (j *libraryJob) owe(meanNs float64) { j.owedNs += meanNs * (0.5 + j.rng.Float64()) }

func (j *libraryJob) pay() {
	if j.owedNs > 0 {
		j.Sleep(int64(j.owedNs))
		j.owedNs = 0
	}
}

// NowNs is the virtual time.
func (j *libraryJob) NowNs() int64 {
	j.pay()
	return j.Job.NowNs()
}

// NewQueue makes a queue of the library.
func (j *libraryJob) NewQueue(depth int) (rma.Queue, error) {
	q, err := j.Job.NewQueue(depth)
	if err != nil {
		return nil, err
	}
	return &libraryQueue{Queue: q, job: j, answers: make([]bool, depth)}, nil
}

type libraryQueue struct {
	rma.Queue
	job     *libraryJob
	answers []bool // by handle: it is of a get or an atomic
}

func (q *libraryQueue) post(h rma.Handle, answer bool) rma.Handle {
	q.answers[h] = answer
	q.job.owe(q.job.sendNs)
	return h
}

// Get posts a get.
func (q *libraryQueue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	return q.post(q.Queue.Get(dst, w, rank, off), true)
}

// Put posts a put.
func (q *libraryQueue) Put(src rma.Buf, w rma.Window, rank, off int) rma.Handle {
	return q.post(q.Queue.Put(src, w, rank, off), false)
}

// CompareAndSwap posts a compare-and-swap.
func (q *libraryQueue) CompareAndSwap(w rma.Window, rank, off int, old, word uint64) rma.Handle {
	return q.post(q.Queue.CompareAndSwap(w, rank, off, old, word), true)
}

// FetchAdd posts a fetch-and-add.
func (q *libraryQueue) FetchAdd(w rma.Window, rank, off int, delta uint64) rma.Handle {
	return q.post(q.Queue.FetchAdd(w, rank, off, delta), true)
}

// Submit sends what was posted when the library has done its work.
func (q *libraryQueue) Submit() error {
	q.job.pay()
	return q.Queue.Submit()
}

// Wait waits for an answer.
func (q *libraryQueue) Wait(ctx context.Context, h rma.Handle) error {
	if q.answers[h] {
		q.job.owe(q.job.answerNs)
	}
	return q.Queue.Wait(ctx, h)
}
