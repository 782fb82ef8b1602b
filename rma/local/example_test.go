package local_test

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// Each rank leaves its number with its neighbour.
func ExampleRun() {
	ctx := context.Background()
	received := make([]uint64, 3)
	err := local.Run(3, func(job rma.Job) error {
		w, err := job.NewWindow(ctx, rma.Spec{Name: "mail", Words: 1})
		if err != nil {
			return err
		}
		q, err := job.NewQueue(1)
		if err != nil {
			return err
		}
		defer q.Close()
		h := q.FetchAdd(w, (job.Rank()+1)%job.Size(), 0, uint64(job.Rank()))
		if err := q.Submit(); err != nil {
			return err
		}
		if err := q.Wait(ctx, h); err != nil {
			return err
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		received[job.Rank()] = w.Words(job.Rank())[0]
		return nil
	})
	fmt.Println(received, err)
	// Output: [2 0 1] <nil>
}
