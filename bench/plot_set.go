package bench

import (
	"errors"
	"image/color"
	"io"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/internal/chart"
)

// errNothing is the answer when there is nothing to draw.
var errNothing = errors.New("bench: nothing has been measured, so there is nothing to draw")

// WritePlot draws the rates as bars with their least and largest. With several
// numbers of ranks it draws speedups beside them, as OP Fig. 3 does, with the
// figures of OP Table 1. format is "svg" or "png".
func (r *Report) WritePlot(w io.Writer, format string) error {
	if len(r.Results) == 0 {
		return errNothing
	}
	bars, err := r.bars()
	if err != nil {
		return err
	}
	panels := []*plot.Plot{bars}
	if len(r.ranks()) > 1 {
		speedups, err := r.speedups()
		if err != nil {
			return err
		}
		panels = append(panels, speedups)
	}
	return chart.Write(w, format, panels, r.panelWidth())
}

// panelWidth leaves room for the names of all groups.
func (r *Report) panelWidth() vg.Length {
	return chart.PanelWidth * max(1, vg.Length(len(r.groups()))/panelGroups)
}

// ranks lists the numbers of ranks, rising.
func (r *Report) ranks() []int {
	var all []int
	for i := range r.Results {
		all = append(all, r.Results[i].Ranks)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// impls lists what was measured, in that order.
func (r *Report) impls() []Impl {
	var all []Impl
	for i := range r.Results {
		if !slices.Contains(all, r.Results[i].Impl) {
			all = append(all, r.Results[i].Impl)
		}
	}
	return all
}

// panelGroups is how many groups a panel of the usual width has room for.
const panelGroups = 8

// group is a workload and a number of ranks: bars that stand together.
type group struct {
	workload Workload
	ranks    int
}

func (r *Report) groups() []group {
	var all []group
	for i := range r.Results {
		g := group{r.Results[i].Workload, r.Results[i].Ranks}
		if !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

func (r *Report) bars() (*plot.Plot, error) {
	first := &r.Results[0]
	what := "find-or-put"
	if first.ElementBytes > 0 {
		what += " of " + strconv.Itoa(first.ElementBytes) + " bytes"
	}
	p := chart.NewPanel(what+", load "+loads(first.LoadFrom, first.LoadTo), "",
		"million operations per second")
	groups, impls := r.groups(), r.impls()
	room := r.panelWidth() * 0.72 / vg.Length(len(groups))
	width := room / vg.Length(len(impls)+1)
	peak := 0.0
	for i, impl := range impls {
		shift := width * vg.Length(float64(i)-float64(len(impls)-1)/2)
		values, ends := make(plotter.Values, len(groups)), errorEnds{}
		for g, of := range groups {
			is := r.find(impl, of.workload, of.ranks)
			if is == nil {
				is = &Result{}
			}
			values[g] = is.Mops
			ends.add(float64(g), is)
			peak = max(peak, is.MopsMax)
		}
		bars, err := plotter.NewBarChart(values, width*0.9)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.Offset, bars.LineStyle.Width = chart.Colour(i), shift, 0
		whiskers, err := plotter.NewYErrorBars(ends)
		if err != nil {
			return nil, err
		}
		whiskers.CapWidth = width * 0.4
		p.Add(bars, shifted{whiskers, shift})
		p.Legend.Add(string(impl), bars)
	}
	var names []string
	for _, g := range groups {
		names = append(names, string(g.workload)+"\n"+strconv.Itoa(g.ranks)+plural(g.ranks))
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.5, float64(len(groups))-0.5
	p.Y.Min, p.Y.Max = 0, peak*(1.15+0.055*float64(len(impls)))
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

func plural(ranks int) string {
	if ranks == 1 {
		return " rank"
	}
	return " ranks"
}

// errorEnds are medians with their least and largest.
type errorEnds struct {
	plotter.XYs
	plotter.YErrors
}

func (e *errorEnds) add(x float64, r *Result) {
	e.XYs = append(e.XYs, plotter.XY{X: x, Y: r.Mops})
	e.YErrors = append(e.YErrors,
		struct{ Low, High float64 }{r.Mops - r.MopsMin, r.MopsMax - r.Mops})
}

// shifted draws something beside where it is, as bars of a group are.
type shifted struct {
	*plotter.YErrorBars
	by vg.Length
}

// Plot draws the error bars.
func (s shifted) Plot(c draw.Canvas, p *plot.Plot) {
	c.Push()
	defer c.Pop()
	c.Translate(vg.Point{X: s.by})
	s.YErrorBars.Plot(c, p)
}

// speedups has one workload: the mixed one as OP Fig. 3, or the first there is.
func (r *Report) speedups() (*plot.Plot, error) {
	all := r.ranks()
	least, most := all[0], all[len(all)-1]
	workload := r.Results[0].Workload
	if slices.ContainsFunc(r.Results, func(is Result) bool { return is.Workload == Mixed }) {
		workload = Mixed
	}
	p := chart.NewPanel("speedup over "+strconv.Itoa(least)+plural(least)+", "+string(workload),
		"ranks", "speedup")
	for i, impl := range r.impls() {
		one := r.find(impl, workload, least)
		if one == nil || one.Mops == 0 {
			continue
		}
		var xys plotter.XYs
		for _, ranks := range all {
			if is := r.find(impl, workload, ranks); is != nil {
				xys = append(xys, plotter.XY{X: float64(ranks), Y: is.Mops / one.Mops})
			}
		}
		err := chart.AddLine(p, string(impl), xys, chart.Colour(i), draw.CircleGlyph{})
		if err != nil {
			return nil, err
		}
	}
	if err := addPaperSpeedup(p, least, most); err != nil {
		return nil, err
	}
	p.X.Min, p.Y.Min = 0, 0
	p.X.Max = float64(most) * 1.9 // the names stand to the right
	p.Y.Max *= 1.1
	p.Legend.Top = true
	return p, nil
}

// addPaperSpeedup draws the figures of one machine of OP Table 1.
func addPaperSpeedup(p *plot.Plot, least, most int) error {
	var xys plotter.XYs
	base := 0.0
	for _, of := range paperRates {
		if of.Machines != 1 {
			continue
		}
		if of.Procs == least {
			base = of.Mops
		}
		if base > 0 && of.Procs <= most {
			xys = append(xys, plotter.XY{X: float64(of.Procs), Y: of.Mops / base})
		}
	}
	if len(xys) == 0 {
		return nil
	}
	points, err := chart.NewPoints(xys, color.Black, draw.CrossGlyph{})
	if err != nil {
		return err
	}
	p.Add(points)
	p.Legend.Add("OP Table 1, mixed", points)
	return nil
}
