package ship_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/ship"
)

// twoHosts are two ranks that do not address each other's memory.
var twoHosts = local.Options{Hosts: 2, Carries: true}

// A table takes an Access in its Config, and reports what it does.
func ExampleAccess() {
	err := local.RunWith(twoHosts, 2, func(job rma.Job) error {
		access, err := ship.Parse("shipped")
		if err != nil {
			return err
		}
		c, err := cache.New(context.Background(), job, cache.Config{KeySize: 8, ValueSize: 8,
			BucketsPerRank: 1 << 10, Access: access})
		if err == nil && job.Rank() == 0 {
			fmt.Println(c.Access())
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// shipped, as asked
}

// The owner of a number doubles it. Rank 0 ships what rank 1 owns, and doubles the rest itself.
func ExampleLine() {
	double := func(_ uint32, n int, request, answer []uint64) (words int, err error) {
		for i, number := range request {
			answer[i] = 2 * number
		}
		return n, nil
	}
	err := local.RunWith(twoHosts, 2, func(job rma.Job) error {
		ctx := context.Background()
		window, err := job.NewWindow(ctx, rma.Spec{Name: "numbers", Words: 8})
		if err != nil {
			return err
		}
		line, err := ship.Open(ctx, job, window, ship.Config{Access: ship.Shipped, Answer: double})
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			numbers := []uint64{10, 11, 12, 13}
			_, err = line.Run(ctx, &ship.Batch{N: len(numbers),
				Owner: func(i int) int { return i % 2 },
				Size:  func(int) (request, answer int) { return 1, 1 },
				Pack:  func(i int, to []uint64) { to[0] = numbers[i] },
				Unpack: func(i int, from []uint64) (words int, err error) {
					numbers[i] = from[0]
					return 1, nil
				},
				Rest: func(operations []int) error {
					fmt.Println("not shipped:", operations)
					for _, i := range operations {
						numbers[i] *= 2
					}
					return nil
				}})
			fmt.Println(numbers)
		}
		return errors.Join(err, job.Barrier(ctx))
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// not shipped: [0 2]
	// [20 22 24 26]
}
