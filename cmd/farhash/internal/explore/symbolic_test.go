package explore

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/petri"
)

// symbolicKeys are the keys of the JSON object of a complete symbolic exploration.
var symbolicKeys = []string{"arcs", "bytes", "complete", "deadlocks", "depth", "engine",
	"maxTokensMarking", "maxTokensPlace", "model", "nodes", "placeOrder", "places", "seconds",
	"states", "strategy", "transitions"}

// TestSymbolicJSON: the counts are the same as in an explicit search.
func TestSymbolicJSON(t *testing.T) {
	for name, size := range map[string]int{"philosophers": 5, "rwmutex": 6, "dekker": 5,
		"kanban": 2, "walker": 5} {
		n, err := petri.Family(name, size)
		if err != nil {
			t.Fatal(err)
		}
		path, want := family(t, name, fmt.Sprint(size)), mapWith(expected(t, n), "depth", nil)
		got := exploreJSON(t, "explore", path, "--engine", "symbolic", "--json")
		for key, value := range mapWith(want, "engine", "symbolic") {
			if got[key] != value {
				t.Errorf("%s: %s is %v, not %v", name, key, got[key], value)
			}
		}
		for _, key := range symbolicKeys {
			if _, there := got[key]; !there || len(got) != len(symbolicKeys) {
				t.Errorf("%s: %d keys, and %s is there: %v", name, len(got), key, there)
			}
		}
	}
}

// TestSymbolicText: what is printed of 3^200 states.
func TestSymbolicText(t *testing.T) {
	path := family(t, "philosophers", "200")
	c := try.Run(t, "explore", path, "--engine", "symbolic", "--always",
		"tokens(Eat_1, Eat_2) <= 1", "--sometimes", "deadlock", "--bound",
		"tokens(Eat_1, Eat_3)", "--examination", "OneSafe")
	states := new(big.Int).Exp(big.NewInt(3), big.NewInt(200), nil)
	for _, want := range []string{"Philosophers-200: 1000 places, 1000 transitions\n",
		fmt.Sprintf("states                   %v\n", states),
		"deadlocks                2\n", "max tokens in a place    1\n",
		"max tokens in a marking  400\n", "\nalways tokens(Eat_1, Eat_2) <= 1  true\n",
		"\nsometimes deadlock                true\n",
		"\nbound tokens(Eat_1, Eat_3)        2\n", "OneSafe                           true\n"} {
		if !strings.Contains(c.Out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, &c.Out)
		}
	}
	if text := c.Errors.String(); c.Code() != 0 || strings.Count(text, "\n") != 1 ||
		!strings.HasPrefix(text, "plan: up to ") {
		t.Errorf("exit code %d, stderr %q", c.Code(), text)
	}
	c = try.Run(t, "explore", path, "--engine", "symbolic", "--quiet", "--mcc")
	if want := fmt.Sprintf("STATE_SPACE STATES %v TECHNIQUES DECISION_DIAGRAMS "+
		"PARALLEL_PROCESSING\n", states); c.Code() != 0 || c.Errors.Len() > 0 ||
		!strings.HasPrefix(c.Out.String(), want) {
		t.Errorf("exit code %d, stderr %q, stdout %s", c.Code(), &c.Errors, &c.Out)
	}
}

// reached is how a line about a trace begins.
const reached = "\na firing sequence, perhaps not a shortest one, to "

// TestSymbolicTrace: the way to a deadlock, and to where a transition never fires again.
func TestSymbolicTrace(t *testing.T) {
	path, live := family(t, "philosophers", "60"), family(t, "kanban", "8")
	for _, c := range []struct {
		want string
		args []string
	}{
		{reached + "a deadlock, 60 firings:\n  ", []string{path, "--trace", "deadlock"}},
		{"\nno deadlock is reachable\n", []string{live, "--trace", "deadlock"}},
		{"\nLiveness  true\nno marking that was found shows an answer\n", []string{live,
			"--examination", "Liveness", "--trace", "witness"}},
		{reached + "a deadlock, ", []string{path, "--examination", "Liveness",
			"--trace", "witness"}},
		{"\nthe initial marking is a marking that shows sometimes tokens(Eat_1) = 0\n",
			[]string{path, "--sometimes", "tokens(Eat_1) = 0", "--trace", "witness"}},
		{reached + "a marking that shows always tokens(Eat_1) = 0, ", []string{path,
			"--always", "tokens(Eat_1) = 0", "--trace", "witness"}},
	} {
		run := try.Run(t, append([]string{"explore", "-q", "--engine", "symbolic"}, c.args...)...)
		if run.Code() != 0 || !strings.Contains(run.Out.String(), c.want) {
			t.Errorf("%q: exit code %d, %q is not in:\n%s%s", c.args, run.Code(), c.want,
				&run.Out, &run.Errors)
		}
	}
	o := exploreJSON(t, "explore", path, "--engine", "symbolic", "--trace", "deadlock", "--json")
	if trace, _ := o["trace"].([]any); len(trace) != 60 {
		t.Errorf("%v", o["trace"])
	}
}

