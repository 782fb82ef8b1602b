package mpidht

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// queueDepth is for the operation that is waited for, and those that are not.
const queueDepth = 8

// wire does one operation at a time, as MPI_Get and its like with MPI_Win_flush.
type wire struct {
	q    rma.Queue
	left []rma.Handle // operations that were not waited for, the oldest first
}

func (w *wire) get(ctx context.Context, dst rma.Buf, of rma.Window, rank, off int) error {
	_, err := w.wait(ctx, w.q.Get(dst, of, rank, off))
	return err
}

func (w *wire) put(ctx context.Context, src rma.Buf, to rma.Window, rank, off int) error {
	_, err := w.wait(ctx, w.q.Put(src, to, rank, off))
	return err
}

func (w *wire) add(ctx context.Context, to rma.Window, rank, off int, delta uint64) (saw uint64,
	err error) {
	return w.wait(ctx, w.q.FetchAdd(to, rank, off, delta))
}

func (w *wire) swap(ctx context.Context, to rma.Window, rank, off int, old,
	word uint64) (saw uint64, err error) {
	return w.wait(ctx, w.q.CompareAndSwap(to, rank, off, old, word))
}

// leave adds to a word without waiting. Operations that this rank has submitted before are done,
// so that nobody sees the sum before their effect.
func (w *wire) leave(ctx context.Context, to rma.Window, rank, off int, delta uint64) error {
	if len(w.left) == queueDepth-1 {
		if err := w.settle(ctx); err != nil {
			return err
		}
	}
	w.left = append(w.left, w.q.FetchAdd(to, rank, off, delta))
	return w.q.Submit()
}

// wait submits an operation and waits for it. Then it takes what is done of those that were left.
func (w *wire) wait(ctx context.Context, h rma.Handle) (saw uint64, err error) {
	if err := errors.Join(w.q.Submit(), w.q.Wait(ctx, h)); err != nil {
		return 0, err
	}
	if saw, err = w.q.Value(h); err != nil {
		return 0, err
	}
	for len(w.left) > 0 && w.q.Done(w.left[0]) {
		if err := w.takeOldest(); err != nil {
			return 0, err
		}
	}
	return saw, nil
}

// settle waits for everything that was left.
func (w *wire) settle(ctx context.Context) error {
	for len(w.left) > 0 {
		if err := w.q.Wait(ctx, w.left[0]); err != nil {
			return err
		}
		if err := w.takeOldest(); err != nil {
			return err
		}
	}
	return nil
}

func (w *wire) takeOldest() error {
	_, err := w.q.Value(w.left[0])
	w.left = w.left[:copy(w.left, w.left[1:])]
	return err
}
