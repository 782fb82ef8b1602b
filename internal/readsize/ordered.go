package readsize

import "math"

// orderedAbsent is the law of searches for a key that is not there in a table of linear
// probing whose records are in the order of their homes (Robin Hood). A search ends with
// the first record whose home is past the key's, or with an empty slot: after the records
// that spill over from before the home, and the records of the home itself.
//
// What spills over, X, is the queue of a server that takes one record a slot while
// Poisson(load) arrive; the generating function of X is
//
//	(1-load)(z-1) / (z - exp(load*(z-1)))
//
// and X + Poisson(load) is 0 with probability 1-load, and else one more than the next X.
func orderedAbsent(load float64) (*Law, error) {
	if err := checkLoad(load); err != nil {
		return nil, err
	}
	x := spill(load)
	sumUp(x)
	x[0] = load // of the next X being at least 0, when the server is busy
	return &Law{append([]float64{1}, x...)}, nil
}

// orderedPresent is the law of searches for a key that is there: one record more.
func orderedPresent(load float64) (*Law, error) {
	l, err := orderedAbsent(load)
	if err != nil {
		return nil, err
	}
	return &Law{append([]float64{1}, l.unfinished...)}, nil
}

// spill is the distribution of the number of records that spill over a border between
// slots. The generating function is (1-a) / (1 - a*G(z)) with G the one of the chances
// that Poisson(a) exceeds 0, 1, ..., divided by a: a geometric sum of such numbers. That
// gives a recursion of positive terms, which is exact far into the tail, where an
// inversion by Fourier transform has only its rounding errors.
func spill(load float64) []float64 {
	exceeds := poissonExceeds(load)
	x := []float64{(1 - load) / (1 - exceeds[0])}
	least := tail * (1 - load)
	for n := 1; n < 3 || x[n-1] > least; n++ {
		sum := 0.0
		for i := 1; i <= min(n, len(exceeds)-1); i++ {
			sum += exceeds[i] * x[n-i]
		}
		x = append(x, sum/(1-exceeds[0]))
	}
	return x
}

// poissonExceeds is the probability that Poisson(mean) exceeds 0, 1, ..., for mean below 1.
func poissonExceeds(mean float64) []float64 {
	const terms = 24 // 1/24! is far below the rounding error of 1
	p := make([]float64, terms)
	term := math.Exp(-mean)
	for i := range p {
		term *= mean / float64(i+1)
		p[i] = term // that it is i+1
	}
	sumUp(p)
	return p
}
