package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	// PanelWidth is the usual width of a panel.
	PanelWidth = 15 * vg.Centimeter

	panelHeight = 11 * vg.Centimeter
	plotDPI     = 110
	maxAcross   = 3
)

// palette has colours that people with any kind of colour vision distinguish (Okabe
// and Ito), dark enough for lines on white.
var palette = []color.Color{
	color.RGBA{0x00, 0x72, 0xB2, 0xFF}, color.RGBA{0xD5, 0x5E, 0x00, 0xFF},
	color.RGBA{0x00, 0x9E, 0x73, 0xFF}, color.RGBA{0xCC, 0x79, 0xA7, 0xFF},
	color.RGBA{0xE6, 0x9F, 0x00, 0xFF}, color.RGBA{0x56, 0xB4, 0xE9, 0xFF},
	color.RGBA{0x50, 0x50, 0x50, 0xFF}, color.RGBA{0x8C, 0x56, 0x4B, 0xFF},
	color.RGBA{0x9E, 0x9E, 0x9E, 0xFF}, color.RGBA{0x33, 0x22, 0x88, 0xFF},
	color.RGBA{0x88, 0x22, 0x55, 0xFF}, color.RGBA{0x99, 0x99, 0x33, 0xFF},
}

// Colour is the colour of the i-th line or bar.
func Colour(i int) color.Color { return palette[i%len(palette)] }

// Format is the format that the name of a file asks for: "svg" or "png".
func Format(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg", ".png":
		return ext[1:], nil
	}
	return "", fmt.Errorf("chart: a plot is a file ending in .svg or .png, not %q", path)
}

// fontFamily is the typeface that widths are computed with, and the ones of the same widths.
const fontFamily = "Liberation Sans, Arimo, Arial, Helvetica, sans-serif"

// NewPanel is an empty plot with a grid.
func NewPanel(title, x, y string) *plot.Plot {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	p.BackgroundColor = color.White
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xE0}, color.Gray{0xE0}
	p.Add(grid)
	p.X.Tick.Marker, p.Y.Tick.Marker = RoundTicks{}, RoundTicks{}
	p.Legend.Padding = vg.Points(2)
	return p
}

// Write draws plots side by side, each of them so wide, in rows of up to three.
func Write(w io.Writer, format string, panels []*plot.Plot, panelWidth vg.Length) error {
	columns := min(len(panels), maxAcross)
	if len(panels) == maxAcross+1 {
		columns = 2
	}
	rows := (len(panels) + columns - 1) / columns
	width, height := panelWidth*vg.Length(columns), panelHeight*vg.Length(rows)
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
		return fmt.Errorf("chart: plots are svg or png, not %q", format)
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: vg.Points(14), PadY: vg.Points(14),
		PadTop: vg.Points(8), PadBottom: vg.Points(8),
		PadLeft: vg.Points(8), PadRight: vg.Points(14)}
	grid := make([][]*plot.Plot, rows)
	for i := range grid {
		grid[i] = make([]*plot.Plot, columns) // nil: nothing is there
		copy(grid[i], panels[i*columns:])
	}
	for i, row := range plot.Align(grid, tiles, draw.New(canvas)) {
		for k, p := range grid[i] {
			if p != nil {
				p.Draw(row[k])
			}
		}
	}
	var drawing bytes.Buffer
	if _, err := out.WriteTo(&drawing); err != nil {
		return err
	}
	text := bytes.ReplaceAll(fixWidths(drawing.Bytes()), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:"+fontFamily+";"))
	_, err := w.Write(text)
	return err
}

// svgText is a text as vgsvg writes it: up to its style, the size of its font, and what it says.
var svgText = regexp.MustCompile(
	`(<text [^>]*?)(\s+style="[^"]*font-size:([0-9.]+)px[^"]*">)([^<]*)`)

// fixWidths gives each text of a drawing the width that it was placed with. A reader without the
// typeface sees another one, which would run into what stands beside it.
func fixWidths(svg []byte) []byte {
	return svgText.ReplaceAllFunc(svg, func(text []byte) []byte {
		part := svgText.FindSubmatch(text)
		size, err := strconv.ParseFloat(string(part[3]), 64)
		if err != nil || len(part[4]) == 0 {
			return text
		}
		face := font.DefaultCache.Lookup(plot.DefaultFont, vg.Points(size))
		width := face.Width(html.UnescapeString(string(part[4]))).Points()
		return fmt.Appendf(nil, `%s textLength="%.4g" lengthAdjust="spacingAndGlyphs"%s%s`, part[1],
			width, part[2], part[4])
	})
}

// AddLine draws points joined by a line, with a glyph at each if shape is not nil. A line without a
// name is not in the legend.
func AddLine(p *plot.Plot, name string, xys plotter.XYs, c color.Color,
	shape draw.GlyphDrawer) error {
	line, err := plotter.NewLine(xys)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.4)
	p.Add(line)
	thumbs := []plot.Thumbnailer{line}
	if shape != nil {
		points, err := NewPoints(xys, c, shape)
		if err != nil {
			return err
		}
		p.Add(points)
		thumbs = append(thumbs, points)
	}
	if name != "" {
		p.Legend.Add(name, thumbs...)
	}
	return nil
}

// NewPoints are points without a line.
func NewPoints(xys plotter.XYs, c color.Color, shape draw.GlyphDrawer) (*plotter.Scatter, error) {
	points, err := plotter.NewScatter(xys)
	if err != nil {
		return nil, err
	}
	points.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3.2), Shape: shape}
	return points, nil
}
