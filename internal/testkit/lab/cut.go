package lab

import "github.com/farhash/farhash/rma"

// Cut is a job whose queues, of an engine that ships requests, lose rank *lost once that is a rank.
// Their operations on it may take effect, but return the error that it has died.
func Cut(job rma.Job, lost *int) rma.Job { return cutJob{job, lost} }

type cutJob struct {
	rma.Job
	lost *int
}

func (j cutJob) NewQueue(depth int) (rma.Queue, error) {
	q, err := j.Job.NewQueue(depth)
	if err != nil {
		return nil, err
	}
	return &cutQueue{q.(rma.Carrier), j.lost, map[rma.Handle]bool{}}, nil
}

type cutQueue struct {
	rma.Carrier
	lost *int
	cut  map[rma.Handle]bool
}

func (q *cutQueue) note(h rma.Handle, rank int) rma.Handle {
	q.cut[h] = rank == *q.lost
	return h
}

func (q *cutQueue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	return q.note(q.Carrier.Get(dst, w, rank, off), rank)
}

func (q *cutQueue) Put(src rma.Buf, w rma.Window, rank, off int) rma.Handle {
	return q.note(q.Carrier.Put(src, w, rank, off), rank)
}

func (q *cutQueue) FetchAdd(w rma.Window, rank, off int, delta uint64) rma.Handle {
	return q.note(q.Carrier.FetchAdd(w, rank, off, delta), rank)
}

func (q *cutQueue) CompareAndSwap(w rma.Window, rank, off int, old, word uint64) rma.Handle {
	return q.note(q.Carrier.CompareAndSwap(w, rank, off, old, word), rank)
}

func (q *cutQueue) Ship(request, answer rma.Buf, w rma.Window, rank int) rma.Handle {
	return q.note(q.Carrier.Ship(request, answer, w, rank), rank)
}

func (q *cutQueue) Value(h rma.Handle) (uint64, error) {
	value, err := q.Carrier.Value(h)
	if q.cut[h] {
		err = &rma.RankError{Rank: *q.lost}
	}
	return value, err
}
