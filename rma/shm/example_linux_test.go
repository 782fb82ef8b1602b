package shm_test

import (
	"context"
	"fmt"
	"os"

	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/shm"
)

// Each rank stores its number in the memory of its neighbour. The ranks are processes of a host;
// here they are goroutines.
func ExampleJoin() {
	ctx := context.Background()
	name := fmt.Sprint("example-", os.Getpid())
	received := make([]uint64, 3)
	err := rmatest.Together(3, func(rank int) error {
		job, err := shm.Join(ctx, shm.Config{Rank: rank, Size: 3, Job: name})
		if err != nil {
			return err
		}
		defer job.Close()
		w, err := job.NewWindow(ctx, rma.Spec{Name: "mail", Words: 1})
		if err != nil {
			return err
		}
		w.Words((rank + 1) % 3)[0] = uint64(rank)
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		received[rank] = w.Words(rank)[0]
		return nil
	})
	fmt.Println(received, err)
	// Output: [2 0 1] <nil>
}
