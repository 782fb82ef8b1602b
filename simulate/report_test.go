package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	_ "image/png"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"

	"github.com/farhash/farhash/bench"
	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/rma/sim"
)

// small is enough for the shape of a table 1, and nearly for its figures.
var small = table1Size{buckets: 1 << 18, operations: 1000, rates: 4000}

// smallTable1 is table 1 of DAS5 with little effort.
func smallTable1(t *testing.T, c Cluster, progress Progress) *Report {
	t.Helper()
	size := small
	if invariant.Enabled {
		size = table1Size{buckets: 1 << 16, operations: 400, rates: 1}
	}
	r, err := table1(context.Background(), "test", c, 1, progress, size)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTable1 holds the predictions against the paper: what is not fitted is to be close.
func TestTable1(t *testing.T) {
	var told []string
	r := smallTable1(t, DAS5(), func(what string, done, of int) {
		if done == of {
			told = append(told, what)
		}
	})
	if len(told) != 5+19 || told[0] != "latency with C=8" ||
		told[23] != "48 hosts with 16 ranks each" {
		t.Errorf("told of %q", told)
	}
	cells, fitted := 0, 0
	for _, row := range r.Latency {
		if row.Fitted {
			fitted++
		}
		if row.PaperNanoseconds != nil {
			cells++
			want := 100 * (row.Nanoseconds - *row.PaperNanoseconds) / *row.PaperNanoseconds
			if math.Abs(*row.ErrorPercent-want) > 1e-9 {
				t.Errorf("%+v", row)
			}
		}
	}
	for _, row := range r.Throughput {
		if row.Fitted {
			fitted++
		}
		if row.PaperMops == nil ||
			math.Abs(*row.ErrorPercent - 100*(row.Mops-*row.PaperMops) / *row.PaperMops) > 1e-9 {
			t.Errorf("%+v", row)
		}
	}
	if cells != 25 || fitted != 4 || len(r.Throughput) != 19 {
		t.Errorf("%d latencies and %d throughputs of the paper, %d fitted", cells,
			len(r.Throughput), fitted)
	}
	for i, want := range []struct {
		what       string
		cells      int
		mean, most float64 // percent
	}{{"round trips", 25, 5, 25}, {"latency", 23, 4, 12},
		{"throughput, 2 machines and more", 13, 12, 25}, {"throughput, 1 machine", 4, 100, 100}} {
		s := r.Summary[i]
		if s.What != want.what || s.Cells != want.cells || s.MeanPercent > want.mean ||
			math.Abs(s.LargestPercent) > want.most || s.MeanPercent > math.Abs(s.LargestPercent) {
			t.Errorf("%+v, want at most %+v", s, want)
		}
	}
	checkOutput(t, r)
}

// checkOutput looks at all forms of a table 1.
func checkOutput(t *testing.T, r *Report) {
	t.Helper()
	var text, object, svg, png bytes.Buffer
	for _, err := range []error{r.WriteText(&text), r.WriteJSON(&object),
		r.WritePlot(&svg, "svg"), r.WritePlot(&png, "png")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"Where the model fails", "%*", "32 machines", "C=128",
		"latency", "round trips"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
	if n := strings.Count(text.String(), "%*"); n != 4 {
		t.Errorf("%d cells are marked", n)
	}
	var back Report
	if err := json.Unmarshal(object.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Throughput, r.Throughput) ||
		!reflect.DeepEqual(back.Latency, r.Latency) ||
		!reflect.DeepEqual(back.Summary, r.Summary) ||
		back.Cluster != r.Cluster || back.Seed != 1 || back.Chunks != 32 || back.Chunk != 32 {
		t.Errorf("JSON has lost something: %s", &object)
	}
	for _, want := range []string{"latency", "round trips", "throughput", "OP Table 1",
		"16 ranks"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("%q is not in the plot", want)
		}
	}
	img, _, err := image.DecodeConfig(&png)
	if err != nil || img.Width < 3*img.Height {
		t.Errorf("no picture of three panels: %+v, %v", img, err)
	}
}

// TestTable1OfAnotherCluster has the paper's figures, and nothing that was fitted.
func TestTable1OfAnotherCluster(t *testing.T) {
	c, err := Preset("edr")
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReport("test", Config{Cluster: c})
	if err != nil {
		t.Fatal(err)
	}
	r.table1 = true
	r.addRate(&Rate{Hosts: fittedHosts, Procs: fittedFew, Mops: 17.02})
	r.addLatency(Latency{Chunk: fittedSmall, Load: fittedLoad, Nanoseconds: 369})
	r.sumUp()
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); strings.Contains(got, "*") || strings.Contains(got, "fails") ||
		!strings.Contains(got, "+100.0%") || !strings.Contains(got, "-90.0%") {
		t.Errorf("%s", got)
	}
}

