package md

import "math"

// poissonInterval is the exact two-sided interval of 95 % for the mean of a Poisson distribution of
// which n was seen.
func poissonInterval(n uint64) (low, high float64) {
	const tail = 0.025
	// The chance to see up to k falls with the mean.
	mean := func(k uint64, chance float64) float64 {
		least, most := 0.0, 2*float64(k)+20
		for range 100 {
			middle := (least + most) / 2
			if upTo(k, middle) > chance {
				least = middle
			} else {
				most = middle
			}
		}
		return least
	}
	if n > 0 {
		low = mean(n-1, 1-tail)
	}
	return low, mean(n, tail)
}

// upTo is the chance to see up to k of a Poisson distribution.
func upTo(k uint64, mean float64) float64 {
	sum := 0.0
	for i := range k + 1 {
		logFactorial, _ := math.Lgamma(float64(i) + 1)
		sum += math.Exp(float64(i)*math.Log(mean) - mean - logFactorial)
	}
	return sum
}
