package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/check"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// jugs has two jugs, of 3 and of 5 gallons.
type jugs struct {
	Small uint8 `bits:"2"`
	Big   uint8 `bits:"3"`
}

// dieHard asks for four gallons.
func dieHard() check.Model[jugs] {
	return check.Model[jugs]{Name: "die hard", Init: []jugs{{}}, Deadlocks: true,
		Next: func(s jugs, emit func(string, jugs)) {
			emit("fill small", jugs{3, s.Big})
			emit("fill big", jugs{s.Small, 5})
			emit("empty small", jugs{0, s.Big})
			emit("empty big", jugs{s.Small, 0})
			n := min(s.Small, 5-s.Big)
			emit(fmt.Sprintf("pour %d into big", n), jugs{s.Small - n, s.Big + n})
			n = min(s.Big, 3-s.Small)
			emit(fmt.Sprintf("pour %d into small", n), jugs{s.Small + n, s.Big - n})
		},
		Properties: []check.Property[jugs]{
			check.Sometimes("four gallons", func(s jugs) bool { return s.Big == 4 })}}
}

// What is to be found has a shortest path there, and is no violation.
func TestDieHard(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		r, err := runOn(ranks, dieHard(), check.Options{})
		if err != nil || r.Violated() || r.Shown != "" || r.Path != nil || len(r.Traces) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		tr := r.Traces[0]
		if tr.Name != "four gallons" || tr.Violation || tr.Alone || tr.Back != -1 ||
			len(tr.Path) != 7 || tr.Path[6].State != (jugs{3, 4}) {
			t.Errorf("%+v", tr)
		}
		report := r.Report()
		for _, part := range []string{"FOUND: four gallons, after 6 steps:\n" +
			"  begin  {Small:0 Big:0}\n  fill big  Big: 0 -> 5\n" +
			"  pour 3 into small  Small: 0 -> 3, Big: 5 -> 2\n",
			"\n  end  {Small:3 Big:4}\n"} {
			if !strings.Contains(report, part) {
				t.Errorf("no %q in %s", part, report)
			}
		}
	}
}

// With Continue all violations are found, and each has a trace.
func TestContinue(t *testing.T) {
	m := tree(1000)
	below := func(n uint32) func(uint32) bool { return func(s uint32) bool { return s < n } }
	m.Deadlocks = false
	m.Properties = []check.Property[uint32]{check.Always("below 900", below(900)),
		check.Sometimes("seven", func(s uint32) bool { return s == 7 }),
		check.Always("below 5", below(5)), check.Always("below 1001", below(1001))}
	names := func(r *check.Result[uint32]) (all []string) {
		for _, tr := range r.Traces {
			if last := tr.Path[len(tr.Path)-1].State; len(tr.Path) > 1 == tr.Alone ||
				tr.Violation && last < 5 || !tr.Violation && last != 7 {
				t.Errorf("%+v", tr)
			}
			all = append(all, tr.Name)
		}
		return all
	}
	for _, order := range []explore.Order{explore.BreadthFirst, explore.AnyOrder} {
		r, err := runOn(2, m, check.Options{Continue: true, Order: order})
		if err != nil || !r.Complete || !slices.Equal(names(r), []string{"deadlock", "below 900",
			"below 5", "seven"}) || r.Shown != "deadlock" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if r, err := runOn(1, m, check.Options{}); err != nil || r.Complete || r.Shown != "below 5" ||
		len(r.Traces) == 0 || r.Traces[0].Name != "below 5" {
		t.Errorf("%+v, %v", r, err)
	}
	m.Properties = m.Properties[1:3] // these are found before a deadlock
	if r, err := runOn(1, m, check.Options{Continue: true}); err != nil || r.Deadlocks == 0 ||
		len(r.Traces) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

// In any order the state is shown that violates a property.
func TestStateInAnyOrder(t *testing.T) {
	m := tree(1000)
	m.Properties = []check.Property[uint32]{check.Always("not 999",
		func(s uint32) bool { return s != 999 })}
	r, err := runOn(2, m, check.Options{Order: explore.AnyOrder})
	if err != nil || r.Shown != "not 999" || len(r.Traces) != 1 || !r.Traces[0].Alone ||
		!strings.Contains(r.Report(), "VIOLATED: not 999, in this state; a search with --order "+
			"bfs, from the beginning, shows a way there:\n  999\n") {
		t.Errorf("%+v, %v", r, err)
	}
}

// Beyond a limit nothing is known.
func TestLimitsOfSearch(t *testing.T) {
	m := dieHard()
	for _, opts := range []check.Options{{MaxDepth: 3}, {MaxStates: 1}} {
		r, err := runOn(1, m, opts)
		if err != nil || r.Complete || r.Reason != explore.LimitReached ||
			r.Properties[0].Verdict != logic.Unknown || len(r.Traces) != 0 ||
			!strings.Contains(r.Report(), "INCOMPLETE: limit reached: "+r.Detail+"\n") {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if r, err := runOn(1, m, check.Options{MaxDepth: 6}); err != nil ||
		r.Properties[0].Verdict != logic.True {
		t.Errorf("%+v, %v", r, err)
	}
}

// With Continue each violated property along paths has a path of its own, beside other violations.
func TestContinueAlongPaths(t *testing.T) {
	never := func(uint8) bool { return false }
	m := check.Model[uint8]{Name: "circle", Init: []uint8{0},
		Next: func(s uint8, emit func(string, uint8)) { emit("on", (s+1)%8) },
		Properties: []check.Property[uint8]{check.Eventually("once", never),
			check.Always("below 6", func(s uint8) bool { return s < 6 }),
			check.AlwaysEventually("again", never),
			check.LeadsTo("answer", func(s uint8) bool { return s == 3 }, never)}}
	for _, ranks := range []int{1, 2} {
		r, err := runOn(ranks, m, check.Options{Continue: true, Mem: 64 << 20})
		if err != nil || r.Shown != "below 6" || len(r.Path) != 7 || r.Back != -1 {
			t.Fatalf("%+v, %v", r, err)
		}
		var names []string
		for _, tr := range r.Traces {
			names = append(names, tr.Name)
			if !tr.Violation || len(tr.Path) < 7 || tr.Back < 0 && tr.Name != "below 6" {
				t.Errorf("%+v", tr)
			}
		}
		if !slices.Equal(names, []string{"below 6", "once", "again", "answer"}) ||
			strings.Count(r.Report(), "\nVIOLATED: ") != 4 {
			t.Errorf("%q\n%s", names, r.Report())
		}
	}
}
