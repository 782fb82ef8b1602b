package bench

import (
	"context"
	"errors"
	"math/bits"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/limit"
	"github.com/farhash/farhash/rma"
)

const (
	lineWords = 8
	pageWords = 512
	// inFlight is how many gets are under way where memory is reached by a queue.
	inFlight = 64
	// maxLines is how many lines a rank accesses for the limit: more than caches hold.
	maxLines = 1 << 21
	// maxGets is the same, and for the operations of a case, where memory is reached by a queue.
	maxGets, maxQueued = 1 << 16, 1 << 17
)

// probe measures what the machine allows, again and again in the same memory: a busy machine
// allows less from one moment to the next.
type probe struct {
	job    rma.Job
	w      rma.Window
	flat   []uint64 // the memory of all ranks; nil: reached by a queue
	places []uint64
	lines  int // that this rank accesses in a measurement
	drawn  int // random lines so far

	reading, swapping limit.Way // the fastest ways here
}

// bounds are million cache lines a second, of all ranks.
type bounds struct{ reads, swaps float64 }

// and is the limit of a case between two measurements.
func (b bounds) and(after bounds, c *testCase) float64 {
	sum := b.reads + after.reads
	if c.swaps {
		sum = b.swaps + after.swaps
	}
	return sum / 2 / float64(c.lines)
}

// newProbe allocates so many bytes on all ranks together. Collective.
func newProbe(ctx context.Context, job rma.Job, sizeBytes uint64) (*probe, error) {
	lines := max(int(sizeBytes)/lineBytes/job.Size(), pageWords/lineWords)
	w, err := touched{job}.NewWindow(ctx, rma.Spec{Name: "bench: limit", Words: lines * lineWords})
	if err != nil {
		return nil, err
	}
	p := &probe{job: job, w: w, flat: core.Flat(w), lines: min(lines, maxLines)}
	if p.flat == nil {
		p.lines = min(p.lines, maxGets)
		return p, nil
	}
	p.places = make([]uint64, p.lines)
	if _, err = p.measure(ctx); err == nil { // has the pages to find
		err = p.choose(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return p, nil
}

// choose finds the fastest ways. Collective.
func (p *probe) choose(ctx context.Context) (err error) {
	p.reading, err = limit.Choose(func(w limit.Way) (float64, error) { return p.reads(ctx, w) })
	if err == nil {
		p.swapping, err = limit.Choose(func(w limit.Way) (float64, error) {
			return p.swaps(ctx, w)
		})
	}
	return err
}

func (p *probe) close() error { return p.w.Close() }

// fitting is how many operations of a case there is time for, of those that are wanted.
func (p *probe) fitting(operations int) int {
	if p.flat == nil {
		operations = min(operations, maxQueued)
	}
	return max(operations, 1)
}

// measure is collective.
func (p *probe) measure(ctx context.Context) (b bounds, err error) {
	if p.flat == nil {
		b.reads, err = p.gets(ctx)
		b.swaps = b.reads
		return b, err
	}
	if b.reads, err = p.reads(ctx, p.reading); err == nil {
		b.swaps, err = p.swaps(ctx, p.swapping)
	}
	return b, err
}

func (p *probe) reads(ctx context.Context, way limit.Way) (float64, error) {
	return p.access(ctx, func() { way.Reads(p.flat, p.places) })
}

func (p *probe) swaps(ctx context.Context, way limit.Way) (float64, error) {
	return p.access(ctx, func() { way.Swaps(p.flat, p.places) })
}

// access times accesses to places of their own: they would find others in the cache.
func (p *probe) access(ctx context.Context, run func()) (float64, error) {
	for i := range p.places {
		line, _ := bits.Mul64(p.random(), uint64(len(p.flat)/lineWords))
		p.places[i] = line * lineWords
	}
	return timed(ctx, p.job, len(p.places), func() error {
		run()
		return ctx.Err()
	})
}

// random is another number each time and on each rank.
func (p *probe) random() uint64 {
	p.drawn++
	return mix(number(p.job.Rank(), p.drawn))
}

// gets measures gets of lines of all ranks but, where there are others, this one. Collective.
func (p *probe) gets(ctx context.Context) (rate float64, err error) {
	q, err := p.job.NewQueue(inFlight)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	var bufs [inFlight]rma.Buf
	for i := range bufs {
		if bufs[i], err = q.Alloc(lineWords); err != nil {
			return 0, err
		}
	}
	gets := p.lines / inFlight * inFlight
	return timed(ctx, p.job, gets, func() error {
		var flying [inFlight]rma.Handle
		for i := range gets + inFlight {
			slot := i % inFlight
			if i >= inFlight {
				if err := q.Wait(ctx, flying[slot]); err != nil {
					return err
				}
				if _, err := q.Value(flying[slot]); err != nil {
					return err
				}
			}
			if i >= gets {
				continue
			}
			random := p.random()
			rank := (p.job.Rank() + 1 + int(random%uint64(max(p.job.Size()-1, 1)))) % p.job.Size()
			line, _ := bits.Mul64(random, uint64(p.w.Len()/lineWords))
			flying[slot] = q.Get(bufs[slot], p.w, rank, int(line)*lineWords)
			if err := q.Submit(); err != nil {
				return err
			}
		}
		return nil
	})
}

// mix turns a sequence into random numbers (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x + 0x9E3779B97F4A7C15)
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
