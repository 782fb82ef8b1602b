package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	_ "image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

func table1(t *testing.T, buckets uint64, rounds, ranks int) *Table1Report {
	t.Helper()
	m, err := NewTable1(Table1Config{Buckets: buckets})
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		err := local.RunWith(local.Options{Hidden: true}, ranks, func(job rma.Job) error {
			return m.Round(context.Background(), job)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return m.Report("test")
}

// Round trips are those that the paper printed, which has one digit, as far as a
// small table follows the law of large ones.
func TestTable1RoundTrips(t *testing.T) {
	r := table1(t, 1<<14, 1, 1)
	for _, p := range paperPoints {
		row := r.row(p.Load, p.Chunk)
		if row == nil {
			t.Fatalf("no row for C=%d, load %v", p.Chunk, p.Load)
		}
		if off := math.Abs(row.RoundTrips - p.RoundTrips); off > 0.05+0.1*p.RoundTrips {
			t.Errorf("C=%d, load %v: %.3f round trips, the paper has %.1f", p.Chunk, p.Load,
				row.RoundTrips, p.RoundTrips)
		}
		if *row.PaperRoundTrips != p.RoundTrips || row.Nanoseconds < row.NanosecondsMin {
			t.Errorf("C=%d, load %v: %+v", p.Chunk, p.Load, row)
		}
	}
}

func TestTable1Output(t *testing.T) {
	r := table1(t, 1<<11, 2, 2)
	var text bytes.Buffer
	if err := r.WriteBenchfmt(&text); err != nil {
		t.Fatal(err)
	}
	checkBenchfmt(t, text.String(), 2*loadSteps*len(Table1Chunks()))
	text.Reset()
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "C=128") || !strings.Contains(text.String(), "7700") {
		t.Errorf("table 1 lacks columns or the paper's figures:\n%s", text.String())
	}
	text.Reset()
	if err := r.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text.Bytes(), &got); err != nil || got["machine"] == nil ||
		got["table1"] == nil {
		t.Errorf("JSON has no machine and table1, %v", err)
	}
	checkPlots(t, r, 2, "C=128", "OP Table 1", "round trips")
}

// checkPlots draws both formats; names are texts that must be in the drawing.
func checkPlots(t *testing.T, r plotted, panels int, names ...string) {
	t.Helper()
	var drawing bytes.Buffer
	if err := r.WritePlot(&drawing, "svg"); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "<svg", "</svg>") {
		if !strings.Contains(drawing.String(), name) {
			t.Errorf("the SVG does not have %q", name)
		}
	}
	drawing.Reset()
	if err := r.WritePlot(&drawing, "png"); err != nil {
		t.Fatal(err)
	}
	img, format, err := image.DecodeConfig(&drawing)
	if err != nil || format != "png" || img.Width < 500*panels || img.Height < 300 {
		t.Errorf("the picture is %s of %dx%d, %v", format, img.Width, img.Height, err)
	}
	if err := r.WritePlot(&drawing, "gif"); err == nil {
		t.Error("a plot in an unknown format")
	}
}

type plotted interface {
	WritePlot(w io.Writer, format string) error
}

func TestPlots(t *testing.T) {
	cfg := Config{Impls: []Impl{Scalar, Batch, Limit}, Workloads: []Workload{Fill, Mixed},
		Buckets: 1 << 12, To: 0.5}
	b := measure(t, cfg, local.Options{}, 2, 1, 2)
	checkPlots(t, b.Report("test"), 2, "scalar", "limit-reads", "speedup", "OP Table 1")
	empty, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := empty.Report("test").WritePlot(io.Discard, "svg"); err == nil {
		t.Error("a plot of nothing")
	}
	for path, want := range map[string]string{"a.svg": "svg", "x/b.PNG": "png", "c.pdf": "",
		"": ""} {
		if got, err := PlotFormat(path); got != want || (err == nil) != (want != "") {
			t.Errorf("PlotFormat(%q) = %q, %v", path, got, err)
		}
	}
}

func TestRoundTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 1, "0 0.2 0.4 0.6 0.8 1"}, {0, 8.4, "0 2 4 6 8"}, {0, 539, "0 100 200 300 400 500"},
		{0, 0.003, "0 0.0005 0.001 0.0015 0.002 0.0025 0.003"}, {1, 1, ""},
	} {
		var got []string
		for _, tick := range (roundTicks{}).Ticks(c.low, c.high) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("ticks of %v to %v are %v, want %s", c.low, c.high, got, c.want)
		}
	}
}
