package view

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/farhash/farhash/eval/internal/chart"
)

// xs are the places of points on the horizontal axis.
func xs(lines []*line) (all []float64) {
	for _, l := range lines {
		for _, x := range l.xs {
			if v, err := strconv.ParseFloat(x, 64); err == nil {
				all = append(all, v)
			}
		}
	}
	return all
}

// manyLines is from how many on the legend is small.
const manyLines = 6

// scale sets the axes, with room for the legend above what is drawn on its side.
func (p *Plot) scale(panel *plot.Plot, lines []*line, bars bool) {
	panel.Legend.Top = true
	share := 0.055 * float64(len(lines)+2) // of the height, which the legend needs
	if len(lines) > manyLines {
		panel.Legend.TextStyle.Font.Size *= 0.75
		share = min(0.75*share, 0.5)
	}
	p.scaleX(panel, lines, bars)
	if p.LogY {
		panel.Y.Scale, panel.Y.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
		panel.Y.Min, panel.Y.Max = chart.LogRange(panel.Y.Min, panel.Y.Max)
	} else {
		panel.Y.Min = min(panel.Y.Min, 0)
	}
	top := panel.Y.Max
	if bars {
		panel.Legend.Left = true
	} else {
		left, right := p.tops(panel, lines)
		panel.Legend.Left, top = left < right, min(left, right)
	}
	if p.LogY {
		top = panel.Y.Min * math.Pow(top/panel.Y.Min, 1/(1-share))
	} else {
		top /= 1 - share
	}
	panel.Y.Max = max(panel.Y.Max, top)
	if !p.LogY {
		panel.Y.Max *= 1.03 // for the rings of the highest points
	}
}

// marginShare is how much of its length an axis extends at both ends: separate moves points.
const marginShare = 1. / 25

func (p *Plot) scaleX(panel *plot.Plot, lines []*line, bars bool) {
	if bars {
		panel.X.Min, panel.X.Max = panel.X.Min-0.5, panel.X.Max+0.5
		return
	}
	if p.LogX {
		panel.X.Scale, panel.X.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
		panel.X.Min, panel.X.Max = chart.LogRange(panel.X.Min, panel.X.Max)
	}
	if ticks := chart.ValueTicks(xs(lines), p.LogX); ticks != nil {
		panel.X.Tick.Marker = ticks
		panel.X.Min, panel.X.Max = ticks[0].Value, ticks[len(ticks)-1].Value
	}
	if p.LogX {
		margin := math.Pow(panel.X.Max/panel.X.Min, marginShare)
		panel.X.Min, panel.X.Max = panel.X.Min/margin, panel.X.Max*margin
	} else {
		margin := (panel.X.Max - panel.X.Min) * marginShare
		panel.X.Min, panel.X.Max = panel.X.Min-margin, panel.X.Max+margin
	}
}

// tops are the largest figures of the left and the right part of a panel, where a legend may
// stand.
func (p *Plot) tops(panel *plot.Plot, lines []*line) (left, right float64) {
	const part = 0.55 // of the width
	left, right = panel.Y.Min, panel.Y.Min
	add := func(x, y float64) {
		at := (x - panel.X.Min) / (panel.X.Max - panel.X.Min)
		if p.LogX {
			at = math.Log(x/panel.X.Min) / math.Log(panel.X.Max/panel.X.Min)
		}
		if at < part {
			left = max(left, y)
		}
		if at > 1-part {
			right = max(right, y)
		}
	}
	for _, l := range lines {
		for i, point := range l.points {
			add(point.X, point.Y+l.ends[i].High)
		}
		for _, point := range l.paper {
			add(point.X, point.Y)
		}
	}
	return left, right
}
