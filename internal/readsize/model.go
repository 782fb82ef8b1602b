package readsize

import "math"

// complete is the C_k at which the model stops adding up; see [Law.ModelReads].
const complete = 0.99

// noLimit is a limit of read sizes that limits nothing.
const noLimit = math.MaxInt32

// ModelReads is E[X(R)], the number of reads of so many slots each that LP's model
// expects (LP 3.3, Eq. 4 and 5). The sum ends with the first read that has C_k >= 0.99.
// The paper does not say so, but only this gives all seven read sizes of its Table 1; the
// whole sum, which is Reads, gives larger ones (8 instead of 5 at load 0.25, 570 instead
// of 547 at 0.95). It is NaN for slots below 1.
func (l *Law) ModelReads(slots int) float64 {
	if slots < 1 {
		return math.NaN()
	}
	sum, before := 0.0, 1.0
	for i, k := 1, slots; ; i, k = i+1, k+slots {
		after := l.Unfinished(k)
		sum += float64(i) * (before - after)
		if 1-after >= complete {
			return sum
		}
		before = after
	}
}

// best is R*, the read size from 1 to most slots by LP's model: where the expected number
// of reads times the cost of one is least (LP 3.1, Eq. 1). Sizes of more slots than 99 of
// 100 searches need are not considered.
func (c Config) best(l *Law, most int) int {
	most = max(min(c.limit(most), l.quantile(complete)), 1)
	best, least := 1, math.Inf(1)
	for r := 1; r <= most; r++ {
		if cost := l.ModelReads(r) * c.ReadNs(r); cost < least {
			best, least = r, cost
		}
	}
	return best
}
