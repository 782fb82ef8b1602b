package eval

import (
	"os"
	"path/filepath"
	"regexp"
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
	// notProse is what the prose of the page leaves out.
	notProse = regexp.MustCompile("(?s)<!-- begin: .*?<!-- end: |`[^`]*`|" +
		"\\]\\([^)]*\\)|(?m:^\\|[^\n]*)|(OP|LP|MD|NE) \\d\\.\\d")
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
