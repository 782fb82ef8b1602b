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
	each := trips*c.GetEachNs - 2*c.WordNs - handleNs
	if each <= 0 {
		return math.MaxInt
	}
	return max(1, int(math.Ceil((c.RequestNs-trips*c.GetNs)/each)))
}

const (
	aloneRuns  = 20      // gets and requests to take the least of
	manyGets   = 256     // with manyDepth of them in flight
	manyDepth  = 64      //
	longWords  = 1 << 12 // of a long request
	longRuns   = 5
	getWords   = 8 // a line
	firstCalls = 2 // which connect, and are not measured

	// enough is for how long a cost is measured more than once: where ranks outnumber the
	// processors, a message may take a millisecond.
	enough = 5 * time.Millisecond
)

// measure finds out what messages to another rank cost.
func (l *line) measure(ctx context.Context, rank int) (rma.AccessCosts, error) {
	f, err := l.flights()
	if err != nil {
		return rma.AccessCosts{}, err
	}
	m := meter{ctx: ctx, line: l, f: f, rank: rank}
	var costs rma.AccessCosts
	costs.GetNs = m.least(firstCalls, aloneRuns, func() error { return m.gets(1, 1) })
	costs.GetEachNs = m.least(0, longRuns, func() error { return m.gets(manyGets, manyDepth) }) /
		manyGets
	costs.RequestNs = m.least(firstCalls, aloneRuns, func() error { return m.ping(1) })
	long := m.least(firstCalls, longRuns, func() error { return m.ping(longWords) })
	costs.WordNs = max(0, long-costs.RequestNs) / (2 * longWords)
	if m.queue != nil {
		_ = m.queue.Close()
	}
	l.pool.Give(f, m.err != nil)
	if errors.Is(m.err, rma.ErrNotServed) {
		// It has given up since the barrier, as it has lost a rank. This one will hear of that.
		return rma.AccessCosts{GetNs: costs.GetNs, GetEachNs: costs.GetEachNs}, nil
	}
	return costs, m.err
}

// meter measures messages to a rank.
type meter struct {
	ctx   context.Context
	line  *line
	f     *flights
	rank  int
	queue rma.Queue // for gets
	buf   rma.Buf
	err   error
}

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

// ping has the rank return a request of so many words.
func (m *meter) ping(words int) error {
	f, q := &m.f.all[0], m.f.q
	f.request[0] = header(kindPing, 0)
	return Await(m.ctx, q,
		q.Ship(f.request[:words], f.answer[:max(words, minAnswerWords)], m.line.window, m.rank))
}

// getOp is a get as a step machine.
type getOp struct {
	m      *meter
	buf    rma.Buf
	handle rma.Handle
	begun  bool
}

func (g *getOp) Step(q rma.Queue) (rma.Handle, error) {
	if !g.begun {
		g.begun = true
		g.handle = q.Get(g.buf, g.m.line.window, g.m.rank, 0)
		return g.handle, nil
	}
	g.begun = false
	_, err := q.Value(g.handle)
	return rma.NoHandle, err
}

// gets gets lines, with some of them in flight.
func (m *meter) gets(n, depth int) error {
	words := min(getWords, m.line.window.Len())
	if m.queue == nil {
		var err error
		if m.queue, err = m.line.job.NewQueue(manyDepth); err != nil {
			return err
		}
		if m.buf, err = m.queue.Alloc(manyDepth * words); err != nil {
			return err
		}
	}
	ops := make([]getOp, depth)
	for i := range ops {
		ops[i] = getOp{m: m, buf: m.buf[i*words : (i+1)*words]}
	}
	return rma.RunAll(m.ctx, m.queue, depth, func(slot int) rma.Op {
		if n == 0 {
			return nil
		}
		n--
		return &ops[slot]
	})
}
