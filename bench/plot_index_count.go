package bench

import (
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/internal/chart"
)

// WritePlot draws requests, bytes and cost: by load with rings for what LP Table 1 has, and
// those of Table 3 and 4 by record size. format is "svg" or "png".
func (r *IndexCountReport) WritePlot(w io.Writer, format string) error {
	if len(r.Counts) == 0 {
		return errNothing
	}
	panel := r.panel
	if r.Table != LPTable1 {
		panel = r.bySize
	}
	var panels []*plot.Plot
	for _, of := range indexCosts {
		p, err := panel(&of)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	return chart.Write(w, format, panels, chart.PanelWidth)
}

func (r *IndexCountReport) panel(of *indexCost) (*plot.Plot, error) {
	p := chart.NewPanel(of.name, "load", of.unit)
	for i, impl := range table1Impls {
		var counted, printed plotter.XYs
		for _, load := range IndexLoads() {
			is := r.count(impl, load)
			if is == nil {
				continue
			}
			counted = append(counted, plotter.XY{X: load, Y: of.of(&is.Cost)})
			if of.paper && is.Paper != nil {
				printed = append(printed, plotter.XY{X: load, Y: is.Paper.Requests})
			}
		}
		if len(counted) == 0 {
			continue
		}
		if err := chart.AddLine(p, string(impl), counted, chart.Colour(i), nil); err != nil {
			return nil, err
		}
		if len(printed) == 0 {
			continue
		}
		rings, err := chart.NewPoints(printed, chart.Colour(i), draw.RingGlyph{})
		if err != nil {
			return nil, err
		}
		p.Add(rings)
	}
	if of.paper {
		rings, err := chart.NewPoints(plotter.XYs{{}}, color.Gray{0x50}, draw.RingGlyph{})
		if err != nil {
			return nil, err
		}
		p.Legend.Add("LP Table 1", rings)
	}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
	p.Y.Min, p.Y.Max = chart.LogRange(p.Y.Min, p.Y.Max)
	p.X.Min, p.X.Max = 0.2, 1
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

// bySize is a panel of Table 3 or 4: dots for records inline, and rings for those in a heap.
func (r *IndexCountReport) bySize(of *indexCost) (*plot.Plot, error) {
	p := chart.NewPanel(of.name+", load "+number(storageLoad), "bytes of a record", of.unit)
	for i, impl := range storageImpls {
		for _, storage := range []index.Storage{index.Inline, index.Heap} {
			var shape draw.GlyphDrawer = draw.CircleGlyph{}
			if storage == index.Heap {
				shape = draw.RingGlyph{}
			}
			var line plotter.XYs
			for k := range r.Counts {
				if is := &r.Counts[k]; is.Impl == impl && is.of.Storage == storage {
					line = append(line, plotter.XY{X: float64(is.RecordBytes), Y: of.of(&is.Cost)})
				}
			}
			if len(line) == 0 {
				continue
			}
			if err := chart.AddLine(p, "", line, chart.Colour(i), shape); err != nil {
				return nil, err
			}
		}
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
	const legendShare = 0.6 // what the legend needs of the height of the lines
	p.Y.Min, p.Y.Max = chart.LogRange(p.Y.Min,
		p.Y.Max*math.Pow(p.Y.Max/p.Y.Min, legendShare))
	p.X.Min, p.X.Max = 5, 200
	p.Legend = sizeLegend()
	return p, nil
}

// sizeLegend has the colours of implementations, and the shapes of inline and heap.
func sizeLegend() plot.Legend {
	l := plot.NewLegend()
	l.Top, l.Left, l.Padding = true, true, vg.Points(2)
	for i, impl := range storageImpls {
		l.Add(string(impl), &plotter.Line{LineStyle: draw.LineStyle{Color: chart.Colour(i),
			Width: vg.Points(1.4)}})
	}
	for i, shape := range []draw.GlyphDrawer{draw.CircleGlyph{}, draw.RingGlyph{}} {
		l.Add([]string{"inline", "heap"}[i], &plotter.Scatter{GlyphStyle: draw.GlyphStyle{
			Color: color.Gray{0x50}, Radius: vg.Points(3.2), Shape: shape}})
	}
	return l
}
