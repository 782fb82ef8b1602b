package readsize

import (
	"math"
	"sync"
)

// chunkStep is the unit of chunks: a cache line of buckets.
const chunkStep = 8

// chunk is the chunk size, a multiple of 8, with which a search by this law is cheapest: round
// trips times what one costs. The slots of c are the buckets. Chunks begin at the home itself, as
// in OP, so that the round trips are the mean of floor(displacement/C) + 1 (OP 4.1).
func (c Config) chunk(l *Law) int {
	best, least := chunkStep, math.Inf(1)
	for chunk := chunkStep; chunk <= c.limit(noLimit); chunk += chunkStep {
		if c.ReadNs(chunk) >= least {
			break // even a single one costs more
		}
		trips, _ := l.Reads(chunk)
		if cost := trips * c.ReadNs(chunk); cost < least {
			best, least = chunk, cost
		}
	}
	return best
}

// percents is how many loads a plan knows: 0.01, 0.02, ... up to MaxLoad.
const percents = 99

// Plan has the chunk sizes of find-or-put for all loads, which OP leaves as future work. It finds
// them when they are first asked for, and keeps them. It is safe for concurrent use.
type Plan [percents]func() int

// NewPlan makes a plan; the slots of c are the buckets. It computes nothing yet.
func NewPlan(c Config) (*Plan, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	p := new(Plan)
	for i := range percents {
		p[i] = sync.OnceValue(func() int {
			l, err := absent(float64(i+1) / 100)
			if err != nil {
				panic(err) // the load is one of ours
			}
			return c.chunk(l)
		})
	}
	return p, nil
}

// Chunk is the chunk size, a multiple of 8, for the percent next to a load; for 0.01 or for MaxLoad
// where the load is beyond.
func (p *Plan) Chunk(load float64) int {
	if !(load > 0) {
		load = 0
	}
	return p[int(min(max(math.Round(load*100), 1), percents))-1]()
}
