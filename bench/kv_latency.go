package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
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
