package main

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"github.com/dustin/go-humanize/english"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/internal/chart"
)

// writePlot draws the cost of a lookup by read size, like LP Fig. 10b: what LP's model
// minimises, with rings where it does, and what that comes to for keys that are there.
func (r *modelReport) writePlot(w io.Writer, format string) error {
	p := chart.NewPanel(fmt.Sprintf("cost of a lookup, load %v, slots of %s", r.Load,
		english.Plural(r.SlotBytes, "byte", "")), "slots of a read", "expected ns")
	c := r.config
	most := r.plotMost()
	curves := []struct {
		name string
		at   func(slots int) float64
	}{
		{"LP's model, E[X] T", func(slots int) float64 {
			return r.laws.Absent.ModelReads(slots) * c.ReadNs(slots)
		}},
		{"linear, present key", func(slots int) float64 {
			return c.Cost(r.laws.Present, slots).Ns
		}},
		{"ordered, present key", func(slots int) float64 {
			return c.Cost(r.laws.OrderedPresent, slots).Ns
		}},
	}
	low, high := math.Inf(1), 0.0
	for i, curve := range curves {
		line := byReadSize(most, curve.at)
		for _, at := range line {
			low, high = min(low, at.Y), max(high, at.Y)
		}
		if err := chart.AddLine(p, curve.name, line, chart.Colour(i), nil); err != nil {
			return err
		}
	}
	parallel := modelCuckoo.Parallel(c).Ns
	low, high = min(low, parallel), max(high, parallel)
	if err := addDashed(p, "cuckoo, parallel", chart.Colour(6), plotter.XY{X: 1, Y: parallel},
		plotter.XY{X: float64(most), Y: parallel}); err != nil {
		return err
	}
	low, high = chart.LogRange(low, high)
	if r.Cap <= most {
		at := float64(r.Cap)
		if err := addDashed(p, fmt.Sprintf("the link has room: %d", r.Cap), color.Gray{0x90},
			plotter.XY{X: at, Y: low},
			plotter.XY{X: at, Y: curves[1].at(r.Cap)}); err != nil {
			return err
		}
	}
	if err := r.addChosen(p, curves[0].at); err != nil {
		return err
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 1, float64(most), low, high
	p.Legend.Top = true
	return chart.Write(w, format, []*plot.Plot{p}, chart.PanelWidth)
}

// plotMost is how far the axis of read sizes goes: beyond everything that is chosen.
func (r *modelReport) plotMost() int {
	_, most := chart.LogRange(1, 2*float64(max(r.Uncapped, r.Capped, min(r.Cap, 1000), 10)))
	return int(most)
}

// byReadSize is a line through the values of a function, at each size while they are few
// and then at steps that look even on a logarithmic axis.
func byReadSize(most int, at func(slots int) float64) plotter.XYs {
	var line plotter.XYs
	for slots := 1; slots <= most; slots += 1 + slots/200 {
		line = append(line, plotter.XY{X: float64(slots), Y: at(slots)})
	}
	return line
}

// addChosen draws rings where LP's model is at its least, with the cap and without.
func (r *modelReport) addChosen(p *plot.Plot, at func(slots int) float64) error {
	sizes := []int{r.Capped, r.Uncapped}
	name := fmt.Sprintf("chosen: capped %d, uncapped %d", r.Capped, r.Uncapped)
	if r.Capped == r.Uncapped {
		sizes, name = sizes[:1], fmt.Sprintf("chosen: %d", r.Capped)
	}
	var chosen plotter.XYs
	for _, size := range sizes {
		chosen = append(chosen, plotter.XY{X: float64(size), Y: at(size)})
	}
	rings, err := chart.NewPoints(chosen, chart.Colour(0), draw.RingGlyph{})
	if err != nil {
		return err
	}
	rings.Radius = vg.Points(5)
	p.Add(rings)
	p.Legend.Add(name, rings)
	return nil
}

// addDashed draws a dashed line from one point to another.
func addDashed(p *plot.Plot, name string, c color.Color, from, to plotter.XY) error {
	line, err := plotter.NewLine(plotter.XYs{from, to})
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.2)
	line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	p.Add(line)
	p.Legend.Add(name, line)
	return nil
}
