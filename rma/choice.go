package rma

import (
	"fmt"
	"math"
)

// GetCosts are what gets of the memory of another rank cost: how much a table reads at once depends
// on them (LP 3.2 and 3.5). A job that implements [Priced] says them; of others they are measured.
type GetCosts struct {
	Ns         float64 // from the post of a get of a line, 64 bytes, to its end, alone
	ByteNs     float64 // more for each byte beyond the line: LP's alpha
	EachNs     float64 // time for each of many gets of a line that are in flight
	EachByteNs float64 // more for each byte beyond the line of these
}

// Priced is a job whose time is not the clock's, such as one of rma/sim.
type Priced interface{ GetCosts() GetCosts }

// AccessCosts are what messages to another rank cost, as measured when a table was made: the least
// of several times, as all ranks measure at once and disturb each other.
type AccessCosts struct {
	GetCosts
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
		"%.2f ns a word", c.Costs.Ns/1e3, c.Costs.EachNs/1e3, c.Costs.RequestNs/1e3,
		c.Costs.WordNs)
	if c.MinBatch == math.MaxInt {
		return "one-sided: " + why
	}
	if c.MinBatch == 1 {
		return "shipped: " + why
	}
	return fmt.Sprintf("shipped from %d operations for a rank on: %s", c.MinBatch, why)
}
