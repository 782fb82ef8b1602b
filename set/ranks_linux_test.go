package set

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/shm"
)

func init() { runShared = runShm }

// shmJobs is how many jobs the tests have started in shared memory.
var shmJobs atomic.Int64

// runShm runs ranks that are goroutines here as if they were processes.
func runShm(hidden bool, n int, fn func(job rma.Job) error) error {
	name := fmt.Sprintf("farhash-set-test-%d-%d", os.Getpid(), shmJobs.Add(1))
	dir, err := lab.Folder()
	if err != nil {
		return err
	}
	return onAll(n, func(rank int) error {
		job, err := shm.Join(context.Background(), shm.Config{Rank: rank, Size: n, Job: name,
			Hidden: hidden, Dir: dir})
		if err != nil {
			return err
		}
		defer job.Close()
		return fn(job)
	})
}
