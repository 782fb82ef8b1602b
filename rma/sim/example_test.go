package sim_test

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// Rank 0 gets a word from another host of a simulated cluster, and measures virtual time.
func ExampleRun() {
	ctx := context.Background()
	_, err := sim.Run(sim.Options{Ranks: 2, Seed: 42, Cost: sim.EDR()}, func(job rma.Job) error {
		w, err := job.NewWindow(ctx, rma.Spec{Name: "mail", Words: 1})
		if err != nil || job.Rank() == 1 {
			return err
		}
		q, err := job.NewQueue(1)
		if err != nil {
			return err
		}
		defer q.Close()
		start := job.(*sim.Job).NowNs()
		h := q.FetchAdd(w, 1, 0, 1)
		if err := q.Submit(); err != nil {
			return err
		}
		if err := q.Wait(ctx, h); err != nil {
			return err
		}
		seen, err := q.Value(h)
		fmt.Println(seen, "after", job.(*sim.Job).NowNs()-start, "ns")
		return err
	})
	fmt.Println(err)
	// Output:
	// 0 after 1291 ns
	// <nil>
}
