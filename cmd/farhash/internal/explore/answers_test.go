package explore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/report"
)

// TestDepthIsOfLevels: only a search level by level has a depth, in each form of the answer.
func TestDepthIsOfLevels(t *testing.T) {
	path := try.Net(t, "philosophers", 4)
	for order, depth := range map[string]any{"bfs": 4.0, "any": nil} {
		page := filepath.Join(t.TempDir(), "page.html")
		o := try.ObjectHere(t, 0, "explore", path, "-q", "--order", order, "--json", "--html", page)
		if got, there := o["depth"]; got != depth || !there {
			t.Errorf("%s: %v", order, o)
		}
		text := try.Here(t, "explore", path, "-q", "--order", order).Out
		html, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		want := depth != nil
		if strings.Contains(text, "\ndepth  ") != want ||
			strings.Contains(string(html), ">depth<") != want {
			t.Errorf("%s:\n%s%s", order, text, html)
		}
	}
}

// TestNeverFireMany: up to ten transitions that never fire are named, and JSON has all.
func TestNeverFireMany(t *testing.T) {
	for n, want := range map[int]string{
		2:  "\nWARNING: 2 transitions never fire: t0, t1\n",
		10: "\nWARNING: 10 transitions never fire: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9\n",
		11: "\nWARNING: 11 transitions never fire: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, and " +
			"others (--json has all)\n",
	} {
		net := &petri.Net{Name: "n", Places: []petri.Place{{ID: "p", Name: "p"}}}
		for i := range n {
			id := fmt.Sprint("t", i)
			net.Transitions = append(net.Transitions, petri.Transition{ID: id, Name: id,
				In: arcTo(0, 1)})
		}
		path := try.WriteNet(t, net)
		try.Here(t, "explore", path, "-q").Has(t, 0, want)
		if all := try.ObjectHere(t, 0, "explore", path, "--json", "-q")["neverFire"]; len(
			all.([]any)) != n {
			t.Errorf("%d transitions: %v", n, all)
		}
	}
}

// TestIncompleteAnswers: an answer that is not complete is marked in each form. One that has all
// that was asked is not.
func TestIncompleteAnswers(t *testing.T) {
	path := try.Net(t, "philosophers", 6)
	few := []string{"explore", path, "-q", "-n", "1", "--walk", "0", "--max-states", "20"}
	try.Here(t, append(few, "--mcc")...).Has(t, cli.ExitIncomplete, "CANNOT_COMPUTE\n",
		"!STATE_SPACE")
	try.Here(t, few...).Has(t, cli.ExitIncomplete, "  so far: INCOMPLETE\n",
		"\nINCOMPLETE: limit reached: ", "!never fire")
	try.Here(t, append(few, "--trace", "deadlock")...).Has(t, cli.ExitIncomplete,
		"no deadlock was found so far\n", "!is reachable")
	o := try.ObjectHere(t, cli.ExitIncomplete, append(few, "--json", "--bound",
		"tokens(Eat_1, Eat_3, Eat_5)")...)
	bound := o["properties"].([]any)[0].(map[string]any)
	if bound["answer"] != nil || bound["atLeast"] == nil || o["complete"] != false {
		t.Errorf("%v", o)
	}
	try.Here(t, "explore", path, "-q", "--walk", "0", "--sometimes", "enabled(End_1)", "--engine",
		"explicit").Has(t, 0, "  until all was answered\n", "!INCOMPLETE")
}

