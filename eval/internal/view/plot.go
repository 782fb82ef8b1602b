package view

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/eval/internal/chart"
	"github.com/farhash/farhash/eval/internal/record"
)

// Plot is a panel of a figure, or one for each value of a key.
type Plot struct {
	Title string
	// Where and Only choose among the cases of all records of the view.
	Where []record.Key
	Only  func(*record.Case) bool
	Panel string // a key: each of its values has a panel
	X     string // the key on the horizontal axis
	XName string // empty: X
	Y     string // the unit on the vertical axis
	YName string // empty: Y
	// By is a factor for what is drawn, 0: 1.
	By float64
	// Over divides by the case that differs in this key alone, as Column.Over does.
	Over record.Key
	// Paper is the unit of what a paper prints, drawn as rings, and PaperName how they are
	// called.
	Paper, PaperName string
	// Low and High are the units of the ends of error bars; empty: least and largest.
	Low, High  string
	LogX, LogY bool
	Here       bool // measured on this machine
}

// line is what is drawn in one colour.
type line struct {
	name                    string
	points, paper           plotter.XYs
	ends                    plotter.YErrors
	spread                  bool // ends are not all at the points
	xs                      []string
	middle, lowest, highest float64
}

// Figure draws the plots of views side by side, those whose titles only matches. format is
// "svg" or "png".
func Figure(w io.Writer, format string, records []record.Record, views []View,
	only *regexp.Regexp) error {
	records = derive(records, views)
	var panels []*plot.Plot
	bars := 0
	for i := range views {
		all := record.NewTable(views[i].Name, records)
		for k := range views[i].Plots {
			p := &views[i].Plots[k]
			for _, part := range p.parts(choose(all, p.Where, p.Only)) {
				if !only.MatchString(part.title) {
					continue
				}
				panel, width, err := p.draw(part)
				if err != nil {
					return err
				}
				if panel != nil {
					panels, bars = append(panels, panel), max(bars, width)
				}
			}
		}
	}
	if len(panels) == 0 {
		return fmt.Errorf("nothing has been measured that can be drawn in panels %q", only)
	}
	width := chart.PanelWidth * max(1, vg.Length(bars)/barsOfPanel)
	return chart.Write(w, format, panels, width)
}

// barsOfPanel is how many bars a panel of the usual width has room for.
const barsOfPanel = 40

// panelLetters is how many letters below an axis have room side by side.
const panelLetters = 70

// part is what a panel shows.
type part struct {
	title string
	cases *record.Table
}

func (p *Plot) parts(t *record.Table) []part {
	if p.Panel == "" {
		return []part{{p.Title, t}}
	}
	var all []part
	for _, value := range t.Values(p.Panel) {
		title := strings.TrimPrefix(p.Title+", ", ", ") + p.Panel + " " + value
		all = append(all, part{title, t.Where(record.Key{Name: p.Panel, Value: value})})
	}
	return all
}

// draw makes a panel, nil if there is nothing in it, and returns how many bars it has.
func (p *Plot) draw(of part) (panel *plot.Plot, bars int, err error) {
	lines := p.lines(of.cases)
	if len(lines) == 0 {
		return nil, 0, nil
	}
	x, y := p.XName, p.YName
	if x == "" {
		x = p.X
	}
	if y == "" {
		y = p.Y
	}
	panel = chart.NewPanel(of.title, x, y)
	values := of.cases.Values(p.X)
	if p.Over.Name == p.X && len(values) == 1 {
		return nil, 0, nil // a speedup of nothing
	}
	if numbers(values) {
		err = p.drawLines(panel, lines)
	} else {
		panel.X.Label.Text = ""
		bars = len(values) * len(lines)
		err = drawBars(panel, lines, values)
	}
	if err == nil {
		p.scale(panel, lines, bars > 0)
	}
	return panel, bars, err
}

func numbers(values []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool {
		_, err := strconv.ParseFloat(v, 64)
		return err != nil
	})
}

// lines have a name for each combination of the keys that vary, without those that follow
// from the horizontal one.
func (p *Plot) lines(t *record.Table) (all []*line) {
	varying := slices.DeleteFunc(names(t), func(name string) bool { return t.Follows(name, p.X) })
	for _, c := range t.Cases {
		point, ok := p.point(t, c)
		paper, printed := c.Median(p.Paper)
		if !ok && !printed {
			continue
		}
		name := lineName(c, varying)
		at := slices.IndexFunc(all, func(l *line) bool { return l.name == name })
		if at < 0 {
			at = len(all)
			all = append(all, &line{name: name})
		}
		l := all[at]
		if printed {
			l.paper = append(l.paper, plotter.XY{X: c.Number(p.X), Y: paper * p.by()})
		}
		if ok {
			l.xs = append(l.xs, c.Get(p.X))
			l.points = append(l.points, plotter.XY{X: c.Number(p.X), Y: point.middle})
			l.ends = append(l.ends, struct{ Low, High float64 }{point.middle - point.lowest,
				point.highest - point.middle})
			l.spread = l.spread || point.lowest < point.highest
		}
	}
	return all
}

