package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/shm"
)

func init() {
	for _, hidden := range []bool{false, true} {
		engines = append(engines, engine{
			Name: fmt.Sprintf("shm/hidden=%v", hidden),
			Run: func(ranks int, fn func(job rma.Job) error) error {
				return runShm(hidden, ranks, fn)
			},
		})
	}
}

// shmJobs is how many jobs the tests have started in shared memory.
var shmJobs atomic.Int64

// runShm runs ranks that are goroutines here as if they were processes.
func runShm(hidden bool, ranks int, fn func(job rma.Job) error) error {
	name := fmt.Sprintf("farhash-index-test-%d-%d", os.Getpid(), shmJobs.Add(1))
	errs := make([]error, ranks)
	var wg sync.WaitGroup
	for rank := range ranks {
		wg.Go(func() {
			cfg := shm.Config{Rank: rank, Size: ranks, Job: name, Hidden: hidden}
			job, err := shm.Join(context.Background(), cfg)
			if err != nil {
				errs[rank] = err
				return
			}
			errs[rank] = errors.Join(fn(job), job.Close())
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
