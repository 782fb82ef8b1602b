package readsize

import (
	"fmt"
	"math"
	"sort"
)

// MaxLoad is the highest load that there are laws for. Runs of occupied slots grow with
// 1/(1-load)^2; above it they have tens of thousands of slots, and a larger table is the
// remedy.
const MaxLoad = 0.99

// tail is the probability at which laws end: searches that are longer are left out.
const tail = 1e-12

// Law is how far a search goes: the distribution of the number of slots, from the
// first on, that must have been read for it to end. It does not change.
type Law struct {
	unfinished []float64 // U_k for k = 0 on; 0 afterwards
}

// checkLoad says what is wrong with a load.
func checkLoad(load float64) error {
	if !(load > 0 && load < 1) {
		return fmt.Errorf("readsize: the load of a table is between 0 and 1, exclusive, "+
			"and is not %v", load)
	}
	if load > MaxLoad {
		return fmt.Errorf("readsize: load %v is above %v, where runs have tens of thousands of "+
			"slots; a table with more slots is the remedy", load, MaxLoad)
	}
	return nil
}

// Unfinished is U_k, the probability that a search continues after k slots.
func (l *Law) Unfinished(k int) float64 {
	switch {
	case k <= 0:
		return 1
	case k >= len(l.unfinished):
		return 0
	}
	return l.unfinished[k]
}

// quantile is the least k with C_k >= p, for p below 1.
func (l *Law) quantile(p float64) int {
	return sort.Search(len(l.unfinished), func(k int) bool { return 1-l.unfinished[k] >= p })
}

// Reads is the expected number of reads of a search, and of the slots that these bring,
// if they have these sizes; the last is repeated. Both are NaN if there is no size or one
// is below 1.
func (l *Law) Reads(sizes ...int) (reads, slots float64) {
	for _, size := range sizes {
		if size < 1 {
			return math.NaN(), math.NaN()
		}
	}
	if len(sizes) == 0 {
		return math.NaN(), math.NaN()
	}
	for k, i := 0, 0; k < len(l.unfinished); i++ {
		size := sizes[min(i, len(sizes)-1)]
		reads += l.unfinished[k]
		slots += l.unfinished[k] * float64(size)
		if size >= len(l.unfinished)-k {
			break // k+size might overflow
		}
		k += size
	}
	return reads, slots
}

// sumUp replaces each value by the sum of it and of all that follow. Adding up from the
// small end loses nothing.
func sumUp(v []float64) {
	for i := len(v) - 2; i >= 0; i-- {
		v[i] += v[i+1]
	}
}
