package view

import (
	"slices"
	"strconv"

	"github.com/farhash/farhash/eval/internal/record"
)

// View says how the records of a name are shown.
type View struct {
	Name  string // of the records
	Title string // a line above the table
	Notes string // lines below the title: what the reader has to know
	// NotesFor is what a case has to have for Notes to be printed; empty: always.
	NotesFor record.Key
	// Where and Only choose the cases; without them all are shown.
	Where []record.Key
	Only  func(*record.Case) bool
	// Across is a key whose values stand side by side, each with all columns.
	Across  string
	Hidden  []string // keys that are not printed
	Rows    []string // keys that are columns even if they have one value
	Columns []Column
	Plots   []Plot
	// Derive makes further records of what was measured, such as ratios that a paper has in
	// words; views of their names show them.
	Derive func(*record.Table) []record.Record
}

// Column is a unit of the records.
type Column struct {
	Unit   string
	Head   string // empty: the unit
	Digits int    // after the point; 0: four digits in all
	Whole  bool   // no digits after the point
	Spread bool   // with the least and the largest
	// Over divides the median by the median of the case that differs in this key alone.
	Over record.Key
	By   float64 // a factor for what is printed, 0: 1
	Here bool    // measured on this machine
}

// Reproducible are the views without what is measured on this machine.
func Reproducible(views []View) (all []View) {
	for _, v := range views {
		v.Columns = slices.DeleteFunc(slices.Clone(v.Columns),
			func(c Column) bool { return c.Here })
		v.Plots = slices.DeleteFunc(slices.Clone(v.Plots), func(p Plot) bool { return p.Here })
		if len(v.Columns) > 0 {
			all = append(all, v)
		}
	}
	return all
}

// cases are those that the view shows.
func (v *View) cases(records []record.Record) *record.Table {
	return choose(record.NewTable(v.Name, records), v.Where, v.Only)
}

func choose(t *record.Table, where []record.Key, only func(*record.Case) bool) *record.Table {
	t = t.Where(where...)
	if only != nil {
		t.Cases = slices.DeleteFunc(t.Cases, func(c *record.Case) bool { return !only(c) })
	}
	return t
}

// names are the names of the keys of a table, in order of appearance.
func names(t *record.Table) (all []string) {
	for _, c := range t.Cases {
		for _, k := range c.Keys {
			if !slices.Contains(all, k.Name) {
				all = append(all, k.Name)
			}
		}
	}
	return all
}

// cells are what a column prints of a case, "-" where there is nothing.
func (c *Column) cells(t *record.Table, is *record.Case) []string {
	none := []string{"-"}
	if c.Spread {
		none = []string{"-", "-", "-"}
	}
	if is == nil {
		return none
	}
	median, least, largest, n := is.Spread(c.Unit)
	if n == 0 {
		return none
	}
	by := 1.0
	if c.By != 0 {
		by = c.By
	}
	if c.Over.Name != "" {
		base, ok := ratioBase(t, is, c.Over, c.Unit)
		if !ok {
			return none
		}
		by /= base
	}
	if !c.Spread {
		return []string{c.text(median * by)}
	}
	return []string{c.text(median * by), c.text(least * by), c.text(largest * by)}
}

// ratioBase is the median of the case that differs in one key.
func ratioBase(t *record.Table, is *record.Case, over record.Key, unit string) (float64, bool) {
	other := t.Like(is, over)
	if other == nil {
		return 0, false
	}
	base, ok := other.Median(unit)
	return base, ok && base != 0
}

func (c *Column) text(v float64) string {
	switch {
	case c.Whole:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case c.Digits > 0:
		return strconv.FormatFloat(v, 'f', c.Digits, 64)
	}
	return four(v)
}

// four prints four digits without an exponent.
func four(v float64) string {
	digits := 3
	for bound := 10.0; digits > 0 && (v >= bound || v <= -bound); bound *= 10 {
		digits--
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func (c *Column) heads() []string {
	head := c.Head
	if head == "" {
		head = c.Unit
		if c.Over.Name != "" {
			head = "/ " + c.Over.Value
		}
	}
	if c.Spread {
		return []string{head, "min", "max"}
	}
	return []string{head}
}
