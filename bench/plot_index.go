package bench

import (
	"fmt"
	"image/color"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/internal/chart"
)

// indexPanelWidth has room for the names of all implementations.
const indexPanelWidth = 17 * vg.Centimeter

// WritePlot draws rates as bars, between the least and the largest of the runs, with a panel
// for building and one for each size of batches, a bar for each number of ranks and load.
// format is "svg" or "png".
func (r *IndexReport) WritePlot(w io.Writer, format string) error {
	if len(r.Results) == 0 {
		return errNothing
	}
	var panels []*plot.Plot
	for _, batch := range indexList(r.Results, func(is *IndexResult) int { return is.Batch }) {
		p, err := r.panel(batch)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	return chart.Write(w, format, panels, indexPanelWidth)
}

// indexList gives the values of a field among results, in order of appearance.
func indexList[T comparable](results []IndexResult, of func(*IndexResult) T) (all []T) {
	for i := range results {
		if v := of(&results[i]); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// barGroup is what bars of one colour have in common.
type barGroup struct {
	ranks int
	load  float64
}

func groupOf(is *IndexResult) barGroup { return barGroup{is.Ranks, is.Load} }

func (r *IndexReport) panel(batch int) (*plot.Plot, error) {
	title := map[int]string{0: "building", 1: "lookups, one at a time"}[batch]
	if title == "" {
		title = fmt.Sprintf("lookups in batches of %d", batch)
	}
	unit := "million lookups/s"
	if batch == 0 {
		unit = "million records/s"
	}
	p := chart.NewPanel(title, unit, "")
	impls := indexList(r.of(batch), func(is *IndexResult) string { return is.Impl })
	slices.Reverse(impls) // the first on top
	groups := indexList(r.Results, groupOf)
	width := 150 * vg.Points(1) / vg.Length(len(impls)*len(groups))
	for g, group := range groups {
		rates := make(plotter.Values, len(impls))
		var ends indexEnds
		for _, is := range r.of(batch) {
			if groupOf(&is) == group {
				at := slices.Index(impls, is.Impl)
				rates[at] = is.Mops
				ends.add(&is, float64(at))
			}
		}
		bars, err := plotter.NewBarChart(rates, width)
		if err != nil {
			return nil, err
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, chart.Colour(g), 0
		bars.Offset = width * (vg.Length(len(groups)-1)/2 - vg.Length(g))
		p.Add(bars)
		whiskers, err := plotter.NewXErrorBars(ends)
		if err != nil {
			return nil, err
		}
		whiskers.Color, whiskers.CapWidth = color.Gray{0x30}, vg.Points(3)
		p.Add(raised{whiskers, bars.Offset})
		p.Legend.Add(fmt.Sprintf("ranks %d, load %s", group.ranks, number(group.load)), bars)
	}
	p.NominalY(impls...)
	p.X.Min = 0
	p.X.Max *= 1.02
	p.Y.Min -= 0.12 * float64(len(impls)) // room for the legend
	return p, nil
}

// raised draws something above where it is, as bars of a group are.
type raised struct {
	*plotter.XErrorBars
	by vg.Length
}

// Plot draws the error bars.
func (r raised) Plot(c draw.Canvas, p *plot.Plot) {
	c.Push()
	defer c.Pop()
	c.Translate(vg.Point{Y: r.by})
	r.XErrorBars.Plot(c, p)
}

// of are the results with a size of batches.
func (r *IndexReport) of(batch int) []IndexResult {
	return slices.DeleteFunc(slices.Clone(r.Results), func(is IndexResult) bool {
		return is.Batch != batch
	})
}

// indexEnds are the least and the largest rates.
type indexEnds struct {
	plotter.XYs
	plotter.XErrors
}

func (e *indexEnds) add(is *IndexResult, y float64) {
	e.XYs = append(e.XYs, plotter.XY{X: is.Mops, Y: y})
	e.XErrors = append(e.XErrors,
		struct{ Low, High float64 }{is.Mops - is.MopsMin, is.MopsMax - is.Mops})
}
