package explore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/petri"
)

// Firings are counted in text, JSON and the page. A transition that never fires is a warning, once
// all markings are known.
func TestExploreCoverage(t *testing.T) {
	n := &petri.Net{Name: "n", Places: []petri.Place{{ID: "p", Name: "p", Initial: 3},
		{ID: "q", Name: "q"}},
		Transitions: []petri.Transition{{ID: "there", Name: "there",
			In: []petri.Arc{{Place: 0, Weight: 1}}, Out: []petri.Arc{{Place: 1, Weight: 1}}},
			{ID: "both", Name: "both", In: []petri.Arc{{Place: 0, Weight: 2},
				{Place: 1, Weight: 2}}}}}
	path := try.WriteNet(t, n)
	page := filepath.Join(t.TempDir(), "page.html")
	c := try.Run(t, "explore", path, "-q", "--coverage", "--html", page)
	html, err := os.ReadFile(page)
	if c.Code() != 0 || err != nil {
		t.Fatalf("exit code %d, %s, %v", c.Code(), &c.Errors, err)
	}
	for got, want := range map[string]string{
		c.Out.String(): "\nWARNING: a transition never fires: both\n" +
			"coverage, seldom taken ones first:\n  arcs  new states  transition\n" +
			"     0           0  both\n     3           3  there\n",
		string(html): "<td>there</td><td>3</td><td>3</td>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nhas no\n%s", got, want)
		}
	}
	o := exploreJSON(t, "explore", path, "--json", "--coverage", "-n", "2")
	first := o["coverage"].([]any)[0].(map[string]any)
	if len(o["coverage"].([]any)) != 2 || first["name"] != "there" || first["arcs"] != 3.0 ||
		first["states"] != 3.0 || !slices.Equal(o["neverFire"].([]any), []any{"both"}) {
		t.Errorf("%v", o)
	}
	if o := exploreJSON(t, "explore", path, "--json"); o["coverage"] != nil {
		t.Errorf("%v", o)
	}
	c = try.Run(t, "explore", path, "-q", "--coverage", "--max-depth", "1")
	if text := c.Out.String(); strings.Contains(text, "never fires") ||
		!strings.Contains(text, "\ncoverage of what was searched, seldom") {
		t.Error(text)
	}
	for flags, says := range map[string]string{
		"--engine symbolic": "--examination QuasiLiveness says whether each transition can fire",
		"--mcc":             "--coverage and --mcc exclude each other",
		"--resume old":      "--coverage and --resume exclude each other",
	} {
		try.Fails(t, 2, says, append([]string{"explore", path, "--coverage"},
			strings.Fields(flags)...)...)
	}
}
