package explore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/petri"
)

// mailbox is a net whose letters nobody counts.
func mailbox(t *testing.T) string {
	place := func(id string, tokens int64) petri.Place {
		return petri.Place{ID: id, Name: id, Initial: tokens}
	}
	return try.WriteNet(t, &petri.Net{Name: "mailbox",
		Places: []petri.Place{place("free", 1), place("letters", 0)},
		Transitions: []petri.Transition{
			{ID: "post", Name: "post", In: arcTo(0, 1),
				Out: []petri.Arc{{Place: 0, Weight: 1}, {Place: 1, Weight: 1}}},
			{ID: "read", Name: "read", In: arcTo(1, 1)}}})
}

// An unbounded net is said to be so, by all engines, forms and ranks, with an exit code of its own.
func TestUnbounded(t *testing.T) {
	net := mailbox(t)
	for _, engine := range engines {
		args := []string{"explore", net, "--engine", engine, "-q"}
		try.Here(t, args...).Has(t, cli.ExitUnbounded,
			"UNBOUNDED: place letters grows by firing post again and again")
		try.Here(t, append(args, "--mcc")...).Has(t, cli.ExitUnbounded,
			"STATE_SPACE STATES +inf TECHNIQUES", "STATE_SPACE MAX_TOKEN_IN_PLACE +inf ")
		c := try.Run(t, append(args, "--json")...)
		o := try.Object(t, c)
		want := "map[after:[] cycle:[post] place:letters]"
		if c.Code() != cli.ExitUnbounded || o["complete"] != false || o["states"] != nil ||
			o["reason"] != unboundedReason || fmt.Sprint(o["unbounded"]) != want {
			t.Errorf("%s: exit code %d, %v", engine, c.Code(), o)
		}
		c = try.Run(t, try.Launched(t, "2", args...)...)
		if text := c.Out.String(); c.Code() != cli.ExitUnbounded ||
			strings.Count(text, "UNBOUNDED") != 1 {
			t.Errorf("%s, two processes: exit code %d, %s", engine, c.Code(), text)
		}
	}
}

// Questions and limits are what an unbounded net can be searched for.
func TestUnboundedIsSearched(t *testing.T) {
	net := mailbox(t)
	try.Here(t, "explore", net, "-q", "--sometimes", "tokens(letters) >= 3").Has(t, 0, "true",
		"!UNBOUNDED")
	try.Here(t, "explore", net, "-q", "--max-depth", "3").Has(t, cli.ExitIncomplete,
		"depth                    3", "the net is unbounded: place letters grows by firing post")
}

// A sum that grows has no largest value. Up to a limit it is searched for.
func TestUnboundedSum(t *testing.T) {
	net := mailbox(t)
	for _, engine := range engines {
		args := []string{"explore", net, "--engine", engine, "-q"}
		grows := append(args, "--bound", "2*tokens(letters) + tokens(free)")
		try.Here(t, grows...).Has(t, cli.ExitUnbounded, "+inf  by a random walk", "UNBOUNDED")
		try.Here(t, append(grows, "--mcc")...).Has(t, cli.ExitUnbounded, " +inf TECHNIQUES")
		c := try.Run(t, append(grows, "--json")...)
		p := try.Object(t, c)["properties"].([]any)
		if got := p[0].(map[string]any)["answer"]; len(p) != 1 || got != "+inf" {
			t.Errorf("%s: %v", engine, p)
		}
	}
	args := []string{"explore", net, "-q", "--engine", "explicit", "--max-states", "50", "--bound"}
	try.Here(t, append(args, "tokens(letters)")...).Has(t, cli.ExitIncomplete, "at least ")
}

// Long sequences are cut in text.
func TestGrowthText(t *testing.T) {
	g := growth{Place: "p", After: strings.Fields(strings.Repeat("a ", 13)), Cycle: []string{"c"}}
	if text := g.String(); text != "place p grows by firing c again and again, after a, a, a, a, "+
		"a, a, a, a, a, a, a, a, ... (13 firings; --json has all)" {
		t.Error(text)
	}
	g.After = g.After[:12]
	if text := g.String(); strings.Contains(text, "...") {
		t.Error(text)
	}
}
