package mpi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/mpi"
)

// Each rank stores its number in the memory of its neighbour. Start it by mpirun.
func ExampleJoin() {
	ctx := context.Background()
	job, err := mpi.Join(ctx, mpi.Config{})
	if err != nil {
		log.Fatal(err) // built without MPI, for example
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
