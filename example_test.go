package farhash_test

import (
	"context"
	"fmt"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// Started alone, a program is the only rank. Started by farhash run, mpirun, srun or
// torchrun, the same program is one of many that share the set.
func ExampleJoin() {
	ctx := context.Background()
	job, err := farhash.Join(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer job.Close()
	seen, err := set.New(ctx, job, set.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer seen.Close()
	for _, state := range []uint64{7, 9, 7} {
		result, err := seen.FindOrPut(state)
		fmt.Println(state, result, err)
	}
	// Output:
	// 7 inserted <nil>
	// 9 inserted <nil>
	// 7 found <nil>
}

// Ranks as goroutines of one process: each finds what the others have put.
func ExampleRun() {
	ctx := context.Background()
	err := farhash.Run(ctx, 4, func(job rma.Job) error {
		seen, err := set.New(ctx, job, set.Config{})
		if err != nil {
			return err
		}
		defer seen.Close()
		if _, err := seen.FindOrPut(uint64(job.Rank())); err != nil {
			return err
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		states, err := seen.Len(ctx)
		if job.Rank() == 0 {
			fmt.Println(states, "states")
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// 4 states
	// <nil>
}
