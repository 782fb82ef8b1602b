package bench

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// WritePlot draws latency and round trips by load as OP Fig. 2 does, lines for what
// was measured here and rings for what OP Table 1 has. format is "svg" or "png".
func (r *Table1Report) WritePlot(w io.Writer, format string) error {
	if len(r.Rows) == 0 {
		return errNothing
	}
	latency, err := r.panel("average latency", "microseconds",
		func(row *Table1Row) float64 { return row.Nanoseconds / 1000 },
		func(p *PaperPoint) float64 { return p.Microseconds })
	if err != nil {
		return err
	}
	latency.Y.Scale, latency.Y.Tick.Marker = plot.LogScale{}, microTicks{}
	latency.Y.Min, latency.Y.Max = decade(latency.Y.Min, latency.Y.Max)
	trips, err := r.panel("average round trips", "round trips",
		func(row *Table1Row) float64 { return row.RoundTrips },
		func(p *PaperPoint) float64 { return p.RoundTrips })
	if err != nil {
		return err
	}
	trips.Y.Min = 0
	return writePanels(w, format, []*plot.Plot{latency, trips})
}

func (r *Table1Report) panel(title, unit string, here func(*Table1Row) float64,
	there func(*PaperPoint) float64) (*plot.Plot, error) {
	p := newPanel(title+" of find-or-put", "load", unit)
	var last *plotter.Scatter
	for i, chunk := range Table1Chunks() {
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
		if err := addLine(p, fmt.Sprintf("C=%d", chunk), xys, colour(i), nil); err != nil {
			return nil, err
		}
		points, err := newPoints(paper, colour(i), draw.RingGlyph{})
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

// decade widens a range to whole steps of 1, 2, 5.
func decade(low, high float64) (float64, float64) {
	from, to := low, high
	for _, v := range microSteps {
		if v <= low {
			from = v
		}
		if v >= high {
			to = v
			break
		}
	}
	return from, to
}

var microSteps = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
	1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// microTicks labels a logarithmic axis at 1, 2, 5.
type microTicks struct{}

// Ticks returns the labelled marks between low and high.
func (microTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for _, v := range microSteps {
		if v >= low*0.999 && v <= high*1.001 {
			ticks = append(ticks, plot.Tick{Value: v, Label: number(v)})
		}
	}
	return ticks
}
