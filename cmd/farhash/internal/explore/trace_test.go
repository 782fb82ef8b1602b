package explore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/packing"
	"github.com/farhash/farhash/statespace/petri/property"
)

// Each property that a marking shows has a trace of its own, also a bound.
func TestTracesOfProperties(t *testing.T) {
	path := family(t, "philosophers", "4")
	asked := []string{"explore", path, "-q", "--walk", "0", "--trace", "witness",
		"--sometimes", "deadlock", "--always", "tokens(Eat_1) = 0",
		"--bound", "tokens(Eat_1, Eat_2, Eat_3, Eat_4)", "--sometimes", "tokens(Eat_1) = 2"}
	o := exploreJSON(t, append(asked, "--json", "-n", "2")...)
	firings := map[string]int{"sometimes deadlock": 4, "always tokens(Eat_1) = 0": 2,
		"bound tokens(Eat_1, Eat_2, Eat_3, Eat_4)": 4}
	traces := o["traces"].([]any)
	for _, trace := range traces {
		tr := trace.(map[string]any)
		if want := firings[tr["property"].(string)]; want != len(tr["firings"].([]any)) ||
			tr["begin"].(map[string]any)["Think_1"] != 1.0 {
			t.Errorf("%v, want %d firings", tr, want)
		}
	}
	if end := traces[2].(map[string]any)["end"].(map[string]any); len(traces) != 3 ||
		end["Eat_1"] == end["Eat_2"] || len(o["trace"].([]any)) != 2 {
		t.Errorf("%v", traces)
	}
	c := try.Run(t, asked...)
	for _, part := range []string{"\nshortest firing sequence to a marking that shows bound " +
		"tokens(Eat_1, Eat_2, Eat_3, Eat_4) = 2, 4 firings:\n  begin  ",
		"\nshortest firing sequence to a marking that shows always tokens(Eat_1) = 0, 2 firings:\n",
		"\n  end  "} {
		if text := c.Out.String(); c.Code() != 0 || !strings.Contains(text, part) {
			t.Errorf("exit code %d, no %q in %s%s", c.Code(), part, text, &c.Errors)
		}
	}
}

// In any order the marking is shown, without a way there.
func TestMarkingInAnyOrder(t *testing.T) {
	path := family(t, "philosophers", "4")
	args := []string{"explore", path, "-q", "--trace", "deadlock", "--order", "any"}
	c := try.Run(t, args...)
	want := "\na deadlock, and the way there is not known (--order bfs from the beginning shows " +
		"one):\n  end  "
	if c.Code() != 0 || !strings.Contains(c.Out.String(), want) {
		t.Errorf("exit code %d, %s", c.Code(), &c.Out)
	}
	o := exploreJSON(t, append(args, "--json")...)
	if tr := o["traces"].([]any)[0].(map[string]any); tr["alone"] != true || o["trace"] != nil ||
		len(tr["end"].(map[string]any)) != 4 {
		t.Errorf("%v", o)
	}
}

// A limit ends a search with exit code 3, and is named.
func TestLimits(t *testing.T) {
	path := family(t, "philosophers", "8")
	for flag, says := range map[string]string{"--max-depth": "INCOMPLETE: limit reached: the " +
		"states up to depth 2 were expanded", "--max-states": "and the limit is 2\n"} {
		c := try.Run(t, "explore", path, "-q", flag, "2")
		if c.Code() != cli.ExitIncomplete || !strings.Contains(c.Out.String(), says) {
			t.Errorf("%s: exit code %d, %s", flag, c.Code(), &c.Out)
		}
		o := try.Object(t, try.Run(t, "explore", path, flag, "2", "--json"))
		if o["complete"] != false || o["reason"] != "limit reached" {
			t.Errorf("%v", o)
		}
	}
}

// A transition that never fires is a warning.
func TestNeverFires(t *testing.T) {
	n := &petri.Net{Name: "n", Places: []petri.Place{{ID: "p", Name: "p", Initial: 1},
		{ID: "q", Name: "q"}},
		Transitions: []petri.Transition{{ID: "idle", Name: "idle",
			In: []petri.Arc{{Place: 1, Weight: 1}}}}}
	path := try.WriteNet(t, n)
	c := try.Run(t, "explore", path, "-q")
	if c.Code() != 0 ||
		!strings.Contains(c.Out.String(), "\nWARNING: a transition never fires: idle\n") {
		t.Errorf("exit code %d, %s", c.Code(), &c.Out)
	}
	if o := exploreJSON(t, "explore", path, "--json"); len(o["neverFire"].([]any)) != 1 {
		t.Errorf("%v", o)
	}
}

