package bench

import (
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 2}, 3}, {[]float64{9, 1, 5}, 5},
		{[]float64{8, 1, 2, 100}, 5},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

// Ratios are those of medians, within a workload and number of ranks.
func TestRatios(t *testing.T) {
	b, err := New(Config{To: 0.5, Buckets: 1 << 12})
	if err != nil {
		t.Fatal(err)
	}
	add := func(impl Impl, ranks int, mops ...float64) {
		for _, m := range mops {
			b.samples = append(b.samples, Sample{Impl: impl, Workload: Fill, Ranks: ranks,
				Operations: uint64(m * 1e6), Elapsed: time.Second})
		}
	}
	add(Scalar, 1, 10, 12, 50)
	add(CASLoop, 1, 15)
	add(Batch, 1, 70, 48, 60)
	add(Limit, 1, 80, 80, 80)
	add(Batch, 2, 100)
	r := b.Report("test")
	one := r.find(Batch, Fill, 1)
	if one.Mops != 60 || one.MopsMin != 48 || one.MopsMax != 70 {
		t.Errorf("rates %v, %v to %v; want 60, 48 to 70", one.Mops, one.MopsMin, one.MopsMax)
	}
	if *one.RatioToScalar != 5 || *one.RatioToCAS != 4 || *one.RatioToLimit != 0.75 {
		t.Errorf("ratios %v, %v and %v, want 5, 4 and 0.75", *one.RatioToScalar,
			*one.RatioToCAS, *one.RatioToLimit)
	}
	if two := r.find(Batch, Fill, 2); two.RatioToScalar != nil || two.RatioToLimit != nil {
		t.Error("a ratio to what was measured with other ranks")
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{1 << 27: "128Mi", 3 << 30: "3Gi", 1000: "1000",
		1 << 12: "4Ki", 0: "0"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestHugePages(t *testing.T) {
	var h HugePages
	if h.String() != "unknown" {
		t.Errorf("unset is %q", h)
	}
	h = h.with(HugePagesYes).with(HugePagesUnknown)
	if h != HugePagesYes || h.with(HugePagesNo) != HugePagesSome {
		t.Errorf("yes and unknown are %q, with no %q", h, h.with(HugePagesNo))
	}
}
