package core

import (
	"context"
	"errors"

	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"
)

const (
	lineBytes     = 8 * lineWords
	longGetWords  = 512           // 4 KiB
	leastGetWords = 8 * lineWords // gets that are shorter do not tell what a byte costs
	longDepth     = 16            // long gets in flight: 64 KiB, more than networks hold
)

// GetCosts are what gets of other ranks' memory cost, before there is a table to measure them on;
// zero where this process can address all of it. Collective.
func GetCosts(ctx context.Context, job rma.Job) (c rma.GetCosts, err error) {
	if job.Size() == 1 {
		return c, nil
	}
	w, err := job.NewWindow(ctx, rma.Spec{Name: "costs of gets", Words: longGetWords})
	if err != nil {
		return c, err
	}
	regions := NewRegions(w)
	if far := regions.Far(job.Rank(), job.Size()); far >= 0 {
		c, err = MeasureGets(ctx, job, w, far)
	}
	err = rma.AllSucceeded(ctx, job, "measuring gets", err) // nobody reads any more
	return c, errors.Join(err, w.Close())
}

// MeasureGets finds out what gets of a rank's segment of a window cost: LP's c and alpha (LP 3.5),
// alone and with many in flight. It takes 20 ms at most, unless a single get takes milliseconds.
func MeasureGets(ctx context.Context, job rma.Job, w rma.Window, rank int) (c rma.GetCosts,
	err error) {
	if p, ok := job.(rma.Priced); ok {
		return p.GetCosts(), nil
	}
	q, err := job.NewQueue(manyDepth)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	short, long := min(lineWords, w.Len()), min(longGetWords, w.Len())
	g := getMeter{q: q, window: w, rank: rank}
	if g.buf, err = q.Alloc(max(longDepth*long, manyDepth*short)); err != nil {
		return c, err
	}
	run := func(words, n, depth int) func() error {
		return func() error { return g.gets(ctx, words, n, depth) }
	}
	var m meter
	c.Ns = m.least(firstCalls, aloneRuns, run(short, 1, 1))
	c.EachNs = m.least(0, longRuns, run(short, manyGets, manyDepth)) / manyGets
	if long < leastGetWords {
		c.ByteNs = readsize.EDR().ByteNs
		c.EachByteNs = c.ByteNs
		return c, m.err
	}
	bytes := float64(8 * (long - short))
	c.ByteNs = max(0, m.least(firstCalls, aloneRuns, run(long, 1, 1))-c.Ns) / bytes
	each := m.least(0, longRuns, run(long, manyGets, longDepth)) / manyGets
	c.EachByteNs = max(0, each-c.EachNs) / bytes
	return c, m.err
}

// getMeter gets words from the beginning of a rank's segment.
type getMeter struct {
	q      rma.Queue
	window rma.Window
	rank   int
	buf    rma.Buf
	ops    [manyDepth]getOp
}

// getOp is a get as a step machine.
type getOp struct {
	m      *getMeter
	buf    rma.Buf // as long as the get
	handle rma.Handle
	begun  bool
}

// Step posts the get, and takes its result.
func (g *getOp) Step(q rma.Queue) (rma.Handle, error) {
	if !g.begun {
		g.begun = true
		g.handle = q.Get(g.buf, g.m.window, g.m.rank, 0)
		return g.handle, nil
	}
	g.begun = false
	_, err := q.Value(g.handle)
	return rma.NoHandle, err
}

// gets runs n gets of so many words, with some of them in flight.
func (m *getMeter) gets(ctx context.Context, words, n, depth int) error {
	for i := range depth {
		m.ops[i] = getOp{m: m, buf: m.buf[i*words : (i+1)*words]}
	}
	return rma.RunAll(ctx, m.q, depth, func(slot int) rma.Op {
		if n == 0 {
			return nil
		}
		n--
		return &m.ops[slot]
	})
}

// Alone is the machine of the cost model by which a read that waits alone is sized.
func Alone(c rma.GetCosts) readsize.Machine { return machineOf(c.Ns, c.ByteNs) }

// InFlight is the machine by which reads are sized that are among many: each keeps the others from
// the wire, and none waits for it alone.
func InFlight(c rma.GetCosts) readsize.Machine { return machineOf(c.EachNs, c.EachByteNs) }

// machineOf is the machine where a line, and each byte beyond it, cost so much. Of a machine
// without costs it is LP's.
func machineOf(lineNs, byteNs float64) readsize.Machine {
	m := readsize.EDR()
	if lineNs > 0 {
		m.LatencyNs, m.ByteNs = max(1, lineNs-lineBytes*byteNs), byteNs
	}
	return m
}
