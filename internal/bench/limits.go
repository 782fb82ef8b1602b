package bench

import (
	"context"
	"errors"
	"math/bits"

	"github.com/farhash/farhash/internal/limit"
	"github.com/farhash/farhash/rma"
)

const (
	lineWords = 8
	pageWords = 512
	// limitShare is how many lines are touched for the limit for each operation of a case.
	limitShare = 4
	// inFlight is how many gets are under way where memory is reached by a queue.
	inFlight = 64
)

// limits measures what the machine allows, in cache lines. Collective.
func (m *measurement) limits(ctx context.Context) (err error) {
	perRank := int(m.cfg.SizeBytes) / 8 / m.job.Size() / lineWords * lineWords
	w, err := m.job.NewWindow(ctx, rma.Spec{Name: "bench: limit", Words: max(perRank, pageWords)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if own := w.Words(m.job.Rank()); own != nil {
		for i := 0; i < len(own); i += pageWords {
			own[i] = 0 // no page faults while the clock runs
		}
	}
	if err := m.job.Barrier(ctx); err != nil {
		return err
	}
	if flat := rma.Flat(w); flat != nil {
		return m.memoryLimits(ctx, flat)
	}
	return m.queueLimits(ctx, w)
}

func (m *measurement) memoryLimits(ctx context.Context, flat []uint64) error {
	// Reads and swaps have places of their own, or would find them in the cache, and are so many
	// that beginning takes no time beside them. What comes first has the pages to find.
	n := limitShare * m.cfg.Operations
	places := make([]uint64, 3*n)
	for i := range places {
		line, _ := bits.Mul64(mix(number(m.job.Rank(), i)), uint64(len(flat)/lineWords))
		places[i] = line * lineWords
	}
	limit.Reads(flat, places[:n])
	reads, err := timed(ctx, m.job, n, func() error {
		limit.Reads(flat, places[n:2*n])
		return nil
	})
	if err != nil {
		return err
	}
	swaps, err := timed(ctx, m.job, n, func() error {
		limit.Swaps(flat, places[2*n:])
		return nil
	})
	m.reads, m.swaps = append(m.reads, reads), append(m.swaps, swaps)
	return err
}

// queueLimits gets lines of all ranks but, where there are others, this one.
func (m *measurement) queueLimits(ctx context.Context, w rma.Window) (err error) {
	q, err := m.job.NewQueue(inFlight)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	var bufs [inFlight]rma.Buf
	for i := range bufs {
		if bufs[i], err = q.Alloc(lineWords); err != nil {
			return err
		}
	}
	gets := max(m.cfg.Operations/inFlight, 1) * inFlight
	rate, err := timed(ctx, m.job, gets, func() error {
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
			random := mix(uint64(m.job.Rank())<<40 + uint64(i))
			rank := (m.job.Rank() + 1 + int(random%uint64(max(m.job.Size()-1, 1)))) % m.job.Size()
			line, _ := bits.Mul64(random, uint64(w.Len()/lineWords))
			flying[slot] = q.Get(bufs[slot], w, rank, int(line)*lineWords)
			if err := q.Submit(); err != nil {
				return err
			}
		}
		return nil
	})
	m.reads, m.swaps = append(m.reads, rate), append(m.swaps, rate)
	return err
}

// mix turns a sequence into random numbers (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x + 0x9E3779B97F4A7C15)
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
