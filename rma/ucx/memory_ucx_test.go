//go:build ucx && cgo

package ucx

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

// A queue that there is no memory for is an error.
func TestQueueWithoutMemory(t *testing.T) {
	err := together(t, 2, 2, true, overrides{transports: transports, atomics: coherent},
		func(job rma.Job) error {
			if job.Rank() == 1 {
				return job.Barrier(t.Context())
			}
			var before syscall.Rlimit
			var pages uint64
			text, err := os.ReadFile("/proc/self/statm")
			if err == nil {
				_, err = fmt.Sscan(string(text), &pages)
			}
			if err == nil {
				err = syscall.Getrlimit(syscall.RLIMIT_AS, &before)
			}
			if err != nil {
				return err
			}
			limit := before
			limit.Cur = min(before.Max, pages*uint64(os.Getpagesize())+1<<30)
			if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
				return err
			}
			_, full := job.NewQueue(remote.MaxQueueDepth)
			if err := syscall.Setrlimit(syscall.RLIMIT_AS, &before); err != nil {
				return err
			}
			if full == nil || !strings.Contains(full.Error(), "no memory for a queue") {
				t.Error(full)
			}
			return job.Barrier(t.Context())
		})
	if err != nil {
		t.Error(err)
	}
}