// TestPrintTrace: what is said where a trace was asked for and is not there.
func TestPrintTrace(t *testing.T) {
	const at = "  begin  p=1\n"
	firing := []string{"t"}
	for want, a := range map[string]answer{
		"a deadlock was found, and is not known any more\n": {Deadlocks: counted(1)},
		"the firing sequence to the deadlock was lost with a rank\n": {Deadlocks: counted(1),
			Lost: []int{1}},
		"no deadlock was found so far\n": {},
		"no deadlock is reachable\n":     {Complete: true},
		"no deadlock was found so far\n" + tracesCut + "\n": {Deadlocks: counted(1),
			TracesCut: true},
		"the initial marking is a deadlock\n" + at: {Traces: []netTrace{{goal: deadlockGoal,
			begin: "p=1", Shortest: true}}},
		"shortest firing sequence to a deadlock, 1 firing:\n" + at + "  t\n  end  q=1\n": {
			Traces: []netTrace{{goal: deadlockGoal, begin: "p=1", end: "q=1", Shortest: true,
				Firings: firing}}},
		"a firing sequence, perhaps not a shortest one, to a deadlock, 1 firing:\n" + at +
			"  t\n  end  q=1\n": {Traces: []netTrace{{goal: deadlockGoal, begin: "p=1", end: "q=1",
			Firings: firing}}},
		"a random walk found a firing sequence, perhaps not a shortest one, to a deadlock, 1 " +
			"firing:\n" + at + "  t\n  end  q=1\n": {Traces: []netTrace{{goal: deadlockGoal,
			begin: "p=1", end: "q=1", ByWalk: true, Firings: firing}}},
	} {
		a.traced, a.States = "deadlock", counted(1)
		var text strings.Builder
		if a.printTrace(&text); text.String() != want {
			t.Errorf("%+v:\n%s\nwant\n%s", a, text.String(), want)
		}
	}
}

// TestPageNotes: the page says what keeps the answer from being whole and certain.
func TestPageNotes(t *testing.T) {
	missed := 0.25
	for _, c := range []struct {
		a    answer
		want string
	}{
		{answer{Complete: true}, ""},
		{answer{Reason: string(explore.Decided)}, ""},
		{answer{Reason: "memory full", detail: "give more"}, "INCOMPLETE: memory full: give more"},
		{answer{Reason: "memory full"}, "INCOMPLETE: memory full"},
		{answer{Complete: true, Missed: &missed}, "Fingerprints of markings were kept: one was " +
			"missed with a probability of 0.25."},
		{answer{Complete: true, TracesCut: true}, "Interrupted before all traces were found."},
		{answer{Complete: true, NeverFire: []string{"t"}},
			"WARNING: a transition never fires: t"},
	} {
		if notes := strings.Join(c.a.page(report.Samples{}).Notes, "|"); notes != c.want {
			t.Errorf("%+v: %q, want %q", c.a, notes, c.want)
		}
	}
}

// TestPageTrace: a step of the page names the places that change alone, and the marking after it.
func TestPageTrace(t *testing.T) {
	net := &petri.Net{Name: "n", Places: []petri.Place{{ID: "p", Initial: 2}, {ID: "q"},
		{ID: "still", Initial: 1}}, Transitions: []petri.Transition{{ID: "t", In: arcTo(0, 1),
		Out: arcTo(1, 3)}}}
	trace := newNetTrace(net, []int{0, 0})
	page := trace.page()
	if len(page.Steps) != 3 || page.Steps[0].State != "p=2 still=1" ||
		page.Steps[1].State != "p=1 q=3 still=1" || page.Steps[2].State != "q=6 still=1" ||
		fmt.Sprint(page.Steps[2].Changes) != "[{p 1 0} {q 3 6}]" || page.Steps[1].Action != "t" {
		t.Errorf("%+v", page)
	}
	if trace.begin != "p=2 still=1" || trace.end != "q=6 still=1" || len(trace.End) != 2 ||
		trace.Begin["p"] != 2 {
		t.Errorf("%+v", trace)
	}
	if trace.ByWalk = true; !strings.Contains(trace.page().End, "a shorter sequence may exist") {
		t.Errorf("%+v", trace.page())
	}
	alone := netTrace{Alone: true, net: net, goal: deadlockGoal, end: "q=6"}
	if page := alone.page(); page.Goal != "A marking: a deadlock" || len(page.Steps) != 1 ||
		page.Steps[0].State != "q=6" || !strings.Contains(page.End, "is not known") {
		t.Errorf("%+v", page)
	}
	if _, text := tokens(net, []int64{0, 0, 0}); text != "no tokens" {
		t.Errorf("no tokens are %q", text)
	}
}

