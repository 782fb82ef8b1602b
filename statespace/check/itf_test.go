package check

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/farhash/farhash/internal/testkit/itftest"
	"github.com/farhash/farhash/statespace/report"
)

// A program writes the traces of searches and of walks, which Next repeats.
func TestITF(t *testing.T) {
	args := os.Args
	defer func() { os.Args = args }()
	m := Model[octal]{Name: "ring", Init: []octal{{}},
		Next: func(s octal, emit func(string, octal)) {
			emit("up", octal{(s.N + 1) % 8})
			emit("stay", s)
		},
		Properties: []Property[octal]{
			Sometimes("five", func(s octal) bool { return s.N == 5 }),
			Always("below 7", func(s octal) bool { return s.N < 7 })}}
	lasso := Model[octal]{Name: "lasso", Init: []octal{{}}, Next: m.Next,
		Properties: []Property[octal]{
			Eventually("eight", func(s octal) bool { return s.N == 8 })}}
	for _, c := range []struct {
		model  program
		flags  []string
		traces int
	}{{m, []string{"--continue"}, 2}, {m, []string{"--simulate"}, 1}, {lasso, nil, 1}} {
		path := filepath.Join(t.TempDir(), "t.itf.json")
		os.Args = append([]string{"test", "-q", "-n", "2", "--itf", path}, c.flags...)
		if code := run([]program{c.model}); code != exitViolated {
			t.Fatalf("%q: exit code %d", c.flags, code)
		}
		for i := range c.traces {
			trace := itftest.Read(t, report.ITFName(path, i+1))
			if (trace.Loop >= 0) != (c.model.name() == "lasso") || trace.Vars[0] != "N" ||
				trace.Meta["of"] != json.Number(string(rune('0'+c.traces))) {
				t.Errorf("%v", trace)
			}
			states := trace.States
			if trace.Loop >= 0 { // the last state leads to this one again
				back := trace.States[trace.Loop]
				back.Action = ""
				states = append(states[:len(states):len(states)], back)
			}
			for j := 1; j < len(states); j++ {
				if !follows(m, states[j-1], states[j]) {
					t.Errorf("%v does not follow %v", states[j], states[j-1])
				}
			}
		}
	}
	os.Args = []string{"test", "--itf", filepath.Join(t.TempDir(), "none", "t.itf.json")}
	if code := run([]program{m}); code != exitFailure {
		t.Errorf("no folder: exit code %d", code)
	}
}

// follows reports whether Next emits a state with its action, which may be unknown.
func follows(m Model[octal], from, to itftest.State) (yes bool) {
	n, _ := from.Values["N"].(json.Number).Int64()
	m.Next(octal{uint8(n)}, func(action string, next octal) {
		text, _ := json.Marshal(next.N)
		yes = yes || to.Values["N"] == json.Number(text) &&
			(to.Action == "" || to.Action == action)
	})
	return yes
}
