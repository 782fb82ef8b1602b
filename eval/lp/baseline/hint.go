package baseline

import (
	"math"

	"github.com/farhash/farhash/internal/readsize"
)

// complete is the probability at which LP's model stops adding up; see [readsize.Law.ModelReads].
const complete = 0.99

// Hinted is the read size of at most s.Cap slots by LP's model when a cluster is known (LP 3.4,
// Eq. 10; Fig. 13): it begins distance slots after the place where the search begins, or before it
// if distance is negative, has length occupied slots, and the slot after it is empty. l is the law
// of searches for the first empty slot, and s are the sizes of its load. Inside the cluster the
// read ends with the empty slot, whatever the cap is. A cluster that ends before that place, or is
// so far after it that 99 of 100 searches end before it, is no hint: the size is then s.Capped. It
// allocates nothing.
func Hinted(c readsize.Config, l *readsize.Law, distance, length int, s *readsize.Sizes) int {
	if length < 1 || distance+length < 1 || distance > 0 && 1-l.Unfinished(distance) >= complete {
		return s.Capped
	}
	end, most := distance+length+1, math.MaxInt // slots up to the empty one
	if c.MaxSlots > 0 {
		most = c.MaxSlots
	}
	if distance <= 0 {
		return min(end, most)
	}
	best, least := 1, math.Inf(1)
	for r := 1; r <= min(s.Cap, most, end); r++ {
		if cost := hintedReads(l, r, distance, end) * c.ReadNs(r); cost < least {
			best, least = r, cost
		}
	}
	return best
}

// hintedReads is ModelReads with the C_k of LP Eq. 10: the search cannot end after distance slots,
// and does after end.
func hintedReads(l *readsize.Law, slots, distance, end int) float64 {
	sum, before := 0.0, 1.0
	i := 1
	for k := slots; k <= distance; i, k = i+1, k+slots {
		after := l.Unfinished(k)
		sum += float64(i) * (before - after)
		before = after
	}
	// The first read that goes beyond the distance sees what is before it, and the one
	// that reaches the end all the rest.
	ahead := l.Unfinished(distance)
	last := (end + slots - 1) / slots
	return sum + float64(i)*(before-ahead) + float64(last)*ahead
}
