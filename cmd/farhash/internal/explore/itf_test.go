package explore

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/internal/testkit/itftest"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/report"
)

// The traces of both engines are written, a file each, and the net repeats them step by step.
func TestExploreITF(t *testing.T) {
	path := family(t, "philosophers", "4")
	net, err := petri.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--walk", "0"}, {"--order", "any", "--walk", "0"},
		{"--engine", "symbolic"}, {"--engine", "symbolic", "-n", "2"}} {
		file := filepath.Join(t.TempDir(), "t.itf.json")
		c := try.Run(t, append([]string{"explore", path, "-q", "--trace", "witness", "--itf", file,
			"--sometimes", "deadlock", "--always", "tokens(Eat_1) = 0"}, flags...)...)
		if c.Code() != 0 {
			t.Fatalf("%q: exit code %d, %s", flags, c.Code(), &c.Errors)
		}
		for i, property := range []string{"always tokens(Eat_1) = 0", "sometimes deadlock"} {
			trace := itftest.Read(t, report.ITFName(file, i+1))
			if trace.Meta["property"] != property || trace.Loop != -1 {
				t.Errorf("%q: %v", flags, trace.Meta)
			}
			end := trace.States[len(trace.States)-1].Values
			if zero := json.Number("0"); end["Eat_1"] == zero != (i == 1) ||
				i == 1 && (end["Think_1"] != zero || end["Fork_1"] != zero) {
				t.Errorf("%q: %s ends in %v", flags, property, end)
			}
			if flags[1] == "any" {
				if len(trace.States) != 1 {
					t.Errorf("%v", trace)
				}
				continue
			}
			repeats(t, net, trace)
		}
	}
	file := filepath.Join(t.TempDir(), "none.itf.json")
	c := try.Run(t, "explore", path, "-q", "--trace", "witness", "--itf", file, "--sometimes",
		"tokens(Eat_1) > 1")
	if trace := itftest.Read(t, file); c.Code() != 0 || len(trace.States) > 0 {
		t.Errorf("exit code %d, %v", c.Code(), trace)
	}
	try.Fails(t, 2, "--itf writes traces; it needs --trace", "explore", path, "--itf", file)
	fresh := filepath.Join(t.TempDir(), "fresh")
	try.Fails(t, 1, "another flag names "+fresh+" as well", "explore", path, "--trace", "deadlock",
		"--itf", fresh, "--html", fresh)
	try.Fails(t, 1, "--itf: "+path+" would replace "+path, "explore", path, "--trace", "deadlock",
		"--itf", path)
}

// repeats fires a trace on a net.
func repeats(t *testing.T, net *petri.Net, trace itftest.Trace) {
	t.Helper()
	marking := net.Initial()
	for i, state := range trace.States {
		if i > 0 {
			fired := false
			for j := range net.Transitions {
				if tr := &net.Transitions[j]; tr.ID == state.Action && tr.Enabled(marking) {
					tr.Fire(marking)
					fired = true
				}
			}
			if !fired {
				t.Fatalf("%s cannot fire at %v", state.Action, marking)
			}
		}
		for place, n := range marking {
			if got, _ := state.Values[trace.Vars[place]].(json.Number).Int64(); got != n ||
				trace.Vars[place] != net.Places[place].ID {
				t.Fatalf("state %d: place %s has %d, not %d", i, trace.Vars[place], got, n)
			}
		}
	}
}
