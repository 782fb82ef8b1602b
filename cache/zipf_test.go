package cache

import (
	"math"
	"math/rand/v2"
	"sort"
)

// zipf draws 0 to n-1, number i with a chance proportional to 1/(i+1)^skew.
type zipf struct{ sums []float64 }

func newZipf(n int, skew float64) *zipf {
	z := &zipf{sums: make([]float64, n)}
	total := 0.0
	for i := range z.sums {
		total += math.Pow(float64(i+1), -skew)
		z.sums[i] = total
	}
	return z
}

func (z *zipf) draw(rng *rand.Rand) int {
	at := rng.Float64() * z.sums[len(z.sums)-1]
	return min(sort.SearchFloat64s(z.sums, at), len(z.sums)-1)
}
