package bench

import (
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/internal/chart"
)

// WritePlot draws latency and round trips by load as OP Fig. 2 does, lines for what
// was measured here and rings for what OP Table 1 has. format is "svg" or "png".
func (r *Table1Report) WritePlot(w io.Writer, format string) error {
	panels, err := r.Panels()
	if err != nil {
		return err
	}
	return chart.Write(w, format, panels, chart.PanelWidth)
}

// Panels are the plots of WritePlot.
func (r *Table1Report) Panels() ([]*plot.Plot, error) {
	if len(r.Rows) == 0 {
		return nil, errNothing
	}
	latency, err := r.panel("average latency", "microseconds",
		func(row *Table1Row) float64 { return row.Nanoseconds / 1000 },
		func(p *PaperPoint) float64 { return p.Microseconds })
	if err != nil {
		return nil, err
	}
	latency.Y.Scale, latency.Y.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
	latency.Y.Min, latency.Y.Max = chart.LogRange(latency.Y.Min, latency.Y.Max)
	trips, err := r.panel("average round trips", "round trips",
		func(row *Table1Row) float64 { return row.RoundTrips },
		func(p *PaperPoint) float64 { return p.RoundTrips })
	if err != nil {
		return nil, err
	}
	trips.Y.Min = 0
	return []*plot.Plot{latency, trips}, nil
}

func (r *Table1Report) panel(title, unit string, here func(*Table1Row) float64,
	there func(*PaperPoint) float64) (*plot.Plot, error) {
	p := chart.NewPanel(title+" of find-or-put", "load", unit)
	var last *plotter.Scatter
	for i, chunk := range table1Columns() {
		var xys, paper plotter.XYs
		for k := range r.Rows {
			if row := &r.Rows[k]; row.Chunk == chunk {
				xys = append(xys, plotter.XY{X: row.LoadTo, Y: here(row)})
			}
		}
		for k := range paperPoints {
			if point := &paperPoints[k]; point.Chunk == chunk {
				paper = append(paper, plotter.XY{X: point.Load, Y: there(point)})
			}
		}
		if len(xys) == 0 {
			continue
		}
		err := chart.AddLine(p, columnName(chunk), xys, chart.Colour(i), nil)
		if err != nil {
			return nil, err
		}
		if len(paper) == 0 {
			continue
		}
		points, err := chart.NewPoints(paper, chart.Colour(i), draw.RingGlyph{})
		if err != nil {
			return nil, err
		}
		p.Add(points)
		gray := *points
		gray.Color = color.Gray{0x50}
		last = &gray
	}
	p.Legend.Add("OP Table 1", last)
	p.X.Min, p.X.Max = 0, 1
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}