// TestPropertyText: answers in text and in the lines of the contest.
func TestPropertyText(t *testing.T) {
	seven := int64(7)
	for _, c := range []struct {
		p          propertyAnswer
		text, line string
	}{
		{propertyAnswer{Answer: []byte("true")}, "true|", "TRUE TECHNIQUES X"},
		{propertyAnswer{Answer: []byte("12")}, "12|", "12 TECHNIQUES X"},
		{propertyAnswer{Answer: []byte("false"), Structural: true}, "false|by structure",
			"FALSE TECHNIQUES TOPOLOGICAL"},
		{propertyAnswer{Answer: []byte("false"), ByWalk: true}, "false|by a random walk",
			"FALSE TECHNIQUES X"},
		{propertyAnswer{Answer: []byte("null"), AtLeast: &seven}, "unknown|at least 7",
			"CANNOT_COMPUTE"},
		{propertyAnswer{Answer: []byte("null"), Reason: "no memory"}, "unknown|no memory",
			"CANNOT_COMPUTE"},
		{propertyAnswer{Answer: []byte("false"), Transition: "t\n"},
			`false|"t\n" never fires, or not again`, "FALSE TECHNIQUES X"},
		{propertyAnswer{Answer: []byte("false"), Transition: "t", Structural: true},
			"false|by structure\tt never fires, or not again", "FALSE TECHNIQUES TOPOLOGICAL"},
	} {
		c.p.Name = "P"
		if text, note := c.p.text(); text+"|"+note != c.text {
			t.Errorf("%+v: %q, %q, want %q", c.p, text, note, c.text)
		}
		var line strings.Builder
		printFormulas(&line, []propertyAnswer{c.p}, "TECHNIQUES X")
		if want := "FORMULA P " + c.line + "\n"; line.String() != want {
			t.Errorf("%+v: %q, want %q", c.p, line.String(), want)
		}
	}
}

// TestFormulasOfFiles: the lines of --formulas are properties, each with its name and answer.
func TestFormulasOfFiles(t *testing.T) {
	path := try.Net(t, "philosophers", 3)
	formulas := try.File(t, "f.txt", "eats: sometimes tokens(Eat_1) = 1\n"+
		"always tokens(Eat_1, Eat_2) <= 1\nmost: bound tokens(Eat_1, Eat_2, Eat_3)\n"+
		"never: always tokens(Eat_2) = 0\n")
	o := try.ObjectHere(t, 0, "explore", path, "-q", "--json", "--walk", "0", "--formulas",
		formulas)
	got := map[string]any{}
	for _, p := range o["properties"].([]any) {
		p := p.(map[string]any)
		got[p["name"].(string)] = p["answer"]
	}
	for name, want := range map[string]any{"eats": true, "most": 1.0, "never": false} {
		if got[name] != want || len(got) != 4 {
			t.Errorf("%s is %v, want %v: %v", name, got[name], want, got)
		}
	}
	wrong := try.File(t, "f.txt", "sometimes nothing\n")
	try.Refused(t, cli.ExitFailure, "--formulas: ", "explore", path, "--formulas", wrong)
	try.Refused(t, cli.ExitFailure, "--properties: ", "explore", path, "--properties", wrong)
}

// TestSampled: a page has samples of what was found over time, and a search without a page none.
func TestSampled(t *testing.T) {
	for html, want := range map[string]int{"": 0, "page.html": 2} {
		var samples report.Samples
		updates := 0
		take := (&exploreFlags{html: html}).sampled(&samples, func(explore.Snapshot) { updates++ })
		for i := range 3 { // the first one has the plan alone
			take(explore.Snapshot{Elapsed: time.Duration(i) * time.Second, States: uint64(i)})
		}
		if text := fmt.Sprint(samples); updates != 3 || strings.Count(text, "{")-1 != want {
			t.Errorf("%q: %d updates, samples %s", html, updates, text)
		}
	}
}
