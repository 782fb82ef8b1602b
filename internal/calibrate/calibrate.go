package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/farhash/farhash/rma"
)

// HeaderBytes is what a message has beside its payload: as on InfiniBand (LP 3.1).
const HeaderBytes = 30

const (
	// DefaultSegmentBytes is the memory of each rank: more than a cache.
	DefaultSegmentBytes = 64 << 20
	// DefaultRounds take a second at most where a read takes some microseconds.
	DefaultRounds = 60
	// DefaultLimit is for links where an operation takes milliseconds.
	DefaultLimit = time.Minute

	wordBytes   = 8
	longWords   = 1024 // of the longest read
	groupReads  = 16   // timed together: a clock takes as long as a read of local memory
	flightReads = 256  // in flight for the rate of messages
	flightLong  = 32   // in flight for the bandwidth
)

// lengths of reads that the line is fitted to, in words.
var lengths = [...]int{1, 16, 64, 256, longWords}

// Config is how to measure. All ranks have the same.
type Config struct {
	SegmentBytes int // memory of each rank; 0: DefaultSegmentBytes
	// Rounds is how many groups of reads of each length are timed, and how often all that
	// is in flight is replaced; 0: DefaultRounds.
	Rounds int
	// Limit is how long it takes at most, or fails; 0: DefaultLimit. On slow links there are
	// fewer rounds, and what arrives last is left out.
	Limit time.Duration
	// NowNs is a clock; nil: the clock of the machine.
	NowNs func() int64
}

// complete fills in what is left out and refuses what makes no sense.
func (c Config) complete() (Config, error) {
	if c.SegmentBytes == 0 {
		c.SegmentBytes = DefaultSegmentBytes
	}
	if c.SegmentBytes < 2*longWords*wordBytes || c.SegmentBytes%wordBytes != 0 {
		return c, fmt.Errorf("calibrate: a segment must have a multiple of 8 and at least %d "+
			"bytes, not %d", 2*longWords*wordBytes, c.SegmentBytes)
	}
	if c.Rounds == 0 {
		c.Rounds = DefaultRounds
	}
	if c.Rounds < 0 {
		return c, fmt.Errorf("calibrate: rounds must be positive, not %d", c.Rounds)
	}
	if c.Limit == 0 {
		c.Limit = DefaultLimit
	}
	if c.Limit < 0 {
		return c, fmt.Errorf("calibrate: the limit of time must be positive, not %v", c.Limit)
	}
	if c.NowNs == nil {
		began := time.Now()
		c.NowNs = func() int64 { return int64(time.Since(began)) }
	}
	return c, nil
}

// Measure measures the engine of a job, in a second or two on one host. Collective. The
// result is on rank 0, and nil on all others.
func Measure(ctx context.Context, job rma.Job, cfg Config) (*Result, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.Limit, fmt.Errorf("no result within %v: "+
		"operations take too long, or other ranks do not answer; allow more time", cfg.Limit))
	defer cancel()
	m := &meter{ctx: ctx, job: job, cfg: cfg, words: cfg.SegmentBytes / wordBytes,
		rng: rand.New(rand.NewPCG(uint64(job.Rank()), 1))}
	err = m.open()
	var r *Result
	if err == nil {
		r, err = m.measure()
	}
	if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	if err = errors.Join(err, m.close()); err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	return r, nil
}

// meter is a rank that measures.
type meter struct {
	ctx    context.Context
	job    rma.Job
	cfg    Config
	words  int // of each segment
	rng    *rand.Rand
	window rma.Window
	shared rma.Window // of what cells holds
	cells  *rma.Cells
	queue  rma.Queue
	buffer rma.Buf

	beganNs int64
	missing []string // what there was no time for
}

