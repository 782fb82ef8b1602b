package lab

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// Sum adds up what ranks have. Collective.
func Sum(ctx context.Context, job rma.Job, n uint64) (sum uint64, err error) {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "lab: sum", Words: 1})
	if err != nil {
		return 0, err
	}
	cells, err := rma.NewCells(job, w)
	if err != nil {
		return 0, err
	}
	defer cells.Close()
	err = errors.Join(cells.Store(ctx, job.Rank(), 0, n), job.Barrier(ctx))
	for rank := range job.Size() {
		var one uint64
		if err == nil {
			one, err = cells.Load(ctx, rank, 0)
		}
		sum += one
	}
	return sum, errors.Join(err, job.Barrier(ctx))
}
