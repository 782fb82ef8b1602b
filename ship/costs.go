package ship

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/farhash/farhash/rma"
)

// Costs are what messages to another rank cost, as measured when a table was made: the least of
// several times, as all ranks measure at once and disturb each other.
type Costs struct {
	GetNs      float64 // from the post of a get of a line to its end, alone
	GetEachNs  float64 // time for each of many of them that are in flight
	RequestNs  float64 // from the post of an empty request to its answer; 0: there was none
	WordNs     float64 // more for each word of a request and of its answer
	NeedTarget bool    // gets wait until the target's program enters the engine
}

// handleNs is what an operation costs the owner, about: a miss of the cache or two.
const handleNs = 200

// minBatch is the least number of operations for one owner for which a request takes less time
// than one-sided operations of trips messages each; MaxInt if there is none.
func (c Costs) minBatch(trips float64) int {
	if c.RequestNs == 0 {
		return math.MaxInt
	}
	each := trips*c.GetEachNs - 2*c.WordNs - handleNs
	if each <= 0 {
		return math.MaxInt
	}
	return max(1, int(math.Ceil((c.RequestNs-trips*c.GetNs)/each)))
}

// Choice is what a line does, and why.
type Choice struct {
	Access   Access
	Trips    float64 // messages of an operation, one-sided
	MinBatch int     // least operations for one owner that are shipped; MaxInt: none are
	Costs    Costs   // measured with Auto, else zero
}

// String says it in a sentence.
func (c Choice) String() string {
	switch {
	case c == (Choice{}):
		return "direct: all memory is addressable, or the engine carries no requests"
	case c.Access == Shipped:
		return "shipped, as asked"
	case c.Access == OneSided:
		return "one-sided, as asked"
	case c.Costs == (Costs{}):
		return "direct: all memory is addressable"
	case c.Costs.RequestNs == 0:
		return "one-sided: another rank has ended meanwhile"
	}
	why := fmt.Sprintf("a get takes %.1f us and each of many %.2f us, a request %.1f us and "+
		"%.2f ns a word", c.Costs.GetNs/1e3, c.Costs.GetEachNs/1e3, c.Costs.RequestNs/1e3,
		c.Costs.WordNs)
	if c.Costs.NeedTarget {
		why += "; gets need the target's processor"
	}
	if c.MinBatch == math.MaxInt {
		return "one-sided: " + why
	}
	if c.MinBatch == 1 {
		return "shipped: " + why
	}
	return fmt.Sprintf("shipped from %d operations for a rank on: %s", c.MinBatch, why)
}

const (
	aloneRuns  = 20      // gets and requests to take the least of
	manyGets   = 256     // with manyDepth of them in flight
	manyDepth  = 64      //
	longWords  = 1 << 12 // of a long request
	longRuns   = 5
	getWords   = 8 // a line
	firstCalls = 2 // which connect, and are not measured
)

// measure finds out what messages to another rank cost.
func (l *Line) measure(ctx context.Context) (Costs, error) {
	s, err := l.session()
	if err != nil {
		return Costs{}, err
	}
	m := meter{ctx: ctx, line: l, s: s, rank: l.far()}
	costs := Costs{NeedTarget: l.window.Caps().GetNeedsTarget}
	costs.GetNs = m.least(aloneRuns, func() error { return m.gets(1, 1) })
	costs.GetEachNs = m.least(longRuns, func() error { return m.gets(manyGets, manyDepth) }) /
		manyGets
	costs.RequestNs = m.least(aloneRuns, func() error { return m.ping(1) })
	long := m.least(longRuns, func() error { return m.ping(longWords) })
	costs.WordNs = max(0, long-costs.RequestNs) / (2 * longWords)
	if m.queue != nil {
		_ = m.queue.Close()
	}
	l.pool.Give(s, m.err != nil)
	if errors.Is(m.err, rma.ErrNotServed) {
		// That rank has stopped since the barrier, as it has lost a rank, which this one will lose.
		return Costs{GetNs: costs.GetNs, GetEachNs: costs.GetEachNs}, nil
	}
	return costs, m.err
}

// meter measures messages to a rank.
type meter struct {
	ctx   context.Context
	line  *Line
	s     *session
	rank  int
	queue rma.Queue // for gets
	buf   rma.Buf
	err   error
}

// least is that of the times of run, in ns.
func (m *meter) least(runs int, run func() error) float64 {
	least := math.Inf(1)
	for i := -firstCalls; i < runs && m.err == nil; i++ {
		begin := time.Now()
		m.err = run()
		if i >= 0 {
			least = min(least, float64(time.Since(begin).Nanoseconds()))
		}
	}
	if m.err != nil {
		return 0
	}
	return least
}

// ping has the rank return a request of so many words.
func (m *meter) ping(words int) error {
	f := &m.s.flights[0]
	f.request[0] = header(kindPing, 0)
	f.rank, f.used, f.room = m.rank, words, words
	m.line.post(m.s, f)
	if err := m.s.q.Submit(); err != nil {
		return err
	}
	if err := m.s.q.Wait(m.ctx, f.handle); err != nil {
		return err
	}
	_, err := m.s.q.Value(f.handle)
	return err
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
