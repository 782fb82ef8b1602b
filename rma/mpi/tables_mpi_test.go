//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/farhash/farhash/internal/testkit/stream"
	"github.com/farhash/farhash/rma"
)

// seedVariable gives the seed of what ranks do on tables.
const seedVariable = "MPI_TEST_SEED"

// tables has all ranks work on tables of each kind.
func tables(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, _ rma.Window) error {
		seed, _ := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
		s, err := stream.Open(ctx, job, stream.Options{Seed: seed})
		for i := 0; err == nil && i < 300; i++ {
			err = s.Step()
		}
		if err != nil {
			return err
		}
		if err := errors.Join(s.Finish(ctx), job.Barrier(ctx), s.Close()); err != nil {
			return err
		}
		fmt.Println("the tables are right")
		return nil
	})
}

// The tables give the answers of plain maps, through queues as well as direct memory.
func TestTables(t *testing.T) {
	for _, how := range []string{"", "hidden", "pairs"} {
		out, err := find(t, ask().kind).play(t, 4, "tables:"+how)
		expect(t, out, err, true, 4, "the tables are right")
	}
}
