package explore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/petri"
)

// keys are the keys of the JSON object of a complete search.
var keys = []string{"arcs", "complete", "deadlocks", "depth", "encoding", "engine",
	"maxTokensMarking", "maxTokensPlace", "model", "places", "ranks", "seconds", "states",
	"transitions"}

// exploreJSON explores to the end and returns the object.
func exploreJSON(t *testing.T, args ...string) map[string]any {
	t.Helper()
	c := try.Run(t, args...)
	if c.Code() != 0 {
		t.Fatalf("%q: exit code %d: %s", args, c.Code(), &c.Errors)
	}
	return try.Object(t, c)
}

// expected is the result of naive exploration of a net, under the keys of JSON.
func expected(t *testing.T, n *petri.Net) map[string]any {
	t.Helper()
	r, err := naive.Explore(n, 1<<20)
	if err != nil || !r.Complete {
		t.Fatalf("naive: %+v, %v", r, err)
	}
	o := map[string]any{"model": n.Name, "complete": true, "engine": "explicit"}
	for key, number := range map[string]int{
		"places": len(n.Places), "transitions": len(n.Transitions), "states": r.States,
		"arcs": r.Arcs, "depth": r.Depth, "deadlocks": r.Deadlocks,
		"maxTokensPlace": int(r.MaxTokensPlace), "maxTokensMarking": int(r.MaxTokensMarking),
	} {
		o[key] = float64(number)
	}
	return o
}

func checkObject(t *testing.T, what any, got, want map[string]any) {
	t.Helper()
	var have []string
	for key := range got {
		switch key {
		case "checked": // with --check alone: TestExploreChecked
		case "bytesPerState": // of many states: TestBytesPerState
		default:
			have = append(have, key)
		}
	}
	if slices.Sort(have); !slices.Equal(have, keys) {
		t.Errorf("%q: keys %q, want %q", what, have, keys)
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%q: %s is %v, want %v", what, key, got[key], value)
		}
	}
	if got["seconds"].(float64) <= 0 {
		t.Errorf("%q: %v seconds", what, got["seconds"])
	}
}

// A state of a small search takes no certain number of bytes: most of them are the first table.
func TestBytesPerState(t *testing.T) {
	small, large := family(t, "philosophers", "5"), family(t, "philosophers", "11")
	if got := exploreJSON(t, "explore", small, "--json")["bytesPerState"]; got != nil {
		t.Errorf("243 states: %v bytes each", got)
	}
	got, _ := exploreJSON(t, "explore", large, "--json")["bytesPerState"].(float64)
	if got < 8 || got > 50 {
		t.Errorf("177147 states: %v bytes each", got)
	}
	if c := try.Run(t, "explore", small); strings.Contains(c.Out.String(), "per state") {
		t.Errorf("%s", &c.Out)
	}
	c := try.Run(t, "explore", large)
	if !strings.Contains(c.Out.String(), "\nbytes per state  ") ||
		!strings.Contains(c.Out.String(), "  a marking has 22 bits, stored as word\n") {
		t.Errorf("%s", &c.Out)
	}
}

// Every way to explore gives the same counts.
func TestExploreJSON(t *testing.T) {
	for _, f := range []struct {
		name string
		size int
	}{{"philosophers", 5}, {"rwmutex", 6}, {"referendum", 4}, {"dekker", 5}} {
		n, err := petri.Family(f.name, f.size)
		if err != nil {
			t.Fatal(err)
		}
		path, want := family(t, f.name, fmt.Sprint(f.size)), expected(t, n)
		for i, flags := range [][]string{nil, {"--encoding", "element"}, {"--direct=false"},
			{"--order", "any"}, {"--check", "--quiet"},
			{"--order", "any", "--encoding", "element", "--direct=false", "--check"}} {
			want["encoding"] = "word"
			if slices.Contains(flags, "element") {
				want["encoding"] = "element"
			}
			want := mapWith(want, "depth", want["depth"])
			if slices.Contains(flags, "any") {
				want["depth"] = nil
			}
			args := append([]string{"explore", path, "--json"}, flags...)
			ranks := []string{"1", "2", "4"}[i%3]
			got := exploreJSON(t, append(args, "-n", ranks)...)
			checkObject(t, args, got, mapWith(want, "ranks", float64(ranks[0]-'0')))
			if i%2 == 0 {
				got = exploreJSON(t, try.Launched(t, "2", args...)...)
				checkObject(t, args, got, mapWith(want, "ranks", 2.))
			} else if f.name == "philosophers" {
				got = exploreJSON(t, try.Launched(t, "4", args...)...)
				checkObject(t, args, got, mapWith(want, "ranks", 4.))
			}
		}
	}
}