// TestCalibration fits the parameters again, from others, and finds those of DAS5.
func TestCalibration(t *testing.T) {
	if invariant.Enabled {
		t.Skip("takes too long with assertions: nothing in it is concurrent")
	}
	start := DAS5()
	start.LatencyNs, start.WordNs, start.DoublingNs, start.SharingNs = 500, 1, 10, 10
	c, err := Calibrate(context.Background(), start, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", c.parameters())
	want := DAS5()
	for _, p := range []struct {
		name              string
		got, want, within float64
	}{
		{"LatencyNs", c.LatencyNs, want.LatencyNs, 2}, {"WordNs", c.WordNs, want.WordNs, 0.02},
		{"DoublingNs", c.DoublingNs, want.DoublingNs, 3},
		{"SharingNs", c.SharingNs, want.SharingNs, 1.5},
	} {
		if math.Abs(p.got-p.want) > p.within {
			t.Errorf("%s is fitted to be %v, DAS5 has %v", p.name, p.got, p.want)
		}
	}
}

// TestSameSeedSameBytes, whatever else the process does.
func TestSameSeedSameBytes(t *testing.T) {
	simulate := func(seed uint64) string {
		r, err := NewReport("test", Config{Cluster: DAS5(), Seed: seed, Load: 0.6, Operations: 50,
			Workload: bench.Read})
		if err != nil {
			t.Fatal(err)
		}
		for _, hosts := range []int{2, 5} {
			if err := r.Simulate(context.Background(), hosts, 3, nil); err != nil {
				t.Fatal(err)
			}
		}
		var all bytes.Buffer
		for _, err := range []error{r.WriteText(&all), r.WriteJSON(&all), r.WritePlot(&all, "svg"),
			r.WritePlot(&all, "png")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return all.String()
	}
	first := simulate(1)
	if simulate(1) != first {
		t.Error("the same seed gives another output")
	}
	if simulate(2) == first {
		t.Error("the seed does not matter")
	}
}

// TestPaperBeside: the paper's figures stand only beside what the paper measured.
func TestPaperBeside(t *testing.T) {
	other := DAS5()
	other.LatencyNs++
	for name, c := range map[string]struct {
		cfg   Config
		paper bool
	}{
		"the paper's": {Config{Cluster: DAS5()}, true},
		"cluster":     {Config{Cluster: other}, false},
		"workload":    {Config{Cluster: DAS5(), Workload: bench.Fill}, false},
		"load":        {Config{Cluster: DAS5(), Load: 0.5}, false},
		"chunk":       {Config{Cluster: DAS5(), Chunk: 64}, false},
		"batch":       {Config{Cluster: DAS5(), Batch: 8}, false},
	} {
		r, err := NewReport("test", c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.addRate(&Rate{Hosts: 48, Procs: 16, Mops: 100})
		r.addRate(&Rate{Hosts: 49, Procs: 16, Mops: 100})
		if (r.Throughput[0].PaperMops != nil) != c.paper || r.Throughput[1].PaperMops != nil {
			t.Errorf("%s: %+v", name, r.Throughput)
		}
		var text bytes.Buffer
		err = r.WriteText(&text)
		if err != nil || strings.Contains(text.String(), "OP") != c.paper {
			t.Errorf("%s: %v\n%s", name, err, &text)
		}
	}
}

// TestThroughputPlot: lines go from the fewest hosts to the most, without one alone, and
// there is a ring for each figure of the paper.
func TestThroughputPlot(t *testing.T) {
	draw := func(c Cluster) (*Report, string) {
		r, err := NewReport("test", Config{Cluster: c})
		if err != nil {
			t.Fatal(err)
		}
		for _, hosts := range []int{48, 1, 2, 7} {
			r.addRate(&Rate{Hosts: hosts, Procs: 4, Mops: float64(hosts)})
		}
		var svg bytes.Buffer
		if err := r.WritePlot(&svg, "svg"); err != nil {
			t.Fatal(err)
		}
		return r, svg.String()
	}
	r, with := draw(DAS5())
	line, paper := r.byHosts(4)
	want := plotter.XYs{{X: 2, Y: 2}, {X: 7, Y: 7}, {X: 48, Y: 48}}
	if !slices.Equal(line, want) {
		t.Errorf("a line through %v", line)
	}
	want = plotter.XYs{{X: 48, Y: 37.82}, {X: 2, Y: 3.83}}
	if !slices.Equal(paper, want) {
		t.Errorf("rings at %v", paper)
	}
	other := DAS5()
	other.WordNs++
	_, without := draw(other)
	// One more for the legend.
	if more := strings.Count(with, "<path") - strings.Count(without, "<path"); more != 3 {
		t.Errorf("%d rings are drawn", more)
	}
}

func TestPlotOfNothing(t *testing.T) {
	r, err := NewReport("test", Config{Cluster: DAS5()})
	if err != nil {
		t.Fatal(err)
	}
	r.addRate(&Rate{Hosts: 1, Procs: 1, Mops: 1})
	if err := r.WritePlot(&bytes.Buffer{}, "svg"); err == nil {
		t.Error("a plot without a network")
	}
	if _, err := NewReport("test", Config{Cluster: DAS5(), Chunk: 3}); err == nil {
		t.Error("a report of nonsense")
	}
}

func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{0.1234: "0.123", 1.5: "1.500", 12.345: "12.35",
		123.45: "123.5", 1234.5: "1234", 98765.4: "98765"} {
		if got := figures(v); got != want {
			t.Errorf("%v is printed %s, want %s", v, got, want)
		}
	}
}

// TestJSONKeys: what the help of the command lists.
func TestJSONKeys(t *testing.T) {
	for what, c := range map[string]struct {
		of   any
		keys string
	}{
		"report": {Report{Latency: []LatencyRow{{}}, Summary: []Summary{{}}},
			"batch chunk chunks cluster command latency load seed summary throughput workload"},
		"throughput": {RateRow{}, "errorPercent fitted hosts mops mopsHost nanoseconds " +
			"operations paperMops procs"},
		"latency": {LatencyRow{}, "chunk errorPercent fitted loadFrom loadTo nanoseconds " +
			"paperNanoseconds paperRoundTrips roundTrips"},
		"summary": {Summary{}, "cells largest largestPercent meanPercent what"},
	} {
		text, err := json.Marshal(c.of)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		var keys []string
		for key := range object {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		if got := strings.Join(keys, " "); got != c.keys {
			t.Errorf("%s has %s", what, got)
		}
	}
}

// TestParameters: none of a cost is forgotten.
func TestParameters(t *testing.T) {
	c := DAS5()
	got := reflect.ValueOf(c.parameters())
	if want := reflect.TypeFor[sim.Cost]().NumField() + 3; got.NumField() != want {
		t.Errorf("%d parameters of %d", got.NumField(), want)
	}
	for i := range got.NumField() {
		name := got.Type().Field(i).Name
		want := reflect.ValueOf(c).FieldByName(name)
		if !want.IsValid() || got.Field(i).Interface() != want.Interface() {
			t.Errorf("%s is %v, the cluster has %v", name, got.Field(i), want)
		}
	}
}
