package readsize_test

import (
	"fmt"

	"github.com/farhash/farhash/readsize"
)

// How much to read at once from a table at load 0.8, on the machine of LP.
func ExamplePlan() {
	plan, err := readsize.NewPlan(readsize.Config{Machine: readsize.EDR(), SlotBytes: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	sizes := plan.Sizes(0.8)
	fmt.Println("ordered:", sizes.Ordered, "slots, the last repeated")
	fmt.Println("linear:", sizes.Adaptive, "slots, by the model of LP", sizes.Capped)
	fmt.Println("chunk of a set:", plan.Chunk(0.8), "buckets")
	// Output:
	// ordered: [17 16] slots, the last repeated
	// linear: [97 137 150 155] slots, by the model of LP 23
	// chunk of a set: 88 buckets
}

// What a lookup costs with reads of 17 and then 16 slots.
func ExampleConfig_Cost() {
	c := readsize.Config{Machine: readsize.EDR(), SlotBytes: 8}
	law, err := readsize.OrderedPresent(0.8)
	if err != nil {
		fmt.Println(err)
		return
	}
	cost := c.Cost(law, 17, 16)
	fmt.Printf("%.2f requests, %.0f bytes, %.0f ns\n", cost.Requests, cost.Bytes, cost.Ns)
	// Output:
	// 1.00 requests, 136 bytes, 1303 ns
}
