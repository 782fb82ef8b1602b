package core

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/farhash/farhash/rma"
)

// handleNs is what an operation costs the owner, about: a miss of the cache or two.
const handleNs = 200

// least is from how many operations for one owner on a request takes less time than
// one-sided operations of trips messages each; MaxInt for never.
func least(c rma.AccessCosts, trips float64) int {
	if c.RequestNs == 0 {
		return math.MaxInt
	}
	each := trips*c.EachNs - 2*c.WordNs - handleNs
	if each <= 0 {
		return math.MaxInt
	}
	return max(1, int(math.Ceil((c.RequestNs-trips*c.Ns)/each)))
}

const (
	aloneRuns  = 20      // gets and requests to take the least of
	manyGets   = 256     // with manyDepth of them in flight
	manyDepth  = 64      //
	longWords  = 1 << 12 // of a long request
	longRuns   = 5
	firstCalls = 2 // which connect, and are not measured

	// enough is for how long a cost is measured more than once: where ranks outnumber the
	// processors, a message may take a millisecond.
	enough = 5 * time.Millisecond
)

// measure finds out what messages to another rank cost, beside the costs that are known.
func (l *line) measure(ctx context.Context, rank int, costs rma.AccessCosts) (rma.AccessCosts,
	error) {
	var err error
	if costs.GetCosts == (rma.GetCosts{}) {
		costs.GetCosts, err = MeasureGets(ctx, l.job, l.window, rank)
	}
	if err != nil || costs.RequestNs > 0 {
		return costs, err
	}
	f, err := l.flights()
	if err != nil {
		return costs, err
	}
	ping := func(words int) func() error {
		return func() error { return l.ping(ctx, f, rank, words) }
	}
	var m meter
	costs.RequestNs = m.least(firstCalls, aloneRuns, ping(1))
	long := m.least(firstCalls, longRuns, ping(longWords))
	costs.WordNs = max(0, long-costs.RequestNs) / (2 * longWords)
	l.pool.Give(f, m.err != nil)
	if errors.Is(m.err, rma.ErrNotServed) {
		// It has given up since the barrier, as it has lost a rank. This one will hear of that.
		return rma.AccessCosts{GetCosts: costs.GetCosts}, nil
	}
	return costs, m.err
}

// ping has the rank return a request of so many words.
func (l *line) ping(ctx context.Context, f *flights, rank, words int) error {
	one := &f.all[0]
	one.request[0] = header(kindPing, 0)
	return Await(ctx, f.q, f.q.Ship(one.request[:words],
		one.answer[:max(words, minAnswerWords)], l.window, rank))
}

// meter measures messages. Nothing runs after an error.
type meter struct{ err error }

// least is the shortest time of several runs after the first ones, in ns.
func (m *meter) least(first, runs int, run func() error) float64 {
	least, spent := math.Inf(1), time.Duration(0)
	for i := -first; i < runs && m.err == nil && (i <= 0 || spent < enough); i++ {
		begin := time.Now()
		m.err = run()
		if i >= 0 {
			took := time.Since(begin)
			spent, least = spent+took, min(least, float64(took.Nanoseconds()))
		}
	}
	if m.err != nil {
		return 0
	}
	return least
}
