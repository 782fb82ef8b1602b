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

	"github.com/farhash/farhash/internal/testkit/replay"

	"github.com/farhash/farhash/eval/internal/page"
)

var (
	papers  = filepath.Join("docs", "papers.md")
	figures = filepath.Join("docs", "figures")
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPapers: the tables of docs/papers.md and nessie.md are what the commands have printed, and so
// are the figures of their prose. CI compares docs/figures with what the commands print now.
func TestPapers(t *testing.T) {
	for _, path := range []string{papers, filepath.Join("docs", "nessie.md")} {
		for _, err := range page.Check(filepath.Base(path), read(t, path), page.Open(figures)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

var (
	generated = regexp.MustCompile(`(?s)<!-- begin: .*?<!-- end: `)
	cell      = regexp.MustCompile(`[^|\n]+`)
	// notProse is what the prose of the page leaves out, and the part on MD.
	notProse = regexp.MustCompile("(?s)<!-- begin: .*?<!-- end: |\n## MD: .*?\n## |`[^`]*`|" +
		"\\]\\([^)]*\\)|(?m:^\\|[^\n]*)|(OP|LP|NE) \\d\\.\\d")
	// proseFigure is what a change of the prose must not alter unnoticed.
	proseFigure = regexp.MustCompile(`\d+(,\d{3})*\.\d+|\d+(,\d{3})+|` +
		`\d+( %| times| million| ns| µs| of 25 cells)`)
	// minChanges is about how many changes there are to try.
	minChanges = 400
)

// TestPapersNotices: TestPapers fails if two cells of a table are swapped, and if a figure of the
// prose is changed or added.
func TestPapersNotices(t *testing.T) {
	text, from := read(t, papers), page.Open(figures)
	if len(page.Check("papers.md", text, from)) > 0 {
		t.Skip("TestPapers fails")
	}
	changes := 0
	try := func(start, end int, with string) {
		if changes++; changes%3 > 0 && !replay.Nightly() {
			return
		}
		if len(page.Check("papers.md", text[:start]+with+text[end:], from)) == 0 {
			t.Errorf("%q in place of %q is not noticed, after %q", with, text[start:end],
				text[max(0, start-60):start])
		}
	}
	for _, table := range generated.FindAllStringIndex(text, -1) {
		try(table[0], table[1], "")
		var last []int // the cell before
		for _, at := range cell.FindAllStringIndex(text[table[0]:table[1]], -1) {
			at[0], at[1] = at[0]+table[0], at[1]+table[0]
			if last != nil && text[last[0]:last[1]] != text[at[0]:at[1]] {
				try(last[0], at[1], text[at[0]:at[1]]+text[last[1]:at[0]]+text[last[0]:last[1]])
			}
			last = at
		}
	}
	// What is not prose becomes spaces, so that offsets stay.
	prose := notProse.ReplaceAllStringFunc(text, func(s string) string {
		return strings.Repeat(" ", len(s))
	})
	for _, at := range proseFigure.FindAllStringIndex(prose, -1) {
		is := text[at[0]:at[1]]
		try(at[0], at[1], "1"+is)
		if strings.Contains(is, ".") {
			try(at[0], at[1], strings.Replace(is, ".", "", 1))
		}
	}
	end := strings.Index(text, "\n## MD: ")
	for _, added := range []string{"1.5", "18 times", "3 million", "1,234", "9 %", "7 ns"} {
		try(end, end, "\nIt is "+added+" here.\n")
	}
	t.Logf("%d changes", changes)
	if changes < minChanges {
		t.Error("these are too few")
	}
}

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

// TestMarked: in the paragraphs of docs/papers.md that such a comment begins, the figures are among
// those that the commands have printed. Only the part on MD has some.
func TestMarked(t *testing.T) {
	checked, line := 0, 0
	var from []float64
	inside := false
	for text := range strings.Lines(read(t, papers)) {
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

// minChecked is about how many figures are in such paragraphs.
const minChecked = 40

// numbersOf are the numbers in files of docs/figures, and others.
func numbersOf(t *testing.T, files []string, besides string) (all []float64) {
	for _, file := range files {
		besides += " " + read(t, filepath.Join(figures, file))
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
