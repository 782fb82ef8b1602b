package bench

import (
	"context"
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/farhash/farhash/rma"
)

// kvLatencies are how long operations have taken. Those of a batch take as long as it does.
type kvLatencies struct {
	reads, writes *hdrhistogram.Histogram
}

func newKVLatencies() *kvLatencies {
	return &kvLatencies{reads: newHistogram(), writes: newHistogram()}
}

// newHistogram has two digits, up to a minute.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(time.Minute), 2)
}

func (l *kvLatencies) add(took time.Duration, reads, writes int) {
	ns := min(max(int64(took), 1), int64(time.Minute))
	if reads > 0 {
		_ = l.reads.RecordValues(ns, int64(reads)) // it is in range
	}
	if writes > 0 {
		_ = l.writes.RecordValues(ns, int64(writes))
	}
}

// mergeHistograms tells every rank what all of them have together. Collective.
func mergeHistograms(ctx context.Context, job rma.Job,
	h *hdrhistogram.Histogram) (*hdrhistogram.Histogram, error) {
	snapshot := h.Export()
	n := len(snapshot.Counts)
	w, err := job.NewWindow(ctx, rma.Spec{Name: "bench: latencies", Words: n})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	q, err := job.NewQueue(1)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	buf, err := q.Alloc(n)
	if err != nil {
		return nil, err
	}
	for i, count := range snapshot.Counts {
		buf[i] = uint64(count)
	}
	if err := one(ctx, q, q.Put(buf, w, job.Rank(), 0)); err != nil {
		return nil, err
	}
	if err := job.Barrier(ctx); err != nil {
		return nil, err
	}
	all := newHistogram()
	for rank := range job.Size() {
		if err := one(ctx, q, q.Get(buf, w, rank, 0)); err != nil {
			return nil, err
		}
		for i, count := range buf {
			snapshot.Counts[i] = int64(count)
		}
		all.Merge(hdrhistogram.Import(snapshot))
	}
	return all, job.Barrier(ctx) // nobody closes the window while others read
}

// one waits for an operation.
func one(ctx context.Context, q rma.Queue, h rma.Handle) error {
	if err := errors.Join(q.Submit(), q.Wait(ctx, h)); err != nil {
		return err
	}
	_, err := q.Value(h)
	return err
}

// Latencies are percentiles in nanoseconds.
type Latencies struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50Ns"`
	P90   int64 `json:"p90Ns"`
	P99   int64 `json:"p99Ns"`
	P999  int64 `json:"p999Ns"`
	Max   int64 `json:"maxNs"`
}

// latenciesOf sums up a histogram, nil if it is empty.
func latenciesOf(h *hdrhistogram.Histogram) *Latencies {
	if h.TotalCount() == 0 {
		return nil
	}
	return &Latencies{Count: h.TotalCount(), P50: h.ValueAtPercentile(50),
		P90: h.ValueAtPercentile(90), P99: h.ValueAtPercentile(99),
		P999: h.ValueAtPercentile(99.9), Max: h.Max()}
}
