package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/farhash/farhash/eval/internal/record"
)

// Text writes the views as tables for people.
func Text(w io.Writer, config record.Config, records []record.Record, views []View) error {
	var out strings.Builder
	head(&out, config)
	if reason := config.Get(record.Incomplete); reason != "" {
		fmt.Fprintf(&out, "INCOMPLETE: %s\n", reason)
	}
	records = derive(records, views)
	for i := range views {
		v := &views[i]
		if t := v.cases(records); len(t.Cases) > 0 {
			if err := v.text(&out, t); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// head says where records were measured, as far as the configuration says it.
func head(out *strings.Builder, config record.Config) {
	parts := []string{config.Get("cpu"), config.Get("cores") + " cores",
		config.Get("go") + " " + config.Get("goos") + "/" + config.Get("goarch")}
	parts = slices.DeleteFunc(parts, func(part string) bool {
		return part == "" || part == " cores" || part == " /"
	})
	if len(parts) > 0 {
		fmt.Fprintln(out, strings.ReplaceAll(strings.Join(parts, ", "), ",  ", ", "))
	}
	if command := config.Get("command"); command != "" {
		fmt.Fprintln(out, command)
	}
}

// derive adds what views make of what was measured.
func derive(records []record.Record, views []View) []record.Record {
	for i := range views {
		if v := &views[i]; v.Derive != nil {
			records = append(slices.Clip(records), v.Derive(record.NewTable(v.Name, records))...)
		}
	}
	return records
}

func (v *View) text(out *strings.Builder, t *record.Table) error {
	fmt.Fprintf(out, "\n%s\n", v.Title)
	if v.Notes != "" && (v.NotesFor.Name == "" || t.Find(v.NotesFor) != nil) {
		fmt.Fprintln(out, v.Notes)
	}
	g := grid{view: v, table: t, across: []string{""}}
	var constant []string
	for _, name := range names(t) {
		switch values := t.Values(name); {
		case name == v.Across:
			g.across = values
		case slices.Contains(v.Hidden, name):
		case len(values) > 1 || slices.Contains(v.Rows, name):
			g.rows = append(g.rows, name)
		default:
			constant = append(constant, name+"="+words(values[0]))
		}
	}
	if len(constant) > 0 {
		fmt.Fprintln(out, strings.Join(constant, " "))
	}
	fmt.Fprintln(out)
	return g.write(out)
}

// grid is a table as it is printed.
type grid struct {
	view   *View
	table  *record.Table
	rows   []string // keys that make a row
	across []string // values of View.Across
}

func (g *grid) write(out *strings.Builder) error {
	columns := g.columns()
	lines := [][]string{slices.Clone(g.rows)}
	for _, column := range columns {
		heads := column.heads()
		if g.view.Across != "" && column.first {
			heads[0] = strings.TrimSpace(g.acrossName(column.across) + " " + column.Head)
		}
		lines[0] = append(lines[0], heads...)
	}
	for _, row := range g.distinct() {
		line := make([]string, len(g.rows))
		for i, k := range row {
			line[i] = words(k.Value)
		}
		for _, column := range columns {
			keys := row
			if g.view.Across != "" {
				keys = append(slices.Clip(row), record.Key{Name: g.view.Across,
					Value: column.across})
			}
			line = append(line, column.cells(g.table, g.table.Find(keys...))...)
		}
		lines = append(lines, line)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, line := range lines {
		fmt.Fprintln(w, strings.Join(line, "\t")+"\t")
	}
	return w.Flush()
}

// acrossName is the head of columns for a value. Where a value is a number, the key is needed.
func (g *grid) acrossName(value string) string {
	if slices.ContainsFunc(g.across, func(v string) bool { return numbers([]string{v}) }) {
		return g.view.Across + "=" + value
	}
	return words(value)
}

// words is a value of a key as it was before record.K.
func words(value string) string { return strings.ReplaceAll(value, "_", " ") }

// gridColumn is a column for a value of View.Across.
type gridColumn struct {
	*Column
	across string
	first  bool // of this value
}

// columns are those that have a value in a row.
func (g *grid) columns() (all []gridColumn) {
	for _, value := range g.across {
		some := g.table
		if g.view.Across != "" {
			some = g.table.Where(record.Key{Name: g.view.Across, Value: value})
		}
		first := true
		for i := range g.view.Columns {
			c := &g.view.Columns[i]
			if slices.ContainsFunc(some.Cases, func(is *record.Case) bool {
				return c.cells(g.table, is)[0] != "-"
			}) {
				all = append(all, gridColumn{c, value, first})
				first = false
			}
		}
	}
	return all
}

// distinct are the rows, each by its keys.
func (g *grid) distinct() (rows [][]record.Key) {
	for _, c := range g.table.Cases {
		row := make([]record.Key, len(g.rows))
		for i, name := range g.rows {
			row[i] = record.Key{Name: name, Value: c.Get(name)}
		}
		if !slices.ContainsFunc(rows, func(other []record.Key) bool {
			return slices.Equal(row, other)
		}) {
			rows = append(rows, row)
		}
	}
	return rows
}

// jsonCase is a case as JSON has it.
type jsonCase struct {
	Name   string                `json:"name"`
	Keys   map[string]string     `json:"keys"`
	Values map[string]jsonSpread `json:"values"`
}

type jsonSpread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Runs   int     `json:"runs"`
}

// JSON writes all cases, also those that no view shows, as one object with the keys config
// and cases.
func JSON(w io.Writer, config record.Config, records []record.Record, views []View) error {
	out := struct {
		Config map[string]string `json:"config"`
		Cases  []jsonCase        `json:"cases"`
	}{map[string]string{}, []jsonCase{}}
	for _, k := range config {
		out.Config[k.Name] = k.Value
	}
	records = derive(records, views)
	var names []string
	for i := range records {
		if !slices.Contains(names, records[i].Name) {
			names = append(names, records[i].Name)
		}
	}
	for _, name := range names {
		for _, c := range record.NewTable(name, records).Cases {
			is := jsonCase{name, map[string]string{}, map[string]jsonSpread{}}
			for _, k := range c.Keys {
				is.Keys[k.Name] = k.Value
			}
			for _, unit := range c.Units() {
				median, least, largest, n := c.Spread(unit)
				is.Values[unit] = jsonSpread{median, least, largest, n}
			}
			out.Cases = append(out.Cases, is)
		}
	}
	return json.NewEncoder(w).Encode(out)
}
