package kv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/shm"
)

func init() { reserving = append(reserving, engine{Name: "shared", Run: runShared}) }

// sharedJobs is how many jobs the tests have started in shared memory.
var sharedJobs atomic.Int64

// runShared runs ranks that are goroutines here as if they were processes.
func runShared(ranks int, fn func(job rma.Job) error) error {
	name := fmt.Sprintf("farhash-kv-test-%d-%d", os.Getpid(), sharedJobs.Add(1))
	dir, err := lab.Folder()
	if err != nil {
		return err
	}
	errs := make([]error, ranks)
	var group sync.WaitGroup
	for rank := range ranks {
		group.Go(func() {
			job, err := shm.Join(context.Background(), shm.Config{Rank: rank, Size: ranks,
				Job: name, Dir: dir})
			if err == nil {
				err = errors.Join(fn(job), job.Close())
			}
			errs[rank] = err
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