// open makes windows and touches the memory: pages that nobody has written to are all the
// same one on many systems.
func (m *meter) open() (err error) {
	spec := rma.Spec{Name: "calibrate: memory", Words: m.words}
	if m.window, err = m.job.NewWindow(m.ctx, spec); err != nil {
		return err
	}
	spec = rma.Spec{Name: "calibrate: rates", Words: 1}
	if m.shared, err = m.job.NewWindow(m.ctx, spec); err != nil {
		return err
	}
	if m.cells, err = rma.NewCells(m.job, m.shared); err != nil {
		return err
	}
	if m.queue, err = m.job.NewQueue(flightReads); err != nil {
		return err
	}
	if m.buffer, err = m.queue.Alloc(flightLong * longWords); err != nil {
		return err
	}
	block := m.buffer[:longWords]
	for i := range block {
		block[i] = 1
	}
	for off := 0; off < m.words; off += longWords {
		h := m.queue.Put(block[:min(longWords, m.words-off)], m.window, m.job.Rank(), off)
		if err := m.finish(h); err != nil {
			return err
		}
	}
	return nil
}

// finish submits what is posted, waits for one operation and releases it.
func (m *meter) finish(h rma.Handle) error {
	if err := m.queue.Submit(); err != nil {
		return err
	}
	return m.release(m.queue, h)
}

// release waits for an operation and releases it.
func (m *meter) release(q rma.Queue, h rma.Handle) error {
	if err := q.Wait(m.ctx, h); err != nil {
		return err
	}
	_, err := q.Value(h)
	return err
}

// other is some other rank, or this one if it is alone.
func (m *meter) other() int {
	rank := m.job.Rank()
	if n := m.job.Size(); n > 1 {
		rank = (rank + 1 + m.rng.IntN(n-1)) % n
	}
	return rank
}

// read posts a read of some place of another rank.
func (m *meter) read(dst rma.Buf) rma.Handle {
	return m.queue.Get(dst, m.window, m.other(), m.rng.IntN(m.words-len(dst)+1))
}

// measure does all of it, in step with the other ranks.
func (m *meter) measure() (*Result, error) {
	if err := m.job.Barrier(m.ctx); err != nil {
		return nil, err
	}
	m.beganNs = m.cfg.NowNs()
	r := &Result{Ranks: m.job.Size(), HeaderBytes: HeaderBytes}
	if m.job.Rank() == 0 {
		if err := m.line(r); err != nil {
			return nil, err
		}
	}
	single, err := m.rate(flightReads, 1)
	if err != nil {
		return nil, err
	}
	long, err := m.rate(flightLong, longWords)
	if err != nil {
		return nil, err
	}
	if r.Rates, err = m.rates(); err != nil {
		return nil, err
	}
	if r.Shipped, err = m.shipped(); err != nil {
		return nil, err
	}
	if m.job.Rank() != 0 {
		return nil, nil
	}
	r.Missing = m.missing
	r.MessagesPerSecond, r.LinkBytesPerSecond = single, long*longWords*wordBytes
	return r, r.check()
}

// line measures single reads.
func (m *meter) line(r *Result) error {
	var took [len(lengths)][]float64
	stop := m.share()
	for round := range m.cfg.Rounds + 1 {
		if round > 1 && m.cfg.NowNs() >= stop {
			break
		}
		for i, words := range lengths {
			began := m.cfg.NowNs()
			for range groupReads {
				if err := m.finish(m.read(m.buffer[:words])); err != nil {
					return err
				}
			}
			if ns := float64(m.cfg.NowNs() - began); round > 0 { // the first is a warm-up
				took[i] = append(took[i], ns/groupReads)
			}
		}
	}
	for i, words := range lengths {
		r.Points = append(r.Points, Point{Bytes: words * wordBytes, Ns: median(took[i])})
	}
	r.LatencyNs, r.ByteNs = fit(r.Points)
	return nil
}

// close gives everything back.
func (m *meter) close() error {
	var errs []error
	if m.cells != nil {
		errs = append(errs, m.cells.Close())
	}
	if m.queue != nil {
		errs = append(errs, m.queue.Close())
	}
	for _, w := range []rma.Window{m.shared, m.window} {
		if w != nil {
			errs = append(errs, w.Close())
		}
	}
	return errors.Join(errs...)
}
