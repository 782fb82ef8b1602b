package bench

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	panelWidth  = 15 * vg.Centimeter
	panelHeight = 11 * vg.Centimeter
	plotDPI     = 110
)

// palette has colours that people with any kind of colour vision tell apart (Okabe
// and Ito), dark enough for lines on white.
var palette = []color.Color{
	color.RGBA{0x00, 0x72, 0xB2, 0xFF}, color.RGBA{0xD5, 0x5E, 0x00, 0xFF},
	color.RGBA{0x00, 0x9E, 0x73, 0xFF}, color.RGBA{0xCC, 0x79, 0xA7, 0xFF},
	color.RGBA{0xE6, 0x9F, 0x00, 0xFF}, color.RGBA{0x56, 0xB4, 0xE9, 0xFF},
	color.RGBA{0x50, 0x50, 0x50, 0xFF}, color.RGBA{0x8C, 0x56, 0x4B, 0xFF},
	color.RGBA{0x9E, 0x9E, 0x9E, 0xFF}, color.RGBA{0x33, 0x22, 0x88, 0xFF},
}

func colour(i int) color.Color { return palette[i%len(palette)] }

// errNothing is the answer when there is nothing to draw.
var errNothing = errors.New("bench: nothing has been measured, so there is nothing to draw")

// PlotFormat is the format that the name of a file asks for: "svg" or "png".
func PlotFormat(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg", ".png":
		return ext[1:], nil
	}
	return "", fmt.Errorf("bench: a plot is a file ending in .svg or .png, not %q", path)
}

// newPanel is an empty plot with a grid.
func newPanel(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	p.BackgroundColor = color.White
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xE0}, color.Gray{0xE0}
	p.Add(grid)
	p.X.Tick.Marker, p.Y.Tick.Marker = roundTicks{}, roundTicks{}
	p.Legend.Padding = vg.Points(2)
	return p
}

// roundTicks labels an axis at about six multiples of 1, 2 or 5 times a power of ten.
type roundTicks struct{}

// Ticks returns the labelled marks between low and high.
func (roundTicks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) {
		return nil
	}
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/6)))
	step := unit * 10
	for _, factor := range []float64{1, 2, 5} {
		if (high-low)/(unit*factor) <= 7 {
			step = unit * factor
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		label := strconv.FormatFloat(i*step, 'g', 6, 64) // 6 digits: 0.30000000000000004
		ticks = append(ticks, plot.Tick{Value: i * step, Label: label})
	}
	return ticks
}

// writePanels draws plots side by side.
func writePanels(w io.Writer, format string, panels []*plot.Plot) error {
	width, height := panelWidth*vg.Length(len(panels)), panelHeight
	var canvas vg.CanvasSizer
	var out io.WriterTo
	switch format {
	case "svg":
		svg := vgsvg.New(width, height)
		canvas, out = svg, svg
	case "png":
		img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(plotDPI))
		canvas, out = img, vgimg.PngCanvas{Canvas: img}
	default:
		return fmt.Errorf("bench: plots are svg or png, not %q", format)
	}
	tiles := draw.Tiles{Rows: 1, Cols: len(panels), PadX: vg.Points(14),
		PadTop: vg.Points(8), PadBottom: vg.Points(8),
		PadLeft: vg.Points(8), PadRight: vg.Points(14)}
	for i, c := range plot.Align([][]*plot.Plot{panels}, tiles, draw.New(canvas))[0] {
		panels[i].Draw(c)
	}
	_, err := out.WriteTo(w)
	return err
}

// addLine draws points joined by a line, with a glyph at each if shape is not nil.
func addLine(p *plot.Plot, name string, xys plotter.XYs, c color.Color,
	shape draw.GlyphDrawer) error {
	line, err := plotter.NewLine(xys)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.4)
	p.Add(line)
	thumbs := []plot.Thumbnailer{line}
	if shape != nil {
		points, err := newPoints(xys, c, shape)
		if err != nil {
			return err
		}
		p.Add(points)
		thumbs = append(thumbs, points)
	}
	p.Legend.Add(name, thumbs...)
	return nil
}

func newPoints(xys plotter.XYs, c color.Color, shape draw.GlyphDrawer) (*plotter.Scatter, error) {
	points, err := plotter.NewScatter(xys)
	if err != nil {
		return nil, err
	}
	points.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3.2), Shape: shape}
	return points, nil
}
