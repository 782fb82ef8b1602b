package bench

import (
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/internal/chart"
)

// WritePlot draws round trips by load: lines for what was counted and rings for what NE Table
// 1 has. format is "svg" or "png".
func (r *KVCountReport) WritePlot(w io.Writer, format string) error {
	if len(r.Counts) == 0 {
		return errNothing
	}
	var panels []*plot.Plot
	for _, of := range []struct {
		title string
		at    func(*KVCount) float64
		paper func(*KVCount) float64
	}{
		{"put of a new key", func(is *KVCount) float64 { return is.PutNew },
			func(is *KVCount) float64 { return is.PaperPutNew }},
		{"put of a key that is there", func(is *KVCount) float64 { return is.PutPresent }, nil},
		{"get of a key that is there", func(is *KVCount) float64 { return is.Get },
			func(is *KVCount) float64 { return is.PaperGet }},
	} {
		p, err := r.panel(of.title, of.at, of.paper)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	return chart.Write(w, format, panels, chart.PanelWidth)
}

func (r *KVCountReport) panel(title string, at, paper func(*KVCount) float64) (*plot.Plot, error) {
	p := chart.NewPanel(title, "load", "round trips")
	var printed plotter.XYs
	for i, pair := range kvPairs {
		var counted plotter.XYs
		printed = nil // it is the same for all
		for k := range r.Counts {
			is := &r.Counts[k]
			if is.KVPair != pair {
				continue
			}
			counted = append(counted, plotter.XY{X: is.Load, Y: at(is)})
			if paper != nil {
				printed = append(printed, plotter.XY{X: is.Load, Y: paper(is)})
			}
		}
		if len(counted) == 0 {
			continue
		}
		err := chart.AddLine(p, pair.String(), counted, chart.Colour(i), draw.CircleGlyph{})
		if err != nil {
			return nil, err
		}
	}
	if len(printed) > 0 {
		rings, err := chart.NewPoints(printed, color.Gray{0x50}, draw.RingGlyph{})
		if err != nil {
			return nil, err
		}
		p.Add(rings)
		p.Legend.Add("NE, expected", rings)
	}
	p.X.Min, p.X.Max = 0, 1
	p.Y.Min, p.Y.Max = 0, max(5, p.Y.Max)
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}
