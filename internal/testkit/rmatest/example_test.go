package rmatest_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/shm"
)

var jobs atomic.Int64 // number of the next job, for its name

// start is the Starter of an engine with a Join of its own.
func start(ranks int, fn func(job rma.Job) error) error {
	name := fmt.Sprintf("example-%d-%d", os.Getpid(), jobs.Add(1))
	return rmatest.Together(ranks, func(rank int) error {
		job, err := shm.Join(context.Background(), shm.Config{Rank: rank, Size: ranks, Job: name})
		if err != nil {
			return err
		}
		defer job.Close()
		return fn(job)
	})
}

// The test of an engine whose ranks join a job one by one.
func Example() {
	TestConformance := func(t *testing.T) {
		rmatest.Test(t, start)
	}
	_ = TestConformance // in a real test, a function of the file
}
