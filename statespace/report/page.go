package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/farhash/farhash/internal/system/replace"
)

// Page is what a page has.
type Page struct {
	Title   string
	Notes   []string // that qualify the result, such as that it is incomplete
	Facts   []Fact
	Answers []Answer
	Tables  []Table // more, after the charts
	Samples Samples
	Traces  []Trace
}

// Fact is a line of the first table.
type Fact struct{ Name, Value string }

// Table is a table with a head.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// Answer is the answer to a question.
type Answer struct{ Question, Answer, Note string }

// Trace is a path to a state that shows something.
type Trace struct {
	Goal  string
	Steps []Step // the first is the initial state
	End   string // what follows the last step, in a sentence
}

// Step is a state of a trace.
type Step struct {
	Action  string // that has led to it
	Changes []Change
	State   string // in full
}

// Change is what differs from the state before.
type Change struct{ Name, From, To string }

// maxSteps is how many steps of a trace a page shows.
const maxSteps = 5000

//go:embed page.html
var source string

var form = template.Must(template.New("page").Funcs(template.FuncMap{
	"last":  func(i, n int) bool { return i == n-1 },
	"lower": strings.ToLower,
}).Parse(source))

// pageBegin is what a page begins with.
const pageBegin = "<!doctype html>\n<!-- farhash -->\n"

// pageFormat makes sure that no other file is replaced.
var pageFormat = replace.Format{Name: "page of farhash", Known: func(head []byte) bool {
	return strings.HasPrefix(string(head), pageBegin)
}}

// PageWritable says why a page cannot be written to a path, before a search that takes long. inputs
// are files that are read.
func PageWritable(path string, inputs ...string) error {
	return replace.Writable(path, pageFormat, inputs...)
}

// Write writes the page to a file, which is replaced if it is a page as well.
func (p *Page) Write(path string) error { return replace.File(path, pageFormat, p.Render) }

// Render writes the page.
func (p *Page) Render(w io.Writer) error {
	shown := *p
	shown.Traces = nil
	for _, t := range p.Traces {
		if n := len(t.Steps); n > maxSteps {
			t.Steps = t.Steps[:maxSteps]
			t.End = fmt.Sprintf("%d more steps are not shown here", n-maxSteps)
		}
		shown.Traces = append(shown.Traces, t)
	}
	if _, err := io.WriteString(w, pageBegin); err != nil {
		return err
	}
	return form.Execute(w, struct {
		*Page
		Charts []chart
	}{&shown, p.Samples.charts()})
}
