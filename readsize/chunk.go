package readsize

import "math"

// RoundTrips is the expected number of gets, of chunk words each, until a search for a
// word that is not there finds an empty bucket: the mean of floor(displacement/C) + 1
// (OP 4.1). Chunks begin at the home itself, as in OP. It is NaN for a chunk
// below 1.
func (l *Law) RoundTrips(chunk int) float64 {
	trips, _ := l.Reads(chunk)
	return trips
}

// RoundTripsBetween is the mean of RoundTrips over the inserts that take a table from one
// load to another (OP Table 1, where these differ by 0.02).
func RoundTripsBetween(from, to float64, chunk int) (float64, error) {
	// Simpson's rule; the integrand is smooth and intervals are short.
	const steps = 8
	sum := 0.0
	for i := range steps + 1 {
		l, err := Absent(from + (to-from)*float64(i)/steps)
		if err != nil {
			return math.NaN(), err
		}
		weight := 2.0 + 2*float64(i%2)
		if i == 0 || i == steps {
			weight = 1
		}
		sum += weight * l.RoundTrips(chunk)
	}
	return sum / (3 * steps), nil
}

// chunkStep is the unit of chunks: a cache line of buckets.
const chunkStep = 8

// Chunk is the chunk size, a multiple of 8 and at most most, with which a search by this
// law is cheapest: round trips times what one costs. OP leaves this choice as future
// work. The slots of c are the buckets.
func (c Config) Chunk(l *Law, most int) int {
	most = c.limit(most)
	best, least := chunkStep, math.Inf(1)
	for chunk := chunkStep; chunk <= most; chunk += chunkStep {
		if c.ReadNs(chunk) >= least {
			break // even a single one costs more
		}
		if cost := l.RoundTrips(chunk) * c.ReadNs(chunk); cost < least {
			best, least = chunk, cost
		}
	}
	return best
}
