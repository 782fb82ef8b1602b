package measure

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/farhash/farhash/eval/internal/record"
)

// NewHistogram has two digits, up to a minute.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(time.Minute), 2)
}

// Add records n operations that have taken so long.
func Add(h *hdrhistogram.Histogram, took time.Duration, n int) {
	if n > 0 {
		_ = h.RecordValues(min(max(int64(took), 1), int64(time.Minute)), int64(n)) // in range
	}
}

// Percentiles are values of a record: prefix-p50-ns and others, none of an empty histogram.
func Percentiles(prefix string, h *hdrhistogram.Histogram) (values []record.Value) {
	if h.TotalCount() == 0 {
		return nil
	}
	for _, p := range []struct {
		name    string
		percent float64
	}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p999", 99.9}} {
		values = append(values, record.Value{Value: float64(h.ValueAtPercentile(p.percent)),
			Unit: prefix + "-" + p.name + "-ns"})
	}
	return append(values, record.Value{Value: float64(h.Max()), Unit: prefix + "-max-ns"})
}
