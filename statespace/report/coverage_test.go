package report

import (
	"fmt"
	"strings"
	"testing"
)

// The least taken actions come first, names are quoted where they must be, and many are cut off.
func TestCoverage(t *testing.T) {
	table := Coverage{Action: "transition", Arcs: "arcs", States: "markings", Partial: true,
		Actions: []Action{{"often", 700, 3}, {"", 9, 9}, {"a\nb", 9, 0}, {"never", 0, 0}}}
	var text strings.Builder
	table.Write(&text)
	if want := "coverage of what was searched, seldom taken ones first:\n" +
		"  arcs  new markings  transition\n" +
		"     0             0  never\n" +
		"     9             9  \"\"\n" +
		"     9             0  \"a\\nb\"\n" +
		"   700             3  often\n"; text.String() != want {
		t.Errorf("%s\nwant\n%s", text.String(), want)
	}
	page := table.Page()
	if got := fmt.Sprintf("%q", page); got != `{"Coverage of what was searched, seldom taken ones `+
		`first" ["transition" "arcs" "new markings"] [["never" "0" "0"] ["" "9" "9"] `+
		`["a\nb" "9" "0"] ["often" "700" "3"]]}` {
		t.Error(got)
	}
	if table.Actions[0].Name != "often" {
		t.Error("the actions themselves were sorted")
	}
	for n, others := range map[int]string{maxLines: "", maxLines + 1: "and 1 other,",
		maxRows + 3: fmt.Sprintf("and %d others,", maxRows+3-maxLines)} {
		table.Actions = make([]Action, n)
		text.Reset()
		table.Write(&text)
		if lines := strings.Count(text.String(), "\n"); lines > maxLines+3 ||
			!strings.Contains(text.String(), others) || others == "" && lines != maxLines+2 {
			t.Errorf("%d actions: %s", n, text.String())
		}
	}
	if page := table.Page(); len(page.Rows) != min(len(table.Actions), maxRows) {
		t.Errorf("%d rows", len(page.Rows))
	}
	table.Actions = nil
	text.Reset()
	if table.Write(&text); text.String() != "coverage: there is no transition\n" {
		t.Error(text.String())
	}
	table.Lost = true
	text.Reset()
	if table.Write(&text); text.String() != "coverage: not known, as a rank was lost\n" {
		t.Error(text.String())
	}
}

// ActionsOf takes actions of a search.
func TestActionsOf(t *testing.T) {
	type action struct {
		Name         string
		Arcs, States uint64
	}
	if got := ActionsOf([]action{{"a", 2, 1}}); len(got) != 1 || got[0] != (Action{"a", 2, 1}) ||
		ActionsOf[action](nil) != nil {
		t.Error(got)
	}
}

// TestPrintable: a name that a terminal would not print as it is is quoted.
func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{"a b": "a b", "é": "é", "": "",
		"a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`} {
		if got := Printable(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
