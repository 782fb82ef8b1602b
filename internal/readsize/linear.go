package readsize

import "math"

// absent is the law of searches in linear probing for a key that is not there, which end
// with the first empty slot, in a table without bounds (LP 3.3 in the limit; Borel):
// b_n is the probability that the records with home in a place and those that push on
// from there fill n slots, less one, and P_k = (1-load) * (b_{k+1} + b_{k+2} + ...).
func absent(load float64) (*Law, error) {
	if err := checkLoad(load); err != nil {
		return nil, err
	}
	b := borel(load)
	for i := range b {
		b[i] *= 1 - load
	}
	return fromRuns(b), nil
}

// present is the law of searches for a key that is there, which continue to the first empty
// slot, because all matches are wanted (LP 4.3): the run ahead of the home, and after it
// what the record itself begins, P convolved with b. That is
//
//	(1-load) * sum over n > k of (c_n - b_n), where c = b * b, c_n = b_n * 2(n-1)/(load*n)
//
// by the inversion of Lagrange, so that nothing need be convolved.
func present(load float64) (*Law, error) {
	if err := checkLoad(load); err != nil {
		return nil, err
	}
	b := borel(load)
	for i := range b {
		n := float64(i + 1)
		b[i] = (1 - load) * (b[i]/load*2*(n-1)/n - b[i])
	}
	l := fromRuns(b)
	l.unfinished[1] = 1 // the record itself occupies a slot; rounding must not say otherwise
	return l, nil
}

// borel is b_1, b_2, ... as far as searches go that are likelier than tail.
func borel(load float64) []float64 {
	decay := load - 1 - math.Log(load) // b_{n+1}/b_n tends to exp(-decay)
	least := tail * decay * decay      // two sums follow
	var all []float64
	b := math.Exp(-load)
	for n := 1.0; len(all) < 2 || b > least; n++ {
		all = append(all, b)
		b *= load * math.Exp(-load+(n-1)*math.Log1p(1/n))
	}
	return all
}

// fromRuns is the law whose P_k is the sum of g_k, g_{k+1}, ... (LP Eq. 7). It takes g.
func fromRuns(g []float64) *Law {
	sumUp(g)
	sumUp(g)
	g[0] = 1
	for k := range g {
		g[k] = min(max(g[k], 0), 1)
	}
	return &Law{append(g, 0)}
}
