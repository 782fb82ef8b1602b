package bench

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/farhash/farhash/internal/chart"
)

// WritePlot draws throughput by workload for each size of batches, and for the smallest
// batches with most ranks the latencies of reads and writes: the share of them that takes so
// long or longer. format is "svg" or "png".
func (r *KVReport) WritePlot(w io.Writer, format string) error {
	if len(r.Results) == 0 {
		return errNothing
	}
	var panels []*plot.Plot
	for _, batch := range listKV(r, func(is *KVResult) int { return is.Batch }) {
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

// listKV is what of is in the results, in order.
func listKV[T cmp.Ordered](r *KVReport, of func(*KVResult) T) []T {
	var all []T
	for i := range r.Results {
		all = append(all, of(&r.Results[i]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ratePanel has a group of bars for each workload: one for each impl and number of ranks.
func (r *KVReport) ratePanel(batch int) (*plot.Plot, error) {
	p := chart.NewPanel("throughput, "+batchText(batch), "", "million op/s")
	var workloads []KVWorkload
	var names []string
	for _, w := range KVWorkloads() {
		if slices.ContainsFunc(r.Results, func(is KVResult) bool { return is.Workload == w }) {
			workloads, names = append(workloads, w), append(names, kvName(w))
		}
	}
	impls := listKV(r, func(is *KVResult) KVImpl { return is.Impl })
	ranks := listKV(r, func(is *KVResult) int { return is.Ranks })
	const share = 0.8 // of the panel, for bars
	width := chart.PanelWidth * share / vg.Length(len(workloads)*(len(impls)*len(ranks)+1))
	peak := 0.0
	for k, impl := range impls {
		for j, n := range ranks {
			bar := k*len(ranks) + j
			values := make(plotter.Values, len(workloads))
			for i := range r.Results {
				is := &r.Results[i]
				if is.Impl == impl && is.Ranks == n && is.Batch == batch {
					values[slices.Index(workloads, is.Workload)] = is.Kops / 1e3
					peak = max(peak, is.Kops/1e3)
				}
			}
			bars, err := plotter.NewBarChart(values, width*0.9)
			if err != nil {
				return nil, err
			}
			bars.Color, bars.LineStyle.Width = chart.Colour(bar), 0
			bars.Offset = width * vg.Length(float64(bar)-float64(len(impls)*len(ranks)-1)/2)
			p.Add(bars)
			p.Legend.Add(string(impl)+", ranks "+strconv.Itoa(n), bars)
		}
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.5, float64(len(workloads))-0.5
	p.Y.Min, p.Y.Max = 0, peak*(1.15+0.07*float64(len(impls)*len(ranks)))
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

func batchText(batch int) string {
	if batch == 1 {
		return "one at a time"
	}
	return "batches of " + strconv.Itoa(batch)
}

func kvName(w KVWorkload) string {
	if w == YCSBLoad {
		return string(w)
	}
	return strings.ToUpper(string(w))
}

// latencyPanel has a line for each workload and implementation, told apart by colour and dashes,
// and is nil if there are none.
func (r *KVReport) latencyPanel(title string,
	of func(*kvLatencies) *hdrhistogram.Histogram) (*plot.Plot, error) {
	most, batch := 0, r.Results[0].Batch
	for i := range r.Results {
		most, batch = max(most, r.Results[i].Ranks), min(batch, r.Results[i].Batch)
	}
	// The label of the other axis is short, since a logarithmic one keeps room for it on top.
	p := chart.NewPanel("share of "+title+" that takes so long, ranks "+strconv.Itoa(most)+", "+
		batchText(batch), "microseconds or longer", "share")
	drawn := false
	for _, impl := range listKV(r, func(is *KVResult) KVImpl { return is.Impl }) {
		for i := range r.Results {
			is := &r.Results[i]
			h := of(is.took)
			if is.Impl != impl || is.Ranks != most || is.Batch != batch || h.TotalCount() == 0 {
				continue
			}
			drawn = true
			if err := addSurvival(p, is, h); err != nil {
				return nil, err
			}
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

// addSurvival draws a histogram.
func addSurvival(p *plot.Plot, is *KVResult, h *hdrhistogram.Histogram) error {
	line, err := plotter.NewLine(survival(h))
	if err != nil {
		return err
	}
	line.Color = chart.Colour(slices.Index(KVWorkloads(), is.Workload))
	line.Width = vg.Points(1.4)
	name := kvName(is.Workload)
	line.Dashes = map[KVImpl][]vg.Length{
		KVRedis:    {vg.Points(4), vg.Points(2)},
		KVOneSided: {vg.Points(1), vg.Points(2)},
		KVShipped:  {vg.Points(7), vg.Points(2), vg.Points(1), vg.Points(2)},
	}[is.Impl]
	if is.Impl != KVMap {
		name += ", " + string(is.Impl)
	}
	p.Add(line)
	p.Legend.Add(name, line)
	return nil
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
