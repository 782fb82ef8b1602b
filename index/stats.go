package index

import "github.com/farhash/farhash/rma"

// Stats is what lookups took, since the reader was made. Over direct memory
// there are no requests; then only lookups and matches are counted.
type Stats struct {
	Counts
	// Access is how lookups reach memory that is not addressable, and why.
	Access rma.AccessChoice
}

// Counts is what is counted for Stats.
type Counts struct {
	Lookups      uint64
	Matches      uint64 // records found
	Rounds       uint64 // times that a lookup waited for its requests
	Requests     uint64 // gets of slots
	Slots        uint64 // that they brought
	Bytes        uint64 // that they brought, in whole words
	HeapRequests uint64 // gets of records
	HeapBytes    uint64

	// Shipped is how many of Lookups their owners have answered, in ShippedRequests requests.
	Shipped         uint64
	ShippedRequests uint64
	// Served is how many lookups other ranks have shipped to this one, which they count.
	Served uint64
}

// PerLookup is the mean of requests, slots and bytes of a lookup, without the heap's.
func (s *Counts) PerLookup() (requests, slots, bytes float64) {
	n := float64(max(s.Lookups, 1))
	return float64(s.Requests) / n, float64(s.Slots) / n, float64(s.Bytes) / n
}

// Stats returns what this rank's lookups took.
func (r *Reader) Stats() Stats { return Stats{r.counters.Sum(), r.t.batches.Access()} }
