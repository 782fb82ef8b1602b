package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/check"
	"github.com/farhash/farhash/statespace/explore"
)

// pouring is the puzzle of the jugs. Names of actions are constants, built, and parts of others.
func pouring(actions ...string) check.Model[jugs] {
	const all = "fill small jug"
	return check.Model[jugs]{Name: "jugs", Init: []jugs{{}}, Actions: actions,
		Next: func(s jugs, emit func(string, jugs)) {
			emit(all[:len("fill small")], jugs{3, s.Big})
			emit("fill "+[]string{"large", "small"}[s.Small/4], jugs{s.Small, 5})
			emit("empty(small)", jugs{0, s.Big})
			emit(fmt.Sprint("empty(", "large)"), jugs{s.Small, 0})
			n := min(s.Small, 5-s.Big)
			emit("pour", jugs{s.Small - n, s.Big + n})
			n = min(3-s.Small, s.Big)
			emit("pour back", jugs{s.Small + n, s.Big - n})
			if s.Small == 4 {
				emit("break", s)
			}
		}}
}

// mustCover compares what a check counts with a plain search. exact says that new states are of the
// same actions in any order.
func mustCover[S comparable](t *testing.T, ranks int, m check.Model[S], opts check.Options,
	name func(string) string, exact bool) *check.Result[S] {
	t.Helper()
	opts.Mem, opts.Coverage = 64<<20, true
	last := opts.MaxDepth
	if last == 0 {
		last = 1 << 20
	}
	want, states := naive.Actions(m.Init, func(s S, emit func(string, S)) {
		m.Next(s, func(action string, to S) { emit(name(action), to) })
	}, last)
	r, err := runOn(ranks, m, opts)
	if err != nil {
		t.Fatal(err)
	}
	found := uint64(0)
	for _, a := range r.Coverage {
		w := want[a.Name]
		found += a.States
		if a.Arcs != w.Arcs || exact && a.States != w.States || a.States > a.Arcs {
			t.Errorf("%d ranks: %+v, want %+v", ranks, a, w)
		}
		delete(want, a.Name)
	}
	if len(want) > 0 || found != states-uint64(len(m.Init)) {
		t.Errorf("%d ranks: no %v; %d states of %d", ranks, want, found, states)
	}
	return r
}

// whole is the name of an action as it is, and listed without its parameters.
func whole(name string) string { return name }

func listed(name string) string {
	return name[:strings.IndexAny(name+" ", " (")]
}

// Transitions and new states are counted by name, or by Model.Actions.
func TestCoverage(t *testing.T) {
	numbers := check.Model[uint32]{Name: "numbers", Init: []uint32{1}, Deadlocks: true,
		Next: func(s uint32, emit func(string, uint32)) {
			for digit := range uint32(2) {
				if n := 2*s + digit; n < 5000 {
					emit(fmt.Sprintf("digit %d of %d", n%3, n%7), n)
				}
			}
		}}
	for _, ranks := range []int{1, 2, 4} {
		r := mustCover(t, ranks, pouring(), check.Options{}, whole, false)
		var names []string
		for _, a := range r.Coverage {
			names = append(names, a.Name)
		}
		if want := []string{"empty(large)", "empty(small)", "fill large", "fill small", "pour",
			"pour back"}; !slices.Equal(names, want) || len(r.Untaken) > 0 {
			t.Errorf("%q, untaken %q", names, r.Untaken)
		}
		r = mustCover(t, ranks, pouring("pour", "fill", "break", "empty"), check.Options{}, listed,
			false)
		if len(r.Coverage) != 4 || r.Coverage[2] != (explore.Action{Name: "break"}) ||
			!slices.Equal(r.Untaken, []string{"break"}) ||
			strings.Contains(r.Report(), "what was") {
			t.Errorf("%+v, untaken %q, %s", r.Coverage, r.Untaken, r.Report())
		}
		mustCover(t, ranks, numbers, check.Options{}, whole, true)
		mustCover(t, ranks, numbers, check.Options{Order: explore.AnyOrder}, whole, true)
		numbers.Actions = []string{"digit"}
		mustCover(t, ranks, numbers, check.Options{}, listed, true)
		numbers.Actions = nil
		part := mustCover(t, ranks, numbers, check.Options{MaxDepth: 5}, whole, true)
		if !strings.Contains(part.Report(), "\ncoverage of what was searched, seldom") {
			t.Error(part.Report())
		}
	}
}

