package chart

import (
	"bytes"
	"image"
	_ "image/png"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

func TestFormat(t *testing.T) {
	for path, want := range map[string]string{"a.svg": "svg", "x/b.PNG": "png", "c.pdf": "",
		"": ""} {
		if got, err := Format(path); got != want || (err == nil) != (want != "") {
			t.Errorf("Format(%q) = %q, %v", path, got, err)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		ticks     plot.Ticker
		low, high float64
		want      string
	}{
		{RoundTicks{}, 0, 1, "0 0.2 0.4 0.6 0.8 1"}, {RoundTicks{}, 0, 8.4, "0 2 4 6 8"},
		{RoundTicks{}, 0, 539, "0 100 200 300 400 500"},
		{RoundTicks{}, 0, 0.003, "0 0.0005 0.001 0.0015 0.002 0.0025 0.003"},
		{RoundTicks{}, 1, 1, ""}, {RoundTicks{}, -0.1, 1, "0 0.2 0.4 0.6 0.8 1"},
		{LogTicks{}, 1, 10, "1 2 5 10"}, {LogTicks{}, 3, 40, "5 10 20"},
		{LogTicks{}, 0.02, 1, "0.02 0.05 0.1 0.2 0.5 1"},
		{LogTicks{}, 2, 20000, "10 100 1000 10000"},
	} {
		var got []string
		for _, tick := range c.ticks.Ticks(c.low, c.high) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%T of %v to %v are %v, want %s", c.ticks, c.low, c.high, got, c.want)
		}
	}
}

func TestValueTicks(t *testing.T) {
	for _, c := range []struct {
		values      []float64
		logarithmic bool
		want        string
	}{
		{[]float64{4, 1, 2, 1}, false, "1 2 4"},
		{[]float64{2, 4, 8, 16, 32, 48}, true, "2 4 8 16 32 48"},
		{[]float64{2, 4, 8, 16, 32, 48}, false, ""}, {[]float64{3}, false, ""},
	} {
		var got []string
		for _, tick := range ValueTicks(c.values, c.logarithmic) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("ticks of %v are %v, want %s", c.values, got, c.want)
		}
	}
}

func TestLogRange(t *testing.T) {
	for _, c := range [][4]float64{{3, 7, 2, 10}, {1, 10, 1, 10}, {0.06, 0.21, 0.05, 0.5},
		{0.2, 0.2, 0.2, 0.2}, {5.1, 1999, 5, 2000}} {
		if low, high := LogRange(c[0], c[1]); low != c[2] || high != c[3] {
			t.Errorf("%v to %v becomes %v to %v", c[0], c[1], low, high)
		}
	}
}

func TestWrite(t *testing.T) {
	p := NewPanel("a title", "x", "y")
	err := AddLine(p, "a line", plotter.XYs{{X: 1, Y: 2}, {X: 3, Y: 4}}, Colour(0),
		draw.CircleGlyph{})
	if err != nil {
		t.Fatal(err)
	}
	var svg, png bytes.Buffer
	for format, w := range map[string]*bytes.Buffer{"svg": &svg, "png": &png} {
		if err := Write(w, format, []*plot.Plot{p, p, p, p, p}, PanelWidth); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"a title", "a line"} {
		if strings.Count(svg.String(), text) != 5 {
			t.Errorf("%q is not in all panels", text)
		}
	}
	if img, format, err := image.Decode(&png); err != nil || format != "png" ||
		2*img.Bounds().Dx() < 3*img.Bounds().Dy() {
		t.Errorf("no picture of three panels and two below: %v, %v", format, err)
	}
	if err := Write(&svg, "pdf", []*plot.Plot{p}, PanelWidth); err == nil {
		t.Error("pdf is written")
	}
}

// Readers without the typeface give a text the width that it was placed with.
func TestTextWidths(t *testing.T) {
	panel := NewPanel("a title", "x & more", "y")
	line := plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}
	if err := AddLine(panel, "a line's name", line, Colour(0), nil); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, "svg", []*plot.Plot{panel}, PanelWidth); err != nil {
		t.Fatal(err)
	}
	svg := out.String()
	if n := strings.Count(svg, "<text "); n < 10 || strings.Count(svg, " textLength=") != n {
		t.Errorf("%d texts, %d widths", n, strings.Count(svg, " textLength="))
	}
	// Widths of Liberation Sans are those of Arial: "x & more" has 500 + 278 + 667 + 278 + 833 +
	// 556 + 333 + 556 thousandths of 12.
	if !strings.Contains(svg, `textLength="48.01"`) {
		t.Errorf("the width of a label is wrong:\n%s", svg)
	}
}