// TestSymbolicTraces: a trace for each question, which the net can fire, by one rank and several.
func TestSymbolicTraces(t *testing.T) {
	path := family(t, "philosophers", "30")
	net, err := petri.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := "tokens(Eat_1, Eat_2, Eat_3, Eat_4)"
	for _, ranks := range []string{"1", "3"} {
		o := exploreJSON(t, "explore", path, "--engine", "symbolic", "--json", "-n", ranks,
			"--trace", "witness", "--sometimes", "deadlock", "--always", "tokens(Eat_3) = 0",
			"--sometimes", "tokens(Eat_1) = 2", "--bound", sum, "--always", "tokens(Eat_1) <= 1")
		shows := map[string]func(end map[string]any) bool{
			"sometimes deadlock": func(end map[string]any) bool { return len(end) == 30 },
			"always tokens(Eat_3) = 0": func(end map[string]any) bool {
				return end["Eat_3"] == 1.0
			},
			"bound " + sum: func(end map[string]any) bool {
				return (end["Eat_1"] == 1.0) != (end["Eat_2"] == 1.0) &&
					(end["Eat_3"] == 1.0) != (end["Eat_4"] == 1.0)
			}}
		traces := o["traces"].([]any)
		for _, one := range traces {
			trace := one.(map[string]any)
			end := replayed(t, net, trace["firings"].([]any))
			show := shows[trace["property"].(string)]
			if show == nil || !show(end) || !reflect.DeepEqual(end, trace["end"]) ||
				trace["shortest"] != false {
				t.Errorf("%s ranks: %v", ranks, trace)
			}
		}
		if first := traces[0].(map[string]any)["firings"]; len(traces) != len(shows) ||
			!reflect.DeepEqual(o["trace"], first) {
			t.Errorf("%s ranks: %v", ranks, o)
		}
	}
	c := try.Run(t, "explore", path, "-q", "--engine", "symbolic", "--trace", "witness", "--bound",
		sum)
	want := reached + "a marking that shows bound " + sum + " = 2, "
	if c.Code() != 0 || !strings.Contains(c.Out.String(), want) {
		t.Errorf("exit code %d, %s%s", c.Code(), &c.Out, &c.Errors)
	}
}

// replayed has the tokens after firings, by place.
func replayed(t *testing.T, net *petri.Net, firings []any) map[string]any {
	t.Helper()
	marking := net.Initial()
	for _, id := range firings {
		i := slices.IndexFunc(net.Transitions, func(tr petri.Transition) bool {
			return tr.ID == id
		})
		if i < 0 || !net.Transitions[i].Enabled(marking) {
			t.Fatalf("%v cannot fire at %v", id, marking)
		}
		net.Transitions[i].Fire(marking)
	}
	end := map[string]any{}
	for i, n := range marking {
		if n > 0 {
			end[net.Places[i].ID] = float64(n)
		}
	}
	return end
}

// TestSymbolicRanks: several ranks print one answer, or one reason why there is none.
func TestSymbolicRanks(t *testing.T) {
	path := family(t, "philosophers", "40")
	for _, args := range [][]string{{"explore", path, "-n", "5"},
		try.Launched(t, "3", "explore", path)} {
		c := try.Run(t, append(args, "--engine", "symbolic", "--trace", "deadlock")...)
		if text := c.Out.String(); c.Code() != 0 ||
			strings.Count(text, "states                   12157665459056928801\n") != 1 ||
			strings.Count(text, reached+"a deadlock") != 1 ||
			!strings.Contains(c.Errors.String(), " ranks, by other orders and strategies") {
			t.Errorf("%q: exit code %d, %s%s", args, c.Code(), text, &c.Errors)
		}
	}
	full := family(t, "rwmutex", "60")
	for _, args := range [][]string{{"explore", full, "-n", "2"},
		try.Launched(t, "2", "explore", full)} {
		c := try.Run(t, append(args, "--engine", "symbolic", "--mem", "4MiB")...)
		if text := c.Out.String(); c.Code() != cli.ExitIncomplete ||
			strings.Count(text, "INCOMPLETE: memory full: ") != 1 {
			t.Errorf("%q: exit code %d, %s%s", args, c.Code(), text, &c.Errors)
		}
	}
}

// TestSymbolicRefused: flags without meaning and what is not answered are wrong usage; memory that
// is full is exit code 3.
func TestSymbolicRefused(t *testing.T) {
	path := family(t, "rwmutex", "60")
	for _, flags := range [][]string{{"--order", "any"}, {"--checkpoint", "x"},
		{"--resume", "x"}, {"--encoding", "word"}, {"--check"}} {
		c := try.Run(t, append([]string{"explore", path, "--engine", "symbolic"}, flags...)...)
		if c.Code() != cli.ExitUsage || !strings.Contains(c.Errors.String(), "--engine symbolic") {
			t.Errorf("%q: exit code %d, stderr %q", flags, c.Code(), &c.Errors)
		}
	}
	c := try.Run(t, "explore", path, "--engine", "symbolic", "--mem", "4MiB", "--json",
		"--sometimes", "deadlock")
	o := try.Object(t, c)
	known := o["properties"].([]any)[0].(map[string]any)["answer"]
	if c.Code() != cli.ExitIncomplete || o["complete"] != false || o["states"] != nil ||
		o["reason"] != "memory full" || known != nil {
		t.Errorf("without memory: exit code %d, %v", c.Code(), o)
	}
	c = try.Run(t, "explore", path, "--engine", "symbolic", "--mem", "4MiB")
	if text := c.Out.String(); c.Code() != cli.ExitIncomplete ||
		!strings.Contains(text, "INCOMPLETE: memory full: ") || strings.Contains(text, "states") {
		t.Errorf("without memory: exit code %d, %s", c.Code(), text)
	}
}
