package core

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// Reader reads runs of words of a window, from memory where this process can address it, else by
// gets, one at a time. It is for scans and checks.
type Reader struct {
	regions *Regions
	window  rma.Window
	q       rma.Queue
	buf     rma.Buf
	get     rma.Handle // in flight since a call that ctx has ended; or NoHandle
}

// NewReader makes a reader of at most maxWords words at a time.
func NewReader(job rma.Job, w rma.Window, regions *Regions, maxWords int) (*Reader, error) {
	r := &Reader{regions: regions, window: w, get: rma.NoHandle}
	if regions.All {
		r.buf = make(rma.Buf, maxWords)
		return r, nil
	}
	var err error
	if r.q, err = job.NewQueue(1); err != nil {
		return nil, err
	}
	if r.buf, err = r.q.Alloc(maxWords); err != nil {
		return nil, errors.Join(err, r.q.Close())
	}
	return r, nil
}

// Read returns n words of a rank's segment from off on. They are the reader's until its next Read.
func (r *Reader) Read(ctx context.Context, rank, off, n int) ([]uint64, error) {
	buf := r.buf[:n]
	if segment := r.regions.Here(rank); segment != nil {
		memory.LoadWords(buf, segment[off:off+n])
		return buf, ctx.Err()
	}
	if err := r.wait(ctx); err != nil { // the buffer is in use
		return nil, err
	}
	r.get = r.q.Get(buf, r.window, rank, off)
	if err := r.q.Submit(); err != nil {
		return nil, err
	}
	if err := r.wait(ctx); err != nil {
		return nil, err
	}
	return buf, nil
}

// write writes words to the beginning of a rank's segment.
func (r *Reader) write(ctx context.Context, rank int, words []uint64) error {
	if segment := r.regions.Here(rank); segment != nil {
		memory.StoreWords(segment, words)
		return ctx.Err()
	}
	buf := r.buf[:copy(r.buf, words)]
	return Await(ctx, r.q, r.q.Put(buf, r.window, rank, 0))
}

// wait waits for the get in flight.
func (r *Reader) wait(ctx context.Context) error {
	if r.get == rma.NoHandle {
		return nil
	}
	if err := r.q.Wait(ctx, r.get); err != nil {
		return err
	}
	_, err := r.q.Value(r.get)
	r.get = rma.NoHandle
	return err
}

// Close gives back the queue. That of nil does nothing.
func (r *Reader) Close() error {
	if r == nil || r.q == nil {
		return nil
	}
	return r.q.Close()
}

// Await submits what was posted on a queue, and takes the results of some of it, of all also when
// one has failed: a result that is not taken stays on the queue. The error is the first one.
func Await(ctx context.Context, q rma.Queue, flights ...rma.Handle) error {
	err := q.Submit()
	if err != nil {
		return err
	}
	for _, h := range flights {
		failed := q.Wait(ctx, h)
		if failed == nil {
			_, failed = q.Value(h)
		}
		err = cmp.Or(err, failed)
	}
	return err
}

// Gather returns on every rank the words of all ranks, which have equally many. An error that one
// rank brings fails all: the others get a [rma.PeerError]. Collective.
func Gather(ctx context.Context, job rma.Job, what string, mine []uint64, failed error) (
	all [][]uint64, err error) {
	if err = rma.AllSucceeded(ctx, job, what, failed); err != nil {
		return nil, err
	}
	if job.Size() == 1 {
		return [][]uint64{mine}, nil
	}
	w, err := job.NewWindow(ctx, rma.Spec{Name: what, Words: len(mine)})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	regions := NewRegions(w)
	from, err := NewReader(job, w, &regions, len(mine))
	defer func() { err = errors.Join(err, from.Close()) }()
	if err == nil {
		err = from.write(ctx, job.Rank(), mine)
	}
	if err = rma.AllSucceeded(ctx, job, what, err); err != nil {
		return nil, err
	}
	for rank := range job.Size() {
		var words []uint64
		if err == nil {
			words, err = from.Read(ctx, rank, 0, len(mine))
		}
		all = append(all, slices.Clone(words))
	}
	return all, rma.AllSucceeded(ctx, job, what, err)
}
