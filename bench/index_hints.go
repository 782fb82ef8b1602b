package bench

import (
	"encoding/json"
	"errors"
	"io"
	"text/tabwriter"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farhash/farhash/internal/chart"
	"github.com/farhash/farhash/readsize"
)

// IndexHints is LP Fig. 13: the read sizes of LP's model where a cluster is known that begins
// at x = 0 and has 10 slots, by the place where the read begins. It is computed.
type IndexHints struct {
	Command string      `json:"command"`
	Hints   []IndexHint `json:"hints"`
}

// IndexHint is a load of LP Fig. 13.
type IndexHint struct {
	Load      float64         `json:"load"`
	Oblivious int             `json:"oblivious"` // slots of a read that knows no cluster
	Sizes     []IndexHintSize `json:"sizes"`
}

// IndexHintSize is the size of a read that begins at X, in slots.
type IndexHintSize struct {
	X     int `json:"x"`
	Slots int `json:"slots"`
}

const (
	hintLength       = 10 // of the cluster
	hintFrom, hintTo = -30, 20
)

// NewIndexHints computes them. command is how they were asked for.
func NewIndexHints(command string) (*IndexHints, error) {
	h := &IndexHints{Command: command}
	for _, load := range []float64{0.25, 0.65} {
		s, err := readsize.NewSizes(lpConfig(), load)
		if err != nil {
			return nil, err
		}
		of := IndexHint{Load: load, Oblivious: s.Capped}
		for x := hintFrom; x <= hintTo; x++ {
			of.Sizes = append(of.Sizes, IndexHintSize{x, s.Hinted(-x, hintLength)})
		}
		h.Hints = append(h.Hints, of)
	}
	return h, nil
}

// at is the size of a read that begins at x.
func (h *IndexHint) at(x int) int { return h.Sizes[x-hintFrom].Slots }

// lpHints is what LP 5.8 says of its Fig. 13: less is -1 for a size below that of reads that
// know no cluster, 1 for a larger one.
var lpHints = []struct {
	load    float64
	x, less int
	says    string
}{
	{0.65, -30, 0, "the oblivious size"}, {0.25, -30, 0, "the oblivious size"},
	{0.65, -20, -1, "fewer slots than oblivious"},
	{0.65, -4, -1, "to the end of the cluster, fewer than oblivious"},
	{0.25, -4, 1, "to the end of the cluster, more than oblivious"},
	{0.65, 10, 0, "the oblivious size"}, {0.25, 10, 0, "the oblivious size"},
}

// WriteText writes tables for people.
func (h *IndexHints) WriteText(w io.Writer) error {
	p := printer{w: w}
	p.printf("%s\nLP Fig. 13: slots of a read by LP's model that begins at x, where a cluster "+
		"is known that begins at\nx = 0 and has %d slots. Computed; LP has curves alone.\n\n",
		h.Command, hintLength)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows := printer{w: t, err: p.err}
	rows.printf("x\t")
	for _, of := range h.Hints {
		rows.printf("load %s\t", number(of.Load))
	}
	for x := hintFrom; x <= hintTo; x++ {
		rows.printf("\n%d\t", x)
		for _, of := range h.Hints {
			rows.printf("%d\t", of.at(x))
		}
	}
	rows.printf("\n\nLP says at x\tload\tslots\toblivious\tLP\t\n")
	for _, says := range lpHints {
		for _, of := range h.Hints {
			if sameLoad(of.Load, says.load) {
				rows.printf("%d\t%s\t%d\t%d\t%s\t\n", says.x, number(of.Load), of.at(says.x),
					of.Oblivious, says.says)
			}
		}
	}
	return errors.Join(rows.err, t.Flush())
}

// WriteJSON writes one object with the keys command and hints.
func (h *IndexHints) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(h) }

// WriteBenchfmt writes nothing: nothing was measured.
func (h *IndexHints) WriteBenchfmt(io.Writer) error { return nil }

// WritePlot draws the sizes. format is "svg" or "png".
func (h *IndexHints) WritePlot(w io.Writer, format string) error {
	p := chart.NewPanel("slots of a read near a cluster of 10 slots", "where the read begins",
		"slots")
	for i, of := range h.Hints {
		var line plotter.XYs
		for _, size := range of.Sizes {
			line = append(line, plotter.XY{X: float64(size.X), Y: float64(size.Slots)})
		}
		if err := chart.AddLine(p, "load "+number(of.Load), line, chart.Colour(i),
			draw.CircleGlyph{}); err != nil {
			return err
		}
	}
	p.Y.Min = 0
	p.Y.Max *= 1.2 // the names stand above
	p.Legend.Top = true
	return chart.Write(w, format, []*plot.Plot{p}, chart.PanelWidth)
}
