package ucx_test

import (
	"context"
	"fmt"
	"log"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/ucx"
)

// Each rank stores its number in the memory of its neighbour. This process is rank 0
// of 2; farhash.Join takes the Config from the launcher instead.
func ExampleJoin() {
	ctx := context.Background()
	job, err := ucx.Join(ctx, ucx.Config{Rank: 0, Size: 2, Rendezvous: "10.0.0.1:29500",
		Token: "a random text"})
	if err != nil {
		log.Fatal(err) // built without UCX, for example
	}
	defer job.Close()
	w, err := job.NewWindow(ctx, rma.Spec{Name: "mail", Words: 1})
	if err != nil {
		log.Fatal(err)
	}
	cells, err := rma.NewCells(job, w)
	if err != nil {
		log.Fatal(err)
	}
	defer cells.Close()
	neighbour := (job.Rank() + 1) % job.Size()
	if err := cells.Store(ctx, neighbour, 0, uint64(job.Rank())); err != nil {
		log.Fatal(err)
	}
	if err := job.Barrier(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(cells.Load(ctx, job.Rank(), 0))
}
