package page

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// table is a table that a command has printed.
type table struct {
	title string
	heads []string
	rows  [][]string
}

// Figures are the tables in a folder of what commands have printed.
type Figures struct {
	dir   string
	files map[string][]*table
	errs  []error // of what was asked for and is not there
	made  map[string]made
}

// made is a table of the page or a phrase, and what was wrong with it.
type made struct {
	text string
	errs []error
}

// Open has the files of a folder.
func Open(dir string) *Figures {
	return &Figures{dir: dir, files: map[string][]*table{}, made: map[string]made{}}
}

// once makes a text the first time that it is asked for.
func (f *Figures) once(name string, of func() string) string {
	is, ok := f.made[name]
	if !ok {
		before := f.errs
		f.errs = nil
		is.text = of()
		is.errs, f.errs = f.errs, before
		f.made[name] = is
	}
	f.errs = append(f.errs, is.errs...)
	return is.text
}

// missing is in place of a figure that is not there.
const missing = "?"

// fail remembers what is wrong.
func (f *Figures) fail(format string, args ...any) string {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
	return missing
}

// cellSpaces separate the cells of a printed table, which is indented.
var cellSpaces = regexp.MustCompile(` {2,}`)

// parse finds the tables in an output. The title of one is the first line of the text above it.
func parse(text string) (all []*table) {
	title, fresh := "", true
	var t *table
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "  "):
			cells := cellSpaces.Split(strings.TrimSpace(line), -1)
			if t == nil {
				t = &table{title: title, heads: cells}
				all = append(all, t)
			} else {
				t.rows = append(t.rows, cells)
			}
			continue
		case line == "":
			fresh = fresh || t != nil
		case fresh:
			title, fresh = line, false
		}
		t = nil
	}
	return all
}

// table is the one of a file whose title contains a text.
func (f *Figures) table(file, title string) *table {
	tables, ok := f.files[file]
	if !ok {
		text, err := os.ReadFile(filepath.Join(f.dir, file+".txt"))
		if err != nil {
			f.errs = append(f.errs, err)
		}
		_, output, _ := strings.Cut(string(text), "\n") // the first line is the command
		tables = parse(output)
		f.files[file] = tables
	}
	var found []*table
	for _, t := range tables {
		if strings.Contains(t.title, title) {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		f.fail("%d tables of %s have %q in their title, not one", len(found), file, title)
		return &table{}
	}
	return found[0]
}

// column is the number of a column, -1 if there is none. "LP@C=8" is the first LP from C=8 on.
func (t *table) column(name string) int {
	name, after, ok := strings.Cut(name, "@")
	first := 0
	if ok {
		if first = slices.Index(t.heads, after); first < 0 {
			return -1
		}
	}
	if at := slices.Index(t.heads[first:], name); at >= 0 {
		return first + at
	}
	return -1
}

// where are the rows that have the values, as in "load=0.5; keys=distinct".
func (t *table) where(values string) (rows [][]string) {
	for _, row := range t.rows {
		is := len(row) == len(t.heads)
		for value := range strings.SplitSeq(values, "; ") {
			if name, want, ok := strings.Cut(value, "="); ok && is {
				at := t.column(name)
				is = at >= 0 && row[at] == want
			}
		}
		if is {
			rows = append(rows, row)
		}
	}
	return rows
}

// cells are the cells that a reference names: "file | title | rows | column".
func (f *Figures) cells(ref string) (all []string) {
	part := strings.Split(ref, " | ")
	if len(part) != 4 {
		f.fail("%q is no reference", ref)
		return nil
	}
	t := f.table(part[0], part[1])
	at := t.column(part[3])
	for _, row := range t.where(part[2]) {
		if at >= 0 && row[at] != "-" {
			all = append(all, row[at])
		}
	}
	if len(all) == 0 {
		f.fail("nothing is printed for %q", ref)
	}
	return all
}

// cell is the one cell that a reference names.
func (f *Figures) cell(ref string) string {
	all := f.cells(ref)
	if len(all) > 1 {
		return f.fail("%d cells are printed for %q, not one", len(all), ref)
	}
	return append(all, missing)[0]
}

// optional is the one cell that a reference names, empty where nothing is printed.
func (f *Figures) optional(ref string) string {
	before := f.errs
	all := f.cells(ref)
	if f.errs = before; len(all) != 1 {
		return ""
	}
	return all[0]
}

// number is the one cell that a reference names.
func (f *Figures) number(ref string) float64 { return f.parse(f.cell(ref)) }

func (f *Figures) parse(cell string) float64 {
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil && cell != missing {
		f.fail("%q is no number", cell)
	}
	return v
}

// numbers are the cells that a reference names.
func (f *Figures) numbers(ref string) (all []float64) {
	for _, cell := range f.cells(ref) {
		all = append(all, f.parse(cell))
	}
	return all
}

// thousands puts a comma into a number of four to six digits.
func thousands(n string) string {
	whole, fraction, _ := strings.Cut(n, ".")
	if len(whole) < 4 || fraction != "" {
		return n
	}
	return whole[:len(whole)-3] + "," + whole[len(whole)-3:]
}