// mapWith is a copy of a map with a key changed.
func mapWith(m map[string]any, key string, value any) map[string]any {
	c := map[string]any{key: value}
	for k, v := range m {
		if k != key {
			c[k] = v
		}
	}
	return c
}

func TestExploreMCC(t *testing.T) {
	c := try.Run(t, "explore", family(t, "philosophers", "3"), "--mcc", "-n", "2")
	want := ""
	for _, line := range []string{"STATES 27", "TRANSITIONS 63", "MAX_TOKEN_PER_MARKING 6",
		"MAX_TOKEN_IN_PLACE 1"} {
		want += "STATE_SPACE " + line +
			" TECHNIQUES EXPLICIT PARALLEL_PROCESSING STATE_COMPRESSION\n"
	}
	if c.Code() != 0 || c.Out.String() != want {
		t.Errorf("exit code %d, stdout %s", c.Code(), &c.Out)
	}
}

func TestExploreText(t *testing.T) {
	path := family(t, "philosophers", "5")
	c := try.Run(t, "explore", path, "-n", "2")
	for _, want := range []string{"Philosophers-5: 25 places, 25 transitions\n",
		"states                   243\n", "arcs                     945\n",
		"depth                    5\n", "deadlocks                2\n",
		"max tokens in a place    1\n",
		"max tokens in a marking  10\n", "states/s, ", "arcs/s with 2 ranks\n",
		"\nmarking                  10 bits, stored as word\n"} {
		if !strings.Contains(c.Out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, &c.Out)
		}
	}
	// A file gets the plan and no progress.
	if text := c.Errors.String(); c.Code() != 0 || strings.Count(text, "\n") != 1 ||
		!strings.HasPrefix(text, "plan: up to ") || strings.ContainsAny(text, "\r\x1b") {
		t.Errorf("exit code %d, stderr %q", c.Code(), text)
	}
	c = try.Run(t, "explore", path, "-n", "1")
	if !strings.Contains(c.Out.String(), "arcs/s with 1 rank\n") {
		t.Errorf("one rank: %s", &c.Out)
	}
	c = try.Run(t, "explore", path, "-n", "2", "--quiet")
	if c.Code() != 0 || c.Errors.Len() > 0 || !strings.Contains(c.Out.String(), "243") {
		t.Errorf("quiet: exit code %d, stderr %q, stdout %s", c.Code(), &c.Errors, &c.Out)
	}
	c = try.Run(t, "explore", path, "-n", "2", "--order", "any", "-q")
	if c.Code() != 0 || strings.Contains(c.Out.String(), "depth") {
		t.Errorf("order any: %s", &c.Out)
	}
	c = try.Run(t, try.Launched(t, "2", "explore", path, "-n", "3")...)
	if c.Code() != 0 || !strings.Contains(c.Errors.String(),
		"farhash: -n is ignored: farhash has started the ranks\n") {
		t.Errorf("-n for a rank: exit code %d, stderr %q", c.Code(), &c.Errors)
	}
}

// A trace is a list of transitions by their ids that leads to a deadlock.
func TestExploreTrace(t *testing.T) {
	path := family(t, "philosophers", "4")
	n, err := petri.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"explore", path, "--trace", "deadlock", "-n", "3"},
		try.Launched(t, "2", "explore", path, "--trace", "deadlock"),
	} {
		object := exploreJSON(t, append(args, "--json")...)
		m, trace := n.Initial(), object["trace"].([]any)
		for _, id := range trace {
			i := slices.IndexFunc(n.Transitions,
				func(t petri.Transition) bool { return t.ID == id })
			if i < 0 || !n.Transitions[i].Enabled(m) {
				t.Fatalf("%q: %v in %v", args, id, m)
			}
			n.Transitions[i].Fire(m)
		}
		for _, tr := range n.Transitions {
			if tr.Enabled(m) {
				t.Errorf("%q: %s is enabled after %v", args, tr.ID, trace)
			}
		}
		c := try.Run(t, args...)
		_, text, _ := strings.Cut(c.Out.String(),
			"shortest firing sequence to a deadlock, 4 firings:\n")
		if len(trace) != 4 || strings.Count(text, "\n") != 6 {
			t.Errorf("%q: trace %v, text %s", args, trace, &c.Out)
		}
	}
	for want, n := range map[string]*petri.Net{
		"no deadlock is reachable": {Places: []petri.Place{{ID: "p", Name: "p"}},
			Transitions: []petri.Transition{{ID: "t", Name: "t"}}},
		"the initial marking is a deadlock": {Name: "empty"},
	} {
		if len(n.Transitions) > 0 { // one marking with a loop
			n.Transitions[0].In = []petri.Arc{{Place: 0, Weight: 1}}
			n.Transitions[0].Out, n.Places[0].Initial = n.Transitions[0].In, 1
		}
		path := try.WriteNet(t, n)
		c := try.Run(t, "explore", path, "--trace", "deadlock")
		if c.Code() != 0 || !strings.Contains(c.Out.String(), want+"\n") {
			t.Errorf("want %q: %s%s", want, &c.Out, &c.Errors)
		}
		trace, there := exploreJSON(t, "explore", path, "--trace", "deadlock", "--json")["trace"]
		if there != (n.Name == "empty") || there && len(trace.([]any)) != 0 {
			t.Errorf("%s: trace %v", want, trace)
		}
	}
}

