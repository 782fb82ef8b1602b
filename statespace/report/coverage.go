package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/internal/plural"
)

// Action is how often an action was taken, as in JSON.
type Action struct {
	Name   string `json:"name"`
	Arcs   uint64 `json:"arcs"`
	States uint64 `json:"states"` // that it was the first to lead to
}

// ActionsOf has the actions of a search.
func ActionsOf[A ~struct {
	Name         string
	Arcs, States uint64
}](all []A) []Action {
	var actions []Action
	for _, a := range all {
		actions = append(actions, Action(a))
	}
	return actions
}

// Coverage is what is known of the actions.
type Coverage struct {
	Action, Arcs, States string // what the columns are called
	Partial              bool   // not all states were searched
	Lost                 bool   // with a rank: Actions may be unknown
	Actions              []Action
}

// ErrResumed is why a search that is resumed counts no actions.
var ErrResumed = errors.New("--coverage and --resume exclude each other: a checkpoint does not " +
	"have how often actions were taken before")

// RegisterCoverage adds the flag. actions and states are what they are called, one of them and
// many.
func RegisterCoverage(set *pflag.FlagSet, on *bool, action, states string) {
	set.BoolVar(on, "coverage", false, "count how often each "+action+" is taken, and the "+
		states+" that it is the first to lead to")
}

// maxLines is how many actions a text shows, and maxRows a page.
const (
	maxLines = 100
	maxRows  = 5000
)

// title is what is above the table.
func (t *Coverage) title() string {
	text := "coverage"
	if t.Partial {
		text += " of what was searched"
	}
	return text + ", seldom taken ones first"
}

// rows are the cells of up to most actions, and how many others there are.
func (t *Coverage) rows(most int) (rows [][]string, others int) {
	sorted := slices.Clone(t.Actions)
	slices.SortStableFunc(sorted, func(a, b Action) int { return cmp.Compare(a.Arcs, b.Arcs) })
	shown := min(most, len(sorted))
	for _, a := range sorted[:shown] {
		rows = append(rows, []string{a.Name, strconv.FormatUint(a.Arcs, 10),
			strconv.FormatUint(a.States, 10)})
	}
	return rows, len(sorted) - shown
}

func (t *Coverage) head() []string { return []string{t.Action, t.Arcs, "new " + t.States} }

// Write writes the table as text.
func (t *Coverage) Write(w io.Writer) {
	switch {
	case len(t.Actions) > 0:
	case t.Lost:
		fmt.Fprintln(w, "coverage: not known, as a rank was lost")
		return
	default:
		fmt.Fprintf(w, "coverage: there is no %s\n", t.Action)
		return
	}
	fmt.Fprintln(w, t.title()+":")
	rows, others := t.rows(maxLines)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{t.head()}, rows...) {
		fmt.Fprintf(tab, "%s\t%s\t  %s\n", row[1], row[2], cmp.Or(Printable(row[0]), `""`))
	}
	_ = tab.Flush()
	if others > 0 {
		fmt.Fprintf(w, "and %s, taken as often or more (--json has all)\n",
			plural.Of(others, "other"))
	}
}

// Page is the table as a page shows it.
func (t *Coverage) Page() Table {
	rows, others := t.rows(maxRows)
	title := t.title()
	if others > 0 {
		title += ", without " + plural.Of(others, "other")
	}
	return Table{Title: strings.ToUpper(title[:1]) + title[1:], Head: t.head(), Rows: rows}
}

// Printable is a name as it is, or quoted if it could change the terminal or imitate a line.
func Printable(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
