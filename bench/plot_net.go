package bench

import (
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/farhash/farhash/internal/chart"
)

// WritePlot draws a panel with the latencies of operations one at a time, and one with the rates
// of each kind of traffic. format is "svg" or "png".
func (r *NetReport) WritePlot(w io.Writer, format string) error {
	var panels []*plot.Plot
	add := func(title, unit string, all []*NetResult, of func(*NetResult) float64) error {
		if len(all) == 0 {
			return nil
		}
		p, err := netPanel(title, unit, all, of)
		panels = append(panels, p)
		return err
	}
	err := add("one at a time, median", "microseconds", r.chosen(NetOneWay, true),
		func(is *NetResult) float64 { return float64(is.Latencies.P50) / 1e3 })
	for _, t := range NetTraffics() {
		if err == nil {
			err = add("many at once, "+string(t), "million op/s", r.chosen(t, false),
				func(is *NetResult) float64 { return is.Kops / 1e3 })
		}
	}
	if err != nil {
		return err
	}
	if len(panels) == 0 {
		return errNothing
	}
	return chart.Write(w, format, panels, chart.PanelWidth)
}

// netPanel has a bar for each result.
func netPanel(title, unit string, all []*NetResult, of func(*NetResult) float64) (*plot.Plot,
	error) {
	p := chart.NewPanel(title, "", unit)
	values, names := make(plotter.Values, len(all)), make([]string, len(all))
	var tops plotter.XYLabels // some bars are too low to be seen
	for i, is := range all {
		values[i], names[i] = of(is), string(is.Impl)
		if is.Impl.gets() {
			names[i] = fmt.Sprintf("%s %.0f", is.Impl, is.GetBytes)
		}
		tops.XYs = append(tops.XYs, plotter.XY{X: float64(i), Y: values[i]})
		tops.Labels = append(tops.Labels, fmt.Sprintf("%.3g", values[i]))
	}
	const share = 0.6 // of the panel, for bars
	bars, err := plotter.NewBarChart(values, chart.PanelWidth*share/vg.Length(len(all)))
	if err != nil {
		return nil, err
	}
	bars.Color, bars.LineStyle.Width = chart.Colour(0), 0
	labels, err := plotter.NewLabels(tops)
	if err != nil {
		return nil, err
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].XAlign = text.XCenter
	}
	p.Add(bars, labels)
	p.NominalX(names...)
	p.Y.Min, p.Y.Max = 0, slices.Max(values)*1.1
	return p, nil
}
