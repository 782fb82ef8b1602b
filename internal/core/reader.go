package core

import (
	"context"
	"errors"

	"github.com/farhash/farhash/internal/memory"
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
