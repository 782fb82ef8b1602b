package measure

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// pageWords is the number of words of the smallest page anywhere.
const pageWords = 512

// TouchedJob is a job whose windows have all their memory from the start.
type TouchedJob struct{ rma.Job }

// NewWindow makes a window and writes zeros to every page of this rank's segment.
// The barrier keeps the other ranks out until that is done.
func (j TouchedJob) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	w, err := j.Job.NewWindow(ctx, spec)
	if err != nil {
		return nil, err
	}
	if segment := w.Words(j.Rank()); segment != nil {
		for i := 0; i < len(segment); i += pageWords {
			segment[i] = 0
		}
	} else if err := j.putZeros(ctx, w); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if err := j.Barrier(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// putZeros does the same where memory is reached by one-sided operations only.
func (j TouchedJob) putZeros(ctx context.Context, w rma.Window) error {
	q, err := j.NewQueue(1)
	if err != nil {
		return err
	}
	defer q.Close()
	zero, err := q.Alloc(1)
	if err != nil {
		return err
	}
	for off := 0; off < w.Len(); off += pageWords {
		if err := One(ctx, q, q.Put(zero, w, j.Rank(), off)); err != nil {
			return err
		}
	}
	return nil
}