func lineName(c *record.Case, keys []string) string {
	var names []string
	for _, name := range keys {
		value := c.Get(name)
		switch {
		case value == "true":
			value = name
		case value == "false":
			value = "no " + name
		case numbers([]string{value}):
			value = name + " " + value
		}
		names = append(names, words(value))
	}
	return strings.Join(names, ", ")
}

func (p *Plot) by() float64 {
	if p.By == 0 {
		return 1
	}
	return p.By
}

// point is the figure of a case with its ends.
func (p *Plot) point(t *record.Table, c *record.Case) (point line, ok bool) {
	by := p.by()
	middle, lowest, highest, n := c.Spread(p.Y)
	if n == 0 {
		return point, false
	}
	if p.Over.Name != "" {
		base, ok := ratioBase(t, c, p.Over, p.Y)
		if !ok {
			return point, false
		}
		by /= base
	}
	if low, ok := c.Median(p.Low); ok {
		lowest = low
	}
	if high, ok := c.Median(p.High); ok {
		highest = high
	}
	return line{middle: middle * by, lowest: lowest * by, highest: highest * by}, true
}

func (p *Plot) drawLines(panel *plot.Plot, lines []*line) error {
	rings := false
	for _, l := range lines {
		l.spread = l.spread && len(l.points) <= manyPoints
	}
	if !p.LogX {
		separate(lines)
	}
	for i, l := range lines {
		if len(l.points) > 0 {
			shape := draw.GlyphDrawer(draw.CircleGlyph{})
			if len(l.points) > manyPoints {
				shape = nil
			}
			err := chart.AddLine(panel, l.name, l.points, chart.Colour(i), shape)
			if err != nil {
				return err
			}
		}
		if l.spread {
			whiskers, err := plotter.NewYErrorBars(ends{l.points, l.ends})
			if err != nil {
				return err
			}
			whiskers.Color = chart.Colour(i)
			panel.Add(whiskers)
		}
		if len(l.paper) > 0 {
			printed, err := chart.NewPoints(l.paper, chart.Colour(i), draw.RingGlyph{})
			if err != nil {
				return err
			}
			printed.Radius *= 1.6
			panel.Add(printed)
			rings = true
		}
	}
	if !rings {
		return nil
	}
	legend, err := chart.NewPoints(plotter.XYs{{}}, color.Gray{0x50}, draw.RingGlyph{})
	if err == nil {
		panel.Legend.Add(p.PaperName, legend)
	}
	return err
}

// separate moves lines with error bars a little, so that bars stand beside each other.
func separate(lines []*line) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, at := range l.points {
			low, high = min(low, at.X), max(high, at.X)
		}
	}
	for i, l := range lines {
		for k := range l.points {
			if l.spread {
				l.points[k].X += (float64(i) - float64(len(lines)-1)/2) * (high - low) / 200
			}
		}
	}
}

// manyPoints is from how many on a line has neither glyphs nor error bars.
const manyPoints = 24

// ends are points with error bars.
type ends struct {
	plotter.XYs
	plotter.YErrors
}

// drawBars draws a group of bars for each value of the horizontal key.
func drawBars(panel *plot.Plot, lines []*line, values []string) error {
	width := chart.PanelWidth * 0.78 / vg.Length(len(values)*(len(lines)+1))
	width *= max(1, vg.Length(len(values)*len(lines))/barsOfPanel)
	for i, l := range lines {
		heights, whiskers := make(plotter.Values, len(values)), ends{}
		for k, x := range l.xs {
			at := slices.Index(values, x)
			heights[at] = l.points[k].Y
			whiskers.XYs = append(whiskers.XYs, plotter.XY{X: float64(at), Y: l.points[k].Y})
			whiskers.YErrors = append(whiskers.YErrors, l.ends[k])
		}
		bars, err := plotter.NewBarChart(heights, width*0.9)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = chart.Colour(i), 0
		bars.Offset = width * vg.Length(float64(i)-float64(len(lines)-1)/2)
		panel.Add(bars)
		if l.name != "" {
			panel.Legend.Add(l.name, bars)
		}
		if l.spread {
			marks, err := plotter.NewYErrorBars(whiskers)
			if err != nil {
				return err
			}
			marks.CapWidth = width * 0.4
			panel.Add(shifted{marks, bars.Offset})
		}
	}
	labels := make([]string, len(values))
	for i, value := range values {
		labels[i] = words(value)
	}
	panel.NominalX(labels...)
	if len(strings.Join(labels, "  ")) > panelLetters {
		label := &panel.X.Tick.Label
		label.Rotation, label.XAlign, label.YAlign = math.Pi/4, draw.XRight, draw.YTop
	}
	return nil
}

// shifted draws error bars where the bars of their group are.
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
