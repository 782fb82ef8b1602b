package eval

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// figuresOf begins the paragraphs of docs/papers.md whose figures are the same on every machine.
// It names the files in docs/figures that have them, which make figures writes, and the figures
// that have another source:
//
//	<!-- figures: op-table1.txt ne-table1.txt besides: 2.9 1.6 -->
var figuresOf = regexp.MustCompile(`^<!-- figures: ([^:]*?)( besides: (.*))? -->$`)

// figure is a number with a fraction or with thousands, or in percent.
var (
	figure = regexp.MustCompile(`\d[\d,]*\.\d+( %)?|\d{1,3}(,\d{3})+( %)?|\d+ %`)
	number = regexp.MustCompile(`\d+(\.\d+)?`)
	span   = regexp.MustCompile("`[^`]*`|\\([^)]*\\.(svg|md|go)\\)")
)

// TestPapers: what docs/papers.md says of figures that are the same on every machine is what the
// commands print. CI compares the files with what they print now.
func TestPapers(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked, line := 0, 0
	var from []float64
	inside := false
	for text := range strings.Lines(string(page)) {
		line++
		text = strings.TrimSpace(text)
		if d := figuresOf.FindStringSubmatch(text); d != nil {
			from, inside = numbersOf(t, strings.Fields(d[1]), d[3]), true
			continue
		}
		if text == "" {
			inside = false
		}
		if !inside {
			continue
		}
		for _, f := range figure.FindAllString(span.ReplaceAllString(text, ""), -1) {
			if checked++; !printed(f, from) {
				t.Errorf("docs/papers.md:%d: no command prints %s", line, f)
			}
		}
	}
	if checked < minChecked {
		t.Errorf("only %d figures are checked", checked)
	}
}

// minChecked is about how many figures the page has.
const minChecked = 200

// numbersOf are the numbers in files of docs/figures, and others.
func numbersOf(t *testing.T, files []string, besides string) (all []float64) {
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("docs", "figures", file))
		if err != nil {
			t.Fatal(err)
		}
		besides += " " + string(text)
	}
	for _, n := range number.FindAllString(strings.ReplaceAll(besides, ",", ""), -1) {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// printed reports whether a figure is one of the numbers, rounded to its digits; of one in percent
// the number may be the fraction.
func printed(figure string, numbers []float64) bool {
	text, percent := strings.CutSuffix(strings.ReplaceAll(figure, ",", ""), " %")
	digits := 0
	if _, fraction, ok := strings.Cut(text, "."); ok {
		digits = len(fraction)
	}
	value, err := strconv.ParseFloat(text, 64)
	ulp := math.Pow10(-digits)
	is := func(n float64) bool { return math.Abs(n-value) <= 0.5001*ulp }
	return err == nil && slices.ContainsFunc(numbers, func(n float64) bool {
		return is(n) || percent && is(100*n)
	})
}
