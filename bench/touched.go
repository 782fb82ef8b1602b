package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/farhash/farhash/rma"
)

// pageWords is the number of words of the smallest page anywhere.
const pageWords = 512

// touchedJob is a job whose windows have all their memory from the start.
type touchedJob struct{ rma.Job }

// NewWindow makes a window and writes zeros to every page of this rank's segment.
// The barrier keeps the other ranks out until that is done.
func (j touchedJob) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
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
func (j touchedJob) putZeros(ctx context.Context, w rma.Window) error {
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
		h := q.Put(zero, w, j.Rank(), off)
		if err := q.Submit(); err != nil {
			return err
		}
		if err := q.Wait(ctx, h); err != nil {
			return err
		}
		if _, err := q.Value(h); err != nil {
			return err
		}
	}
	return nil
}

// gather tells every rank the value of each. Collective.
func gather(ctx context.Context, job rma.Job, value uint64) ([]uint64, error) {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "bench: results", Words: 1})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	cells, err := rma.NewCells(job, w)
	if err != nil {
		return nil, err
	}
	defer cells.Close()
	if err := cells.Store(ctx, job.Rank(), 0, value); err != nil {
		return nil, err
	}
	if err := job.Barrier(ctx); err != nil {
		return nil, err
	}
	values := make([]uint64, job.Size())
	for rank := range values {
		if values[rank], err = cells.Load(ctx, rank, 0); err != nil {
			return nil, err
		}
	}
	return values, job.Barrier(ctx) // nobody closes the window while others read
}

// gatherTexts tells every rank the text of each. Collective.
func gatherTexts(ctx context.Context, job rma.Job, text []byte) ([][]byte, error) {
	sizes, err := gather(ctx, job, uint64(len(text)))
	if err != nil {
		return nil, err
	}
	words := int(slices.Max(sizes)+7) / 8
	texts := make([][]byte, len(sizes))
	if words == 0 {
		return texts, nil
	}
	w, err := job.NewWindow(ctx, rma.Spec{Name: "bench: texts", Words: words})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	q, err := job.NewQueue(1)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	buf, err := q.Alloc(words)
	if err != nil {
		return nil, err
	}
	padded := append(slices.Clone(text), make([]byte, words*8-len(text))...)
	for i := range buf {
		buf[i] = binary.LittleEndian.Uint64(padded[i*8:])
	}
	if err := one(ctx, q, q.Put(buf, w, job.Rank(), 0)); err != nil {
		return nil, err
	}
	if err := job.Barrier(ctx); err != nil {
		return nil, err
	}
	for rank, size := range sizes {
		if err := one(ctx, q, q.Get(buf, w, rank, 0)); err != nil {
			return nil, err
		}
		for _, word := range buf {
			texts[rank] = binary.LittleEndian.AppendUint64(texts[rank], word)
		}
		texts[rank] = texts[rank][:size]
	}
	return texts, job.Barrier(ctx) // nobody closes the window while others read
}