// TestUntakenActions: an action that no state takes is a warning after a complete search, also
// where nothing is counted, and the longest name that fits is the action.
func TestUntakenActions(t *testing.T) {
	for _, c := range []struct {
		actions, untaken []string
	}{
		{[]string{"fill", "empty", "pour"}, nil},
		{[]string{"fill", "empty", "pour", "pour back", "drink"}, []string{"drink"}},
		{[]string{"pour", "fill", "fill small", "fill large", "empty"}, []string{"fill"}},
	} {
		r, err := runOn(2, pouring(c.actions...), check.Options{Mem: 64 << 20})
		if err != nil || !slices.Equal(r.Untaken, c.untaken) || r.Coverage != nil {
			t.Fatalf("%v: %v, untaken %q", c.actions, err, r.Untaken)
		}
		for _, name := range c.untaken {
			if want := "\nWARNING: no state takes the action \"" + name +
				"\", which is in Model.Actions\n"; !strings.Contains(r.Report(), want) {
				t.Error(r.Report())
			}
		}
		if strings.Contains(r.Report(), "coverage") {
			t.Error(r.Report())
		}
	}
	m := pouring("fill", "empty", "pour", "drink")
	m.Properties = []check.Property[jugs]{check.Always("empty", func(s jugs) bool {
		return s.Big == 0
	})}
	r, err := runOn(2, m, check.Options{Mem: 64 << 20, Coverage: true})
	if err != nil || len(r.Untaken) > 0 || len(r.Coverage) != 4 || r.Coverage[3].Arcs != 0 ||
		!strings.Contains(r.Report(), "\ncoverage of what was searched") {
		t.Errorf("%v, untaken %q, %+v", err, r.Untaken, r.Coverage)
	}
}

// Fair actions and listed ones are noted each for itself. Both may be several with parameters.
func TestFairAndListed(t *testing.T) {
	m := pouring("drink", "pour", "fill", "empty")
	m.Fair, m.StronglyFair = []string{"pour back", "drink it"}, []string{"fill"}
	r, err := runOn(2, m, check.Options{Mem: 64 << 20})
	if err != nil || !slices.Equal(r.Untaken, []string{"drink it", "drink"}) {
		t.Errorf("%v, untaken %q", err, r.Untaken)
	}
}

// A name that is none of Model.Actions ends the search, and lists that are none are refused.
func TestUnlistedActions(t *testing.T) {
	for _, c := range []struct {
		actions, fair []string
		says          []string
	}{
		{[]string{"fill", "pours", "empty"}, nil, []string{
			`the name "pour" is none of Model.Actions; did you mean "pours"?; list it there`,
			"in state {Small:0 Big:0}", "at action pour"}},
		{[]string{"fill", "emp", "pour"}, nil, []string{`"empty(small)" is none of`}},
		{[]string{"fill", ""}, nil, []string{`action 1 of model jugs is ""`}},
		{[]string{"fill", "pour", "fill"}, nil, []string{`action 2 of model jugs is "fill"`}},
		{[]string{"fill", "pour", "empty"}, []string{"pour back", "filled"},
			[]string{`the fair action "filled" is none of Model.Actions; did you mean "fill"?`}},
		{make([]string, 4097), nil, []string{"4097 actions; 4096 is the most"}},
	} {
		m := pouring(c.actions...)
		m.Fair = c.fair
		for _, covers := range []bool{false, true} {
			_, err := runOn(2, m, check.Options{Mem: 64 << 20, Coverage: covers})
			for _, says := range c.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%q: %v, want %q", c.actions, err, says)
				}
			}
		}
	}
}

// A checkpoint of a model with other actions is another model's.
func TestActionsOfCheckpoint(t *testing.T) {
	path := t.TempDir() + "/saved"
	m := pouring("fill", "empty", "pour")
	if _, err := runOn(1, m, check.Options{Mem: 64 << 20, Checkpoint: path,
		CheckpointEvery: 1}); err != nil {
		t.Fatal(err)
	}
	m.Actions = nil
	_, err := runOn(1, m, check.Options{Mem: 64 << 20, Resume: path})
	if err == nil || !strings.Contains(err.Error(), "another model") {
		t.Error(err)
	}
}

// Of very many names the last ones are counted together.
func TestManyActions(t *testing.T) {
	const states, most = 70_000, 1 << 16
	m := check.Model[uint32]{Name: "many", Init: []uint32{0}, Deadlocks: true,
		Next: func(s uint32, emit func(string, uint32)) {
			for i := range uint32(states) * (1 - min(s, 1)) {
				emit(fmt.Sprint("to ", i+1), i+1)
			}
		}}
	r, err := runOn(1, m, check.Options{Mem: 64 << 20, Coverage: true})
	if err != nil || len(r.Coverage) != most || r.Coverage[0] != (explore.Action{
		Name: "(other actions)", Arcs: states - most + 1, States: states - most + 1}) {
		t.Errorf("%v, %d actions", err, len(r.Coverage))
	}
	if text := r.Report(); !strings.Contains(text, "\nand 65436 others, taken") ||
		strings.Count(text, "\n") > 120 {
		t.Errorf("%.1000s", text)
	}
}