// twoAtATime is a net whose only firing takes both tokens of a, so that u, which needs one of a and
// one of b, never fires. Its bounds and invariants do not show that.
const twoAtATime = `<pnml><net id="n"><place id="a"><initialMarking><text>2</text></initialMarking>
</place><place id="b"/><transition id="t"/><transition id="u"/>
<arc source="a" target="t" weight="2"/><arc source="t" target="b" weight="2"/>
<arc source="a" target="u"/><arc source="b" target="u"/>
<arc source="u" target="a"/><arc source="u" target="b"/></net></pnml>`

// A trace shows the answer of a property. Liveness is answered by a deadlock or by a marking from
// which a transition never fires again, and one of them is enough.
func TestTraceOfLiveness(t *testing.T) {
	path := try.File(t, "net.pnml", twoAtATime)
	for _, walk := range []string{"0", "10"} {
		o := try.ObjectHere(t, 0, "explore", path, "-n", "1", "-q", "--json", "--walk", walk,
			"--trace",
			"witness", "--examination", "Liveness", "--examination", "QuasiLiveness")
		traces := o["traces"].([]any)
		first := traces[0].(map[string]any)
		firings := first["firings"].([]any)
		if len(traces) != 1 || first["property"] != "Liveness" || len(firings) != 1 {
			t.Errorf("--walk %s: %v", walk, traces)
		}
	}
}

// What the structure of a net answers is shown by the initial marking, if by any.
func TestTraceByStructure(t *testing.T) {
	path := try.File(t, "net.pnml", `<pnml><net id="n"><place id="a" initialMarking="1"/>
		<place id="b"/><transition id="t"/><transition id="dead"/><arc source="a" target="t"/>
		<arc source="t" target="a"/><arc source="b" target="dead"/></net></pnml>`)
	o := try.Here(t, "explore", path, "-n", "1", "-q", "--trace", "witness", "--bound", "tokens(a)",
		"--always", "tokens(b) = 1", "--sometimes", "tokens(b) = 0", "--examination", "Liveness",
		"--examination", "QuasiLiveness", "--always", "tokens(b) = 0", "--sometimes",
		"tokens(b) = 1")
	const is = "\nthe initial marking is a marking "
	o.Has(t, 0, is+"that shows bound tokens(a) = 1\n", is+"that shows always tokens(b) = 1\n",
		is+"that shows sometimes tokens(b) = 0\n", is+"from which dead never fires again\n",
		"!shows QuasiLiveness", "!shows always tokens(b) = 0", "!shows sometimes tokens(b) = 1",
		"!no marking that was found")
	try.Here(t, "explore", path, "-n", "1", "-q", "--trace", "witness", "--always",
		"tokens(b) = 0").Has(t, 0, "\nno marking that was found shows an answer\n")
}

// A walk may have come to the largest value of a bound that can be, and to values from which
// nobody knows the way back.
func TestTraceOfWalkedBound(t *testing.T) {
	net := &petri.Net{Name: "n", Places: []petri.Place{{ID: "a", Name: "a", Initial: 3},
		{ID: "b", Name: "b"}}, Transitions: []petri.Transition{{ID: "t", Name: "t",
		In: arcTo(0, 1), Out: arcTo(1, 1)}}}
	bound := property.Property{Name: "X", Kind: property.Bound,
		Sum: property.Sum{Terms: []property.Term{{Place: 1, Weight: 1}}}}
	p, err := packing.New(net, packing.Options{Properties: []property.Property{bound}})
	if err != nil {
		t.Fatal(err)
	}
	res := &explore.Result{Findings: make([]uint64, p.Findings())}
	finding := p.Answers(res)[0].Witness
	res.Findings[finding] = 3 + 1
	goals := func() (all []string, unknown []string) {
		traces, unknown, err := newTraces(net, res, p, "witness")
		if err != nil {
			t.Fatal(err)
		}
		for _, trace := range traces {
			all = append(all, fmt.Sprint(trace.goal, " ", trace.ByWalk, " ", trace.Firings))
		}
		return all, unknown
	}
	all, unknown := goals()
	if len(all) > 0 || fmt.Sprint(unknown) != "[a marking that shows X >= 3]" {
		t.Errorf("without a walk: %q, %q", all, unknown)
	}
	var text strings.Builder
	printTraces(&text, "", "witness", nil, unknown)
	if !strings.HasPrefix(text.String(), "a marking that shows X >= 3 was found, and the way ") {
		t.Errorf("without a walk: %s", &text)
	}
	res.Findings[finding+1] = 1
	res.Walks = map[int]explore.Walk{finding + 1: {Number: 1, Length: 3}}
	all, unknown = goals()
	if fmt.Sprint(all) != "[a marking that shows X = 3 true [t t t]]" || len(unknown) > 0 {
		t.Errorf("after a walk: %q, %q", all, unknown)
	}
}
