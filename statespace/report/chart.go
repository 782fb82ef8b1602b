package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Sample is how far a search had come.
type Sample struct {
	Elapsed         time.Duration
	States, Waiting uint64
}

// Samples are samples of a search in the order of time. The zero value has none.
type Samples struct {
	all   []Sample
	every int // one in so many is kept
	given int
}

// maxSamples is how many samples are kept.
const maxSamples = 1024

// Add adds a sample. Of a long search some are dropped.
func (s *Samples) Add(at Sample) {
	s.every = max(s.every, 1)
	if s.given++; s.given%s.every != 0 {
		return
	}
	if s.all = append(s.all, at); len(s.all) < maxSamples {
		return
	}
	for i := range maxSamples / 2 { // the second of each two stays
		s.all[i] = s.all[2*i+1]
	}
	s.all = s.all[:maxSamples/2]
	s.every *= 2
}

// The size of a chart, in the units of its view box.
const (
	chartWidth  = 600
	chartHeight = 160
)

// chart is lines over time.
type chart struct {
	Title         string
	Lines         []line
	Width, Height int
	Top, Seconds  string // the ends of the axes
}

type line struct {
	Name, Class string
	Points      string
}

// charts are none for a search that was too short to show anything.
func (s *Samples) charts() []chart {
	const fewest = 2
	if len(s.all) < fewest {
		return nil
	}
	times, states, waiting := []float64{0}, []float64{0}, []float64{0}
	var rates []float64
	before := Sample{}
	for _, at := range s.all {
		times = append(times, at.Elapsed.Seconds())
		states, waiting = append(states, float64(at.States)), append(waiting, float64(at.Waiting))
		seconds := max((at.Elapsed - before.Elapsed).Seconds(), 1e-3)
		rates = append(rates, float64(at.States-min(before.States, at.States))/seconds)
		before = at
	}
	rates = append(rates[:1:1], rates...) // of the first second from its begin on
	return []chart{
		newChart("States found, and states that wait to be expanded", times,
			series{"found", states}, series{"waiting", waiting}),
		newChart("States a second", times, series{"found in a second", rates}),
	}
}

type series struct {
	name   string
	values []float64
}

func newChart(title string, times []float64, all ...series) chart {
	top, end := 1.0, max(times[len(times)-1], 1e-9)
	for _, s := range all {
		for _, v := range s.values {
			top = max(top, v)
		}
	}
	c := chart{Title: title, Width: chartWidth, Height: chartHeight,
		Top:     humanize.SIWithDigits(top, 2, ""),
		Seconds: (time.Duration(end * float64(time.Second))).Round(time.Second).String()}
	for i, s := range all {
		var points strings.Builder
		for k, v := range s.values {
			fmt.Fprintf(&points, "%.1f,%.1f ", times[k]/end*chartWidth, chartHeight*(1-v/top))
		}
		c.Lines = append(c.Lines, line{s.name, fmt.Sprintf("line%d", i),
			strings.TrimSpace(points.String())})
	}
	return c
}
