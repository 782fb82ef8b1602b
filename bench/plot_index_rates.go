package bench

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/internal/chart"
)

// rateAxes are what an experiment is drawn by.
type rateAxes struct {
	x    string // what the horizontal axis is
	at   func(is *IndexRate) float64
	line func(is *IndexRate) string // the name of the line that a case belongs to
	log  bool                       // of the horizontal axis
}

func byLoad(is *IndexRate) float64  { return is.Load }
func lineImpl(is *IndexRate) string { return string(is.Impl) }

func (t IndexTrial) axes() rateAxes {
	switch t {
	case LPTable2:
		return rateAxes{"load that the read size is for",
			func(is *IndexRate) float64 { return is.AssumedLoad },
			func(is *IndexRate) string { return "load " + number(is.Load) }, false}
	case LPFigure6:
		return rateAxes{"load", byLoad, lineCuckoo, false}
	case LPFigure10:
		return rateAxes{"slots of a read",
			func(is *IndexRate) float64 { return float64(is.ReadSlots) },
			func(is *IndexRate) string { return "load " + number(is.Load) }, false}
	case LPFigure11:
		return rateAxes{"bytes of a record",
			func(is *IndexRate) float64 { return float64(is.RecordBytes) },
			func(is *IndexRate) string { return string(is.Impl) + ", " + is.Storage }, true}
	case LPFigure9:
		return rateAxes{"load", byLoad, lineLatency, false}
	case LPFigure12:
		return rateAxes{"skew of keys", func(is *IndexRate) float64 { return is.Skew },
			lineClusters, false}
	}
	return rateAxes{"load", byLoad, lineImpl, false}
}

func lineCuckoo(is *IndexRate) string {
	name := fmt.Sprintf("%s, %d a bucket", is.Impl, is.BucketSlots)
	if !is.Repeated {
		name += ", keys differ"
	}
	return name
}

func lineLatency(is *IndexRate) string {
	if is.Impl == CuckooSequential && !is.Repeated {
		return string(is.Impl) + ", keys differ"
	}
	return string(is.Impl)
}

func lineClusters(is *IndexRate) string {
	if is.Clusters > 0 {
		return string(is.Impl) + ", clusters"
	}
	return string(is.Impl)
}

