package reduce_test

import (
	"fmt"

	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/petri/reduce"
)

// Whether two neighbours eat at the same time depends on them and their forks.
func ExampleFor() {
	net, _ := petri.Family("philosophers", 40)
	asked, _ := property.Parse(net, "sometimes", "tokens(Eat_1) = 1 and tokens(Eat_2) = 1")
	r := reduce.For(net, asked)
	fmt.Println(len(net.Places), "places,", len(net.Transitions), "transitions")
	fmt.Println(len(r.Net.Places), "places,", len(r.Net.Transitions), "transitions")
	// Output:
	// 200 places, 200 transitions
	// 5 places, 4 transitions
}
