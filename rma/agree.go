package rma

import (
	"context"
	"errors"
	"fmt"
)

// Field is a named number of a configuration.
type Field struct {
	Name  string
	Value uint64
}

// Agree makes sure that every rank calls it with the same values, and tells
// every rank the first difference where they do not. Collective; the fields have
// the same names in the same order on every rank.
func Agree(ctx context.Context, job Job, what string, fields ...Field) error {
	if job.Size() == 1 || len(fields) == 0 {
		return nil
	}
	w, err := job.NewWindow(ctx, Spec{Name: what + ": configuration", Words: len(fields)})
	if err != nil {
		return err
	}
	defer w.Close()
	cells, err := NewCells(job, w)
	if err != nil {
		return err
	}
	defer cells.Close()
	for i, f := range fields {
		if err := cells.Store(ctx, job.Rank(), i, f.Value); err != nil {
			return err
		}
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	differ := firstDifference(ctx, cells, job.Size(), what, fields)
	if err := job.Barrier(ctx); err != nil { // nobody closes the window while others read
		return err
	}
	return differ
}

// firstDifference compares every rank's fields with those of rank 0.
func firstDifference(ctx context.Context, cells *Cells, size int, what string,
	fields []Field) error {
	for i, f := range fields {
		want, err := cells.Load(ctx, 0, i)
		if err != nil {
			return err
		}
		for rank := 1; rank < size; rank++ {
			got, err := cells.Load(ctx, rank, i)
			if err != nil {
				return err
			}
			if got != want {
				return fmt.Errorf("%s: %s differ: rank 0 has %d, rank %d has %d; "+
					"give every rank the same configuration", what, f.Name, want, rank, got)
			}
		}
	}
	return nil
}

// AllSucceeded tells every rank whether all ranks came so far: it returns mine
// where that is an error, and otherwise a [PeerError] if another rank has one.
// Collective.
func AllSucceeded(ctx context.Context, job Job, what string, mine error) error {
	if job.Size() == 1 {
		return mine
	}
	w, err := job.NewWindow(ctx, Spec{Name: what + ": outcome", Words: 1})
	if err != nil {
		return errors.Join(mine, err)
	}
	defer w.Close()
	cells, err := NewCells(job, w)
	if err != nil {
		return errors.Join(mine, err)
	}
	defer cells.Close()
	if mine != nil {
		err = cells.Store(ctx, job.Rank(), 0, 1)
	}
	if err := errors.Join(err, job.Barrier(ctx)); err != nil {
		return errors.Join(mine, err)
	}
	other := firstFailed(ctx, cells, job.Size(), what)
	err = job.Barrier(ctx) // nobody closes the window while others read
	if mine != nil {
		return mine
	}
	return errors.Join(other, err)
}

// firstFailed names the lowest rank that has failed.
func firstFailed(ctx context.Context, cells *Cells, size int, what string) error {
	for rank := range size {
		failed, err := cells.Load(ctx, rank, 0)
		if err != nil {
			return err
		}
		if failed != 0 {
			return &PeerError{What: what, Rank: rank}
		}
	}
	return nil
}
