package readsize

import "math"

// complete is the C_k at which the model stops adding up; see [Law.ModelReads].
const complete = 0.99

// NoLimit is a limit of read sizes that limits nothing.
const NoLimit = math.MaxInt32

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

// Best is R*, the read size from 1 to most slots by LP's model: where the expected number
// of reads times the cost of one is least (LP 3.1, Eq. 1). Sizes of more slots than 99 of
// 100 searches need are not considered.
func (c Config) Best(l *Law, most int) int {
	most = max(min(c.limit(most), l.Quantile(complete)), 1)
	best, least := 1, math.Inf(1)
	for r := 1; r <= most; r++ {
		if cost := l.ModelReads(r) * c.ReadNs(r); cost < least {
			best, least = r, cost
		}
	}
	return best
}

// Uncapped is the read size of LP's model without the bound of the link, "Var. Linear
// (uncons.)" in LP Table 1.
func (c Config) Uncapped(l *Law) int { return c.Best(l, NoLimit) }

// Capped is the read size of LP's model, "Variable Linear" in LP Table 1: the best of those
// that the link has room for, which is not the lesser of Uncapped and Cap.
func (c Config) Capped(l *Law) int { return c.Best(l, c.Cap()) }

// Hinted is the read size of at most so many slots by LP's model when a cluster is known
// (LP 3.4, Eq. 10; Fig. 13): it begins distance slots after the place where the search
// begins, or before it if distance is negative, has length occupied slots, and the slot
// after it is empty. l is that of searches for the first empty slot. Inside the cluster
// the read ends with the empty slot, whatever most is. A cluster that lies behind, or so
// far ahead that 99 of 100 searches end before it, is no hint: the size is then oblivious,
// what Best has found.
func (c Config) Hinted(l *Law, distance, length, most, oblivious int) int {
	if length < 1 || distance+length < 1 || distance > 0 && 1-l.Unfinished(distance) >= complete {
		return oblivious
	}
	end := distance + length + 1 // slots up to the empty one
	if distance <= 0 {
		return max(c.limit(end), 1)
	}
	best, least := 1, math.Inf(1)
	for r := 1; r <= min(c.limit(most), end); r++ {
		if cost := l.hintedReads(r, distance, end) * c.ReadNs(r); cost < least {
			best, least = r, cost
		}
	}
	return best
}

// hintedReads is ModelReads with the C_k of LP Eq. 10: the search cannot end after
// distance slots, and does after end.
func (l *Law) hintedReads(slots, distance, end int) float64 {
	sum, before := 0.0, 1.0
	i := 1
	for k := slots; k <= distance; i, k = i+1, k+slots {
		after := l.unfinished[k]
		sum += float64(i) * (before - after)
		before = after
	}
	// The first read that goes beyond the distance sees what lies before it, and the one
	// that reaches the end all the rest.
	ahead := l.unfinished[distance]
	last := (end + slots - 1) / slots
	return sum + float64(i)*(before-ahead) + float64(last)*ahead
}
