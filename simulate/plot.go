package simulate

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/bench"
	"github.com/farhash/farhash/internal/chart"
)

// WritePlot draws throughput by hosts, lines for what was simulated and rings for what
// OP Table 1 has; of Table 1 latency and round trips as well. format is "svg" or "png".
func (r *Report) WritePlot(w io.Writer, format string) error {
	var panels []*plot.Plot
	if len(r.Latency) > 0 {
		some, err := r.latencies().Panels()
		if err != nil {
			return err
		}
		panels = append(panels, some...)
	}
	if slices.ContainsFunc(r.Throughput, func(row RateRow) bool { return row.Hosts > 1 }) {
		p, err := r.throughput()
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	if len(panels) == 0 {
		return errors.New("simulate: nothing was simulated on several hosts, so there is " +
			"nothing to draw")
	}
	return chart.Write(w, format, panels, chart.PanelWidth)
}

// latencies are what bench measures of a real cluster.
func (r *Report) latencies() *bench.Table1Report {
	var rows []bench.Table1Row
	for i := range r.Latency {
		row := &r.Latency[i]
		rows = append(rows, bench.Table1Row{Chunk: row.Chunk, LoadFrom: row.LoadFrom,
			LoadTo: row.LoadTo, RoundTrips: row.RoundTrips, Nanoseconds: row.Nanoseconds})
	}
	return &bench.Table1Report{Rows: rows}
}

// throughput is a panel with a line for each number of ranks on a host. One host alone
// needs no network, and is left out.
func (r *Report) throughput() (*plot.Plot, error) {
	// A long label beside a logarithmic axis would be taken to need room above it.
	p := chart.NewPanel(fmt.Sprintf("throughput of find-or-put, %s", r.Workload), "hosts", "Mop/s")
	var procs []int
	for i := range r.Throughput {
		if r.Throughput[i].Hosts > 1 {
			procs = append(procs, r.Throughput[i].Procs)
		}
	}
	slices.Sort(procs)
	procs = slices.Compact(procs)
	paper := false
	for i, n := range procs {
		line, points := r.byHosts(n)
		err := chart.AddLine(p, fmt.Sprintf("%d %s a host", n, plural(n, "rank")), line,
			chart.Colour(i), draw.CircleGlyph{})
		if err != nil {
			return nil, err
		}
		if len(points) > 0 {
			rings, err := chart.NewPoints(points, chart.Colour(i), draw.RingGlyph{})
			if err != nil {
				return nil, err
			}
			p.Add(rings)
			paper = true
		}
	}
	if paper {
		rings, err := chart.NewPoints(nil, color.Gray{0x50}, draw.RingGlyph{})
		if err != nil {
			return nil, err
		}
		p.Legend.Add("OP Table 1", rings)
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
	p.Y.Min, p.Y.Max = chart.LogRange(p.Y.Min, p.Y.Max)
	p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, 0.05*float64(len(procs))) // the names stand above
	p.X.Min, p.X.Max = p.X.Min/math.Sqrt2, p.X.Max*math.Sqrt2
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

// byHosts is the throughput with so many ranks on a host, and what the paper has.
func (r *Report) byHosts(procs int) (line, paper plotter.XYs) {
	for i := range r.Throughput {
		row := &r.Throughput[i]
		if row.Procs != procs || row.Hosts == 1 {
			continue
		}
		line = append(line, plotter.XY{X: float64(row.Hosts), Y: row.Mops})
		if row.PaperMops != nil {
			paper = append(paper, plotter.XY{X: float64(row.Hosts), Y: *row.PaperMops})
		}
	}
	slices.SortFunc(line, func(a, b plotter.XY) int { return int(a.X - b.X) })
	return line, paper
}
