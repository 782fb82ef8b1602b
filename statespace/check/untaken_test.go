package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/check"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// TestUntaken: names of fair actions that no state takes are reported, with a path that is fair by
// mistake, and after a complete search.
func TestUntaken(t *testing.T) {
	for _, c := range []struct {
		weak, strong, untaken []string
		answer                logic.Verdict
	}{
		{[]string{"go"}, nil, nil, logic.True},
		{[]string{"goes"}, nil, []string{"goes"}, logic.False},
		{nil, []string{"go"}, nil, logic.True},
		{[]string{"go", "stay"}, []string{"leave", "leave"}, []string{"leave"}, logic.True},
	} {
		m := check.Model[uint8]{Name: "waits", Init: []uint8{0}, Fair: c.weak,
			StronglyFair: c.strong,
			Next: func(s uint8, emit func(string, uint8)) {
				emit("stay", s)
				if s == 0 {
					emit("go", 1)
				}
			},
			Properties: []check.Property[uint8]{check.Eventually("has gone",
				func(s uint8) bool { return s == 1 })}}
		r, err := runOn(2, m, check.Options{Mem: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.Untaken, c.untaken) || r.Properties[0].Verdict != c.answer {
			t.Errorf("fair %q and %q: %v, untaken %q", c.weak, c.strong, r.Properties, r.Untaken)
		}
		for _, name := range c.untaken {
			states := "no state"
			if !r.Complete {
				states += " that was searched until then"
			}
			warning := "\nWARNING: " + states + " takes the action \"" + name + "\""
			if !strings.Contains(r.Report(), warning) {
				t.Error(r.Report())
			}
		}
	}
}

// TestTakenNames: names are told apart that begin at one place, and one is known that was built.
func TestTakenNames(t *testing.T) {
	long := "forward"
	m := check.Model[uint8]{Name: "names", Init: []uint8{0}, Deadlocks: true,
		Fair: []string{"forward", "for", "back", "never"},
		Next: func(s uint8, emit func(string, uint8)) {
			switch s {
			case 0:
				emit(long, 1)
			case 1:
				emit(long[:3], 2)
			case 2:
				emit(string([]byte{'b', 'a', 'c', 'k'}), 3)
			}
		}}
	r, err := runOn(1, m, check.Options{Mem: 64 << 20})
	if err != nil || !slices.Equal(r.Untaken, []string{"never"}) {
		t.Errorf("%v, untaken %q", err, r.Untaken)
	}
}

// A fair action may be several with parameters, as in Model.Actions, and is fair if one is taken.
func TestFairWithParameters(t *testing.T) {
	for name, want := range map[string]logic.Verdict{"go": logic.True, "go 1": logic.True,
		"g": logic.False, "go 2": logic.False} {
		m := check.Model[uint8]{Name: "waits", Init: []uint8{0}, Fair: []string{name},
			Next: func(s uint8, emit func(string, uint8)) {
				if emit("stay", s); s == 0 {
					emit("go 1", 1)
				}
			},
			Properties: []check.Property[uint8]{check.Eventually("has gone",
				func(s uint8) bool { return s == 1 })}}
		r, err := runOn(1, m, check.Options{Mem: 64 << 20})
		if err != nil || r.Properties[0].Verdict != want ||
			(len(r.Untaken) > 0) != (want == logic.False) {
			t.Errorf("%q is fair: %+v, %v", name, r, err)
		}
	}
}

// A warning is of no action that the path below it takes, and says if states were left out.
func TestUntakenBesidePath(t *testing.T) {
	r := &Result{Untaken: []string{"far"}, Result: &explore.Result{}}
	if text := r.Report(); !strings.Contains(text,
		"WARNING: no state that was searched until then takes the action \"far\"") {
		t.Error(text)
	}
}

type Result = check.Result[uint8]
