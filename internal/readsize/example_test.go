package readsize_test

import (
	"fmt"

	"github.com/farhash/farhash/internal/readsize"
)

// How much to read at once from a table at load 0.8, on the machine of LP.
func ExampleNewSizes() {
	sizes, err := readsize.NewSizes(readsize.Config{Machine: readsize.EDR(), SlotBytes: 8}, 0.8)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ordered:", sizes.Ordered, "slots, the last repeated")
	fmt.Println("linear:", sizes.Adaptive, "slots, by the model of LP", sizes.Capped)
	// Output:
	// ordered: [17 16] slots, the last repeated
	// linear: [97 137 150 155] slots, by the model of LP 23
}

// How many buckets of a set to read at once at load 0.8.
func ExamplePlan() {
	plan, err := readsize.NewPlan(readsize.Config{Machine: readsize.EDR(), SlotBytes: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Chunk(0.8))
	// Output: 88
}

// What a lookup costs with reads of 17 and then 16 slots.
func ExampleConfig_Cost() {
	c := readsize.Config{Machine: readsize.EDR(), SlotBytes: 8}
	laws, err := readsize.NewLaws(0.8)
	if err != nil {
		fmt.Println(err)
		return
	}
	cost := c.Cost(laws.OrderedPresent, 17, 16)
	fmt.Printf("%.2f requests, %.0f bytes, %.0f ns\n", cost.Requests, cost.Bytes, cost.Ns)
	// Output:
	// 1.00 requests, 136 bytes, 1303 ns
}
