package rma_test

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// twoHosts are two ranks that do not address each other's memory.
var twoHosts = local.Options{Hosts: 2, Carries: true}

// A table takes an Access in its Config, and reports what it does.
func ExampleAccess() {
	err := local.RunWith(twoHosts, 2, func(job rma.Job) error {
		access, err := rma.ParseAccess("shipped")
		if err != nil {
			return err
		}
		c, err := cache.New(context.Background(), job, cache.Config{KeySize: 8, ValueSize: 8,
			Buckets: 1 << 12, Access: access})
		if err == nil && job.Rank() == 0 {
			fmt.Println(c.Stats().Access)
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// shipped, as asked
}
