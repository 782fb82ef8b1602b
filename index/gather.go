package index

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// gather returns on every rank the words of all ranks, which have equally many. An error that one
// rank brings fails all: the others get a [rma.PeerError]. Collective.
func gather(ctx context.Context, job rma.Job, what string, mine []uint64, failed error) (
	[][]uint64, error) {
	if err := rma.AllSucceeded(ctx, job, "index: "+what, failed); err != nil {
		return nil, err
	}
	if job.Size() == 1 {
		return [][]uint64{mine}, nil
	}
	w, err := job.NewWindow(ctx, rma.Spec{Name: "index: " + what, Words: len(mine)})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	l, err := newTransfer(job, w, len(mine))
	if err == nil {
		defer l.close()
		copy(l.buf, mine)
		err = l.put(ctx, job.Rank(), 0, len(mine))
	}
	if err = rma.AllSucceeded(ctx, job, "index: "+what, err); err != nil {
		return nil, err
	}
	all := make([][]uint64, job.Size())
	for rank := range all {
		if err == nil {
			err = l.get(ctx, rank, 0, len(mine))
		}
		all[rank] = append([]uint64(nil), l.buf...)
	}
	return all, rma.AllSucceeded(ctx, job, "index: "+what, err)
}

// transfer is a queue with a buffer, for one get or put at a time.
type transfer struct {
	q   rma.Queue
	w   rma.Window
	buf rma.Buf
}

func newTransfer(job rma.Job, w rma.Window, words int) (*transfer, error) {
	q, err := job.NewQueue(1)
	if err != nil {
		return nil, err
	}
	buf, err := q.Alloc(words)
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return &transfer{q: q, w: w, buf: buf}, nil
}

// put copies the first words of the buffer to (rank, off).
func (l *transfer) put(ctx context.Context, rank, off, words int) error {
	return l.await(ctx, l.q.Put(l.buf[:words], l.w, rank, off))
}

// get fills the buffer from (rank, off).
func (l *transfer) get(ctx context.Context, rank, off, words int) error {
	return l.await(ctx, l.q.Get(l.buf[:words], l.w, rank, off))
}

func (l *transfer) await(ctx context.Context, h rma.Handle) error {
	err := l.q.Submit()
	if err == nil {
		err = l.q.Wait(ctx, h)
	}
	if err == nil {
		_, err = l.q.Value(h)
	}
	return err
}

func (l *transfer) close() error { return l.q.Close() }
