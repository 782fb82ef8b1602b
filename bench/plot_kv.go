package bench

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/internal/chart"
)

// WritePlot draws throughput over ranks for each size of batches, and the latencies of reads
// and writes with most ranks and the smallest batches: the share of them that takes so long
// or longer. format is "svg" or "png".
func (r *KVReport) WritePlot(w io.Writer, format string) error {
	if len(r.Results) == 0 {
		return errNothing
	}
	var batches []int
	for i := range r.Results {
		batches = append(batches, r.Results[i].Batch)
	}
	slices.Sort(batches)
	var panels []*plot.Plot
	for _, batch := range slices.Compact(batches) {
		rates, err := r.ratePanel(batch)
		if err != nil {
			return err
		}
		panels = append(panels, rates)
	}
	for _, of := range []struct {
		title string
		took  func(*kvLatencies) *hdrhistogram.Histogram
	}{
		{"reads", func(l *kvLatencies) *hdrhistogram.Histogram { return l.reads }},
		{"writes", func(l *kvLatencies) *hdrhistogram.Histogram { return l.writes }},
	} {
		p, err := r.latencyPanel(of.title, of.took)
		if err != nil {
			return err
		}
		if p != nil {
			panels = append(panels, p)
		}
	}
	return chart.Write(w, format, panels, chart.PanelWidth)
}

// ratePanel has a line for each workload.
func (r *KVReport) ratePanel(batch int) (*plot.Plot, error) {
	p := chart.NewPanel("throughput, batch "+strconv.Itoa(batch), "ranks", "million op/s")
	var ranks []int
	for k, w := range KVWorkloads() {
		var xys plotter.XYs
		for i := range r.Results {
			is := &r.Results[i]
			if is.Workload == w && is.Batch == batch {
				xys = append(xys, plotter.XY{X: float64(is.Ranks), Y: is.Kops / 1e3})
				ranks = append(ranks, is.Ranks)
			}
		}
		if len(xys) == 0 {
			continue
		}
		err := chart.AddLine(p, kvName(w), xys, chart.Colour(k), draw.CircleGlyph{})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(ranks)
	p.X.Tick.Marker = rankTicks(slices.Compact(ranks))
	p.X.Min, p.X.Max = p.X.Min-.4, p.X.Max+.4
	p.Y.Min, p.Y.Max = 0, p.Y.Max*1.8
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

func kvName(w KVWorkload) string {
	if w == YCSBLoad {
		return string(w)
	}
	return strings.ToUpper(string(w))
}

// latencyPanel has a line for each workload, and is nil if there are none.
func (r *KVReport) latencyPanel(title string,
	of func(*kvLatencies) *hdrhistogram.Histogram) (*plot.Plot, error) {
	most, batch := 0, r.Results[0].Batch
	for i := range r.Results {
		most, batch = max(most, r.Results[i].Ranks), min(batch, r.Results[i].Batch)
	}
	p := chart.NewPanel("latency of "+title+", ranks "+strconv.Itoa(most)+", batch "+
		strconv.Itoa(batch), "microseconds", "share that takes as long or longer")
	drawn := false
	for i := range r.Results {
		is := &r.Results[i]
		h := of(is.took)
		if is.Ranks != most || is.Batch != batch || h.TotalCount() == 0 {
			continue
		}
		drawn = true
		err := chart.AddLine(p, kvName(is.Workload), survival(h),
			chart.Colour(slices.Index(KVWorkloads(), is.Workload)), nil)
		if err != nil {
			return nil, err
		}
	}
	if !drawn {
		return nil, nil
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
	p.X.Min, p.X.Max = chart.LogRange(p.X.Min, p.X.Max)
	p.Y.Min, p.Y.Max = chart.LogRange(min(p.Y.Min, .1), 1)
	p.Legend.Top = true
	return p, nil
}

// survival is the share of a histogram above each of its values, in microseconds.
func survival(h *hdrhistogram.Histogram) (xys plotter.XYs) {
	left := h.TotalCount()
	for _, bar := range h.Distribution() {
		if bar.Count == 0 {
			continue
		}
		xys = append(xys, plotter.XY{X: float64(max(bar.From, 1)) / 1e3,
			Y: float64(left) / float64(h.TotalCount())})
		left -= bar.Count
	}
	return xys
}
