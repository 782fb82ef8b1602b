package rma

import (
	"fmt"
	"math"
)

// AccessCosts are what messages to another rank cost, as measured when a table was made: the least
// of several times, as all ranks measure at once and disturb each other.
type AccessCosts struct {
	GetNs     float64 // from the post of a get of a line to its end, alone
	GetEachNs float64 // time for each of many of them that are in flight
	RequestNs float64 // from the post of an empty request to its answer; 0: there was none
	WordNs    float64 // more for each word of a request and of its answer
}

// AccessChoice is how the batches of a table reach the memory of other ranks, and why.
type AccessChoice struct {
	Access   Access
	Trips    float64     // messages of an operation, one-sided
	MinBatch int         // least operations for one owner that are shipped; MaxInt: none are
	Costs    AccessCosts // measured with Auto, else zero
}

// String says it in a sentence.
func (c AccessChoice) String() string {
	switch {
	case c == (AccessChoice{}):
		return "direct: all memory is addressable, or the engine carries no requests"
	case c.Access == Shipped:
		return "shipped, as asked"
	case c.Access == OneSided:
		return "one-sided, as asked"
	case c.Costs == (AccessCosts{}):
		return "direct: all memory is addressable"
	case c.Costs.RequestNs == 0:
		return "one-sided: another rank has ended during the measurement"
	}
	why := fmt.Sprintf("a get takes %.1f us and each of many %.2f us, a request %.1f us and "+
		"%.2f ns a word", c.Costs.GetNs/1e3, c.Costs.GetEachNs/1e3, c.Costs.RequestNs/1e3,
		c.Costs.WordNs)
	if c.MinBatch == math.MaxInt {
		return "one-sided: " + why
	}
	if c.MinBatch == 1 {
		return "shipped: " + why
	}
	return fmt.Sprintf("shipped from %d operations for a rank on: %s", c.MinBatch, why)
}
