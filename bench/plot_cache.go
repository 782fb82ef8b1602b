package bench

import (
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/internal/chart"
)

const (
	cachePanelWidth  = 12 * vg.Centimeter
	cachePanelHeight = 8.5 * vg.Centimeter
	legendRow        = 0.55 * vg.Centimeter
)

// batchGlyphs mark the sizes of batches: open for one operation at a time.
var batchGlyphs = []draw.GlyphDrawer{draw.RingGlyph{}, draw.CircleGlyph{}, draw.BoxGlyph{},
	draw.TriangleGlyph{}, draw.SquareGlyph{}, draw.PyramidGlyph{}}

// WritePlot draws throughput over ranks as MD Fig. 4 to 6 do: a panel for each law of keys and
// workload, with a curve for each mode, access and size of batches, between the least and the
// largest of the runs. format is "svg" or "png".
func (r *CacheReport) WritePlot(w io.Writer, format string) error {
	if len(r.Results) == 0 {
		return errNothing
	}
	rows, err := r.panels()
	if err != nil {
		return err
	}
	legends, height := r.legends(len(rows[0]))
	width := cachePanelWidth * vg.Length(len(rows[0]))
	canvas, err := draw.NewFormattedCanvas(width,
		cachePanelHeight*vg.Length(len(rows))+height, format)
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	body := draw.Crop(all, 0, 0, 0, -height)
	tiles := draw.Tiles{Rows: len(rows), Cols: len(rows[0]), PadX: vg.Points(14),
		PadY: vg.Points(14), PadTop: vg.Points(4), PadBottom: vg.Points(8),
		PadLeft: vg.Points(8), PadRight: vg.Points(14)}
	for i, row := range plot.Align(rows, tiles, body) {
		for j, c := range row {
			rows[i][j].Draw(c)
		}
	}
	strip := draw.Crop(all, vg.Points(20), -vg.Points(20), body.Max.Y-all.Min.Y, -vg.Points(4))
	for i := range legends {
		left := (strip.Max.X - strip.Min.X) / vg.Length(len(legends)) * vg.Length(i)
		legends[i].Draw(draw.Crop(strip, left, 0, 0, 0))
	}
	_, err = canvas.WriteTo(w)
	return err
}

// list gives the values of a field among results, in order of appearance.
func list[T comparable](r *CacheReport, of func(*CacheResult) T) (all []T) {
	for i := range r.Results {
		if v := of(&r.Results[i]); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// panels are rows, one for each law of keys. All have the same scales.
func (r *CacheReport) panels() (rows [][]*plot.Plot, err error) {
	low, high := math.Inf(1), 0.0
	for i := range r.Results {
		low = min(low, r.Results[i].KopsMin/1e3)
		high = max(high, r.Results[i].KopsMax/1e3)
	}
	low, high = chart.LogRange(low, high)
	for _, keys := range list(r, func(is *CacheResult) CacheKeys { return is.Keys }) {
		var row []*plot.Plot
		for _, w := range list(r, func(is *CacheResult) CacheWorkload { return is.Workload }) {
			p, err := r.panel(keys, w)
			if err != nil {
				return nil, err
			}
			p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
			p.Y.Min, p.Y.Max = low, high
			row = append(row, p)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (r *CacheReport) panel(keys CacheKeys, w CacheWorkload) (*plot.Plot, error) {
	titles := map[CacheWorkload]string{CacheWrite: "writes", CacheRead: "reads",
		CacheMixed: "95% reads, 5% writes"}
	p := chart.NewPanel(titles[w]+", "+string(keys)+" keys", "ranks",
		"million op/s")
	for m, variant := range list(r, variantOf) {
		for g, batch := range list(r, batchOf) {
			var ends errorEnds
			for i := range r.Results {
				is := &r.Results[i]
				if is.Keys != keys || is.Workload != w || variantOf(is) != variant ||
					is.Batch != batch {
					continue
				}
				ends.add(float64(is.Ranks), &Result{Mops: is.Kops / 1e3, MopsMin: is.KopsMin / 1e3,
					MopsMax: is.KopsMax / 1e3})
			}
			if len(ends.XYs) == 0 {
				continue
			}
			err := chart.AddLine(p, "", ends.XYs, chart.Colour(m), batchGlyphs[g%len(batchGlyphs)])
			if err != nil {
				return nil, err
			}
			whiskers, err := plotter.NewYErrorBars(ends)
			if err != nil {
				return nil, err
			}
			whiskers.Color, whiskers.CapWidth = chart.Colour(m), vg.Points(4)
			p.Add(whiskers)
		}
	}
	p.Legend = plot.NewLegend() // one for all panels stands above them
	ranks := list(r, func(is *CacheResult) int { return is.Ranks })
	least, most := slices.Min(ranks), slices.Max(ranks)
	margin := max(0.4, float64(most-least)/20)
	p.X.Min, p.X.Max = float64(least)-margin, float64(most)+margin
	p.X.Tick.Marker = rankTicks(ranks)
	return p, nil
}

func variantOf(is *CacheResult) string { return is.of.Variant() }
func batchOf(is *CacheResult) int      { return is.Batch }

// rankTicks label numbers of ranks.
func rankTicks(ranks []int) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, n := range ranks {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	return ticks
}

// legends are so many columns, and their height.
func (r *CacheReport) legends(columns int) (legends []plot.Legend, height vg.Length) {
	modes, batches := list(r, variantOf), list(r, batchOf)
	rows := (len(modes)*len(batches) + columns - 1) / columns
	for m, mode := range modes {
		for g, batch := range batches {
			if (m*len(batches)+g)%rows == 0 {
				l := plot.NewLegend()
				l.Top, l.Left, l.Padding = true, true, vg.Points(2)
				legends = append(legends, l)
			}
			name := mode + ", one at a time"
			if batch > 1 {
				name = mode + ", batches of " + strconv.Itoa(batch)
			}
			line := &plotter.Line{LineStyle: draw.LineStyle{Color: chart.Colour(m),
				Width: vg.Points(1.4)}}
			points := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: chart.Colour(m),
				Radius: vg.Points(3.2), Shape: batchGlyphs[g%len(batchGlyphs)]}}
			legends[len(legends)-1].Add(name, line, points)
		}
	}
	return legends, legendRow * vg.Length(rows+1)
}