// Names that could upset a terminal or feign lines are quoted in text, and left alone
// in JSON.
func TestExploreStrangeNames(t *testing.T) {
	n := &petri.Net{Name: "a\u009b31m\nstates 7",
		Places: []petri.Place{{ID: "p", Name: "p", Initial: 1}},
		Transitions: []petri.Transition{{ID: "t\nu", Name: "t",
			In: []petri.Arc{{Place: 0, Weight: 1}}}}}
	path := try.WriteNet(t, n)
	c := try.Run(t, "explore", path, "--trace", "deadlock", "-q")
	if text := c.Out.String(); c.Code() != 0 || strings.ContainsRune(text, 0x9b) ||
		!strings.Contains(text, `"a\u009b31m\nstates 7": 1 place, 1 transition`) ||
		!strings.Contains(text, `  "t\nu"`) {
		t.Errorf("exit code %d: %q", c.Code(), text)
	}
	if got := exploreJSON(t, "explore", path, "--json")["model"]; got != n.Name {
		t.Errorf("model %q", got)
	}
}

// --check reports what it has found.
func TestExploreChecked(t *testing.T) {
	args := []string{"explore", family(t, "philosophers", "5"), "-n", "2"}
	want := "check                    the set of 243 states is consistent\n"
	for _, check := range []bool{false, true} {
		if check {
			args = append(args, "--check")
		}
		text := try.Run(t, args...)
		if strings.Contains(text.Out.String(), want) != check {
			t.Errorf("--check=%v:\n%s", check, &text.Out)
		}
		o := exploreJSON(t, append(args[:len(args):len(args)], "--json")...)
		if (o["checked"] == true) != check {
			t.Errorf("--check=%v: %v", check, o)
		}
	}
}

// With fingerprints the counts are the same, and how certain they are is said. A net whose markings
// fit into words has no fingerprints.
func TestExploreFingerprints(t *testing.T) {
	n := &petri.Net{Name: "counters"}
	for i := range 3 {
		id := fmt.Sprint("p", i)
		n.Places = append(n.Places, petri.Place{ID: id, Name: id, Initial: 1e9})
		n.Transitions = append(n.Transitions, petri.Transition{ID: "t" + id, Name: "t" + id,
			In: []petri.Arc{{Place: i, Weight: 1e8}}})
	}
	var file bytes.Buffer
	path := filepath.Join(t.TempDir(), "net.pnml")
	if err := petri.Write(&file, n); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	want := expected(t, n)
	for _, flags := range [][]string{{"--encoding", "fingerprint"}, {"--encoding", "tree"}} {
		got := exploreJSON(t, append([]string{"explore", path, "-n", "2", "--json"}, flags...)...)
		missed, there := got["missedProbability"].(float64)
		kept := flags[1] == "fingerprint"
		if got["encoding"] != flags[1] || there != kept || kept && (missed <= 0 || missed > 1e-9) {
			t.Errorf("%q: %v", flags, got)
		}
		for key, value := range want {
			if got[key] != value {
				t.Errorf("%q: %s is %v, not %v", flags, key, got[key], value)
			}
		}
	}
	const says = "\nFINGERPRINTS of markings were kept: one was missed, and "
	c := try.Run(t, "explore", path, "--encoding", "fingerprint")
	if c.Code() != 0 || !strings.Contains(c.Out.String(), says) {
		t.Errorf("exit code %d, %s", c.Code(), &c.Out)
	}
	path = family(t, "philosophers", "4")
	got := exploreJSON(t, "explore", path, "--encoding", "fingerprint", "--json")
	if got["encoding"] != "word" || got["missedProbability"] != nil {
		t.Errorf("markings of a word: %v", got)
	}
}
