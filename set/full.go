package set

import (
	"context"
	"fmt"
)

// FullError says that something could not be inserted. What was stored stays.
type FullError struct {
	LoadFactor   float64 // of the whole table
	Buckets      uint64
	LongestProbe uint64 // buckets examined by this rank's longest search
	Enough       uint64 // a number of buckets that is enough for twice the content
	NoArena      bool   // buckets are free, but the arenas have no slot left
}

func (e *FullError) Error() string {
	if e.NoArena {
		return fmt.Sprintf("set: the arenas are full at load factor %.2f of %d buckets "+
			"(longest probe %d buckets); make the set with more elements, or grow it to %d buckets",
			e.LoadFactor, e.Buckets, e.LongestProbe, e.Enough)
	}
	return fmt.Sprintf("set: full at load factor %.2f of %d buckets (longest probe %d buckets); "+
		"%d buckets would hold twice as many", e.LoadFactor, e.Buckets, e.LongestProbe, e.Enough)
}

// recommendedLoad is the load factor of a table of the recommended size.
const recommendedLoad = 0.8

// fullErrorOf describes a set that is full: it lacks buckets or arena slots.
func fullErrorOf(ta *tally, t *table, noArena bool) *FullError {
	n, err := ta.inserted(context.Background())
	if err != nil {
		n = t.buckets // the upper bound
	}
	// A table whose searches are too long at this load needs a lower load, even
	// where this one is low.
	enough := float64(t.buckets) * 2 / recommendedLoad
	if noArena {
		enough = max(float64(n)*2/recommendedLoad, float64(t.buckets+1))
	}
	return &FullError{
		LoadFactor:   float64(n) / float64(t.buckets),
		Buckets:      t.buckets,
		LongestProbe: ta.stats().LongestProbe,
		Enough:       min(uint64(enough), MaxBuckets),
		NoArena:      noArena,
	}
}