// WritePlot draws throughput, simulated and here, with rings for what LP prints; bandwidth
// or predicted cost where LP has that as well. format is "svg" or "png".
func (r *IndexRateReport) WritePlot(w io.Writer, format string) error {
	if len(r.Rates) == 0 {
		return errNothing
	}
	draws := []func() (*plot.Plot, error){r.throughput("simulated", simulated),
		r.throughput("on this machine", here)}
	switch r.Trial {
	case LPFigure7:
		draws = slices.Insert(draws, 1, r.bandwidth)
	case LPFigure9:
		draws = []func() (*plot.Plot, error){r.latency("simulated", simulated),
			r.latency("on this machine", here)}
	case LPFigure10:
		draws = append(draws, r.predicted)
	}
	var panels []*plot.Plot
	for _, draw := range draws {
		p, err := draw()
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	return chart.Write(w, format, panels, chart.PanelWidth)
}

// lines are the names of lines in order of appearance.
func (r *IndexRateReport) lines() (names []string) {
	line := r.Trial.axes().line
	for i := range r.Rates {
		if name := line(&r.Rates[i]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// points are those of a line, in order; value is 0 where there is none.
func (r *IndexRateReport) points(name string, value func(is *IndexRate) float64) (
	xys plotter.XYs) {
	axes := r.Trial.axes()
	for i := range r.Rates {
		is := &r.Rates[i]
		if axes.line(is) == name && value(is) > 0 {
			xys = append(xys, plotter.XY{X: axes.at(is), Y: value(is)})
		}
	}
	return xys
}

// panel has a line for each kind of lookups, and rings for what LP prints, if paper is not
// nil.
func (r *IndexRateReport) panel(title, unit string, value,
	paper func(is *IndexRate) float64) (*plot.Plot, error) {
	axes := r.Trial.axes()
	p := chart.NewPanel(title, axes.x, unit)
	rings := false
	names := r.lines()
	for i, name := range names {
		points := r.points(name, value)
		if len(points) == 0 {
			continue
		}
		if err := chart.AddLine(p, name, points, chart.Colour(i), r.shape(i)); err != nil {
			return nil, err
		}
		if paper == nil {
			continue
		}
		if printed := r.points(name, paper); len(printed) > 0 {
			if err := addRings(p, "", printed, chart.Colour(i)); err != nil {
				return nil, err
			}
			rings = true
		}
	}
	if rings {
		if err := addRings(p, "LP", plotter.XYs{{X: p.X.Min}}, color.Gray{0x50}); err != nil {
			return nil, err
		}
	}
	if r.Trial == LPFigure10 {
		if err := r.addPicked(p, value); err != nil {
			return nil, err
		}
	}
	p.Y.Min = 0
	p.Y.Max *= 1 + 0.08*float64(len(names)+1) // the names stand above
	if axes.log {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
		p.X.Min, p.X.Max = p.X.Min/1.5, p.X.Max*1.5
	} else {
		margin := 0.03 * (p.X.Max - p.X.Min)
		p.X.Min, p.X.Max = max(p.X.Min-margin, 0), p.X.Max+margin
	}
	p.Legend.Top = true
	return p, nil
}

// shape is that of the points of a line: in LPFigure11 each second line is of a heap.
func (r *IndexRateReport) shape(line int) draw.GlyphDrawer {
	if r.Trial == LPFigure11 && line >= len(storageImpls) {
		return draw.SquareGlyph{}
	}
	return draw.CircleGlyph{}
}

// addRings draws what LP prints; with a name, into the legend alone.
func addRings(p *plot.Plot, name string, xys plotter.XYs, c color.Color) error {
	rings, err := chart.NewPoints(xys, c, draw.RingGlyph{})
	if err != nil {
		return err
	}
	rings.Radius *= 1.6
	if name == "" {
		p.Add(rings)
		return nil
	}
	p.Legend.Add(name, rings)
	return nil
}

// addPicked marks the read sizes that LP's model picks.
func (r *IndexRateReport) addPicked(p *plot.Plot, value func(is *IndexRate) float64) error {
	var picked plotter.XYs
	for i := range r.Rates {
		if is := &r.Rates[i]; is.ReadSlots == modelSlots(is.Load) && value(is) > 0 {
			picked = append(picked, plotter.XY{X: float64(is.ReadSlots), Y: value(is)})
		}
	}
	if len(picked) == 0 {
		return nil
	}
	squares, err := chart.NewPoints(picked, color.Gray{0x50}, draw.SquareGlyph{})
	if err != nil {
		return err
	}
	squares.Radius *= 1.6
	p.Add(squares)
	p.Legend.Add("picked by LP's model", squares)
	return nil
}

// throughput is a panel of records found in a second; simulated ones have LP's beside them.
func (r *IndexRateReport) throughput(where string,
	of func(*IndexRate) *IndexPace) func() (*plot.Plot, error) {
	return func() (*plot.Plot, error) {
		unit := "million lookups/s"
		if r.Trial == LPFigure12 {
			unit = "million records/s"
		}
		value := func(is *IndexRate) float64 {
			if p := of(is); p != nil {
				return p.Mops
			}
			return 0
		}
		var paper func(is *IndexRate) float64
		if where == "simulated" {
			paper = func(is *IndexRate) float64 { return is.paper().Mops }
		}
		return r.panel("throughput, "+where, unit, value, paper)
	}
}

// paper is what LP prints, zeros where nothing.
func (is *IndexRate) paper() LPRate {
	if is.Paper == nil {
		return LPRate{}
	}
	return *is.Paper
}

// bandwidth is LP Fig. 8.
func (r *IndexRateReport) bandwidth() (*plot.Plot, error) {
	p, err := r.panel("bandwidth, simulated", "GB/s of payload", func(is *IndexRate) float64 {
		if is.Simulated == nil {
			return 0
		}
		return is.Simulated.GBs
	}, func(is *IndexRate) float64 { return is.paper().GBs })
	if err == nil {
		p.Legend.Left = true // lines rise
	}
	return p, err
}

// latency is a panel of medians, with bars from the 10th to the 90th percentile. Lines stand
// a little beside each other.
func (r *IndexRateReport) latency(where string,
	of func(*IndexRate) *IndexPace) func() (*plot.Plot, error) {
	return func() (*plot.Plot, error) {
		p := chart.NewPanel("latency, "+where, "load", "ns")
		for i, name := range r.lines() {
			var bars indexBars
			for k := range r.Rates {
				is := &r.Rates[k]
				if pace := of(is); pace != nil && lineLatency(is) == name {
					const apart = 0.0035
					bars.add(is.Load+apart*float64(i-len(r.lines())/2), pace.Latency)
				}
			}
			if len(bars.XYs) == 0 {
				continue
			}
			if err := chart.AddLine(p, name, bars.XYs, chart.Colour(i),
				draw.CircleGlyph{}); err != nil {
				return nil, err
			}
			whiskers, err := plotter.NewYErrorBars(bars)
			if err != nil {
				return nil, err
			}
			whiskers.Color = chart.Colour(i)
			p.Add(whiskers)
			if printed := r.points(name, func(is *IndexRate) float64 {
				return is.paper().MedianNs
			}); len(printed) > 0 && where == "simulated" {
				if err := addRings(p, "", printed, chart.Colour(i)); err != nil {
					return nil, err
				}
			}
		}
		if where == "simulated" {
			if err := addRings(p, "LP, medians", plotter.XYs{{X: 0.5, Y: 1}},
				color.Gray{0x50}); err != nil {
				return nil, err
			}
		}
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
		p.Y.Min, p.Y.Max = chart.LogRange(p.Y.Min, p.Y.Max)
		const legendShare = 0.5 // what the legend needs of the height of the lines
		p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, legendShare)
		p.X.Min, p.X.Max = 0.2, 1
		p.Legend.Top, p.Legend.Left = true, true
		return p, nil
	}
}

// indexBars are medians with the 10th and the 90th percentile.
type indexBars struct {
	plotter.XYs
	plotter.YErrors
}

func (b *indexBars) add(x float64, l *IndexLatency) {
	b.XYs = append(b.XYs, plotter.XY{X: x, Y: l.P50})
	b.YErrors = append(b.YErrors, struct{ Low, High float64 }{l.P50 - l.P10, l.P90 - l.P50})
}

// predicted is LP Fig. 10b: the cost by LP's model up to the size that the link has room for.
func (r *IndexRateReport) predicted() (*plot.Plot, error) {
	p := chart.NewPanel("cost that LP's model predicts", "slots of a read", "ns")
	for i, load := range figure10Loads {
		var line plotter.XYs
		for slots := figure10Sizes[0]; slots <= lpConfig().Cap(); slots++ {
			line = append(line, plotter.XY{X: float64(slots), Y: predictedNs(load, slots)})
		}
		if err := chart.AddLine(p, "load "+number(load), line, chart.Colour(i), nil); err != nil {
			return nil, err
		}
	}
	if err := r.addPicked(p, func(is *IndexRate) float64 { return is.PredictedNs }); err != nil {
		return nil, err
	}
	p.Y.Min = 0
	p.Legend.Top = true
	return p, nil
}
