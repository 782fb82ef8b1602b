package property_test

import (
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// workflow reads a net of places i, a, b and o, and transitions with the places that they take from
// and add to. There are so many tokens in i.
func workflow(t *testing.T, tokens int64, transitions ...string) *petri.Net {
	t.Helper()
	n := &petri.Net{}
	for _, id := range []string{"i", "a", "b", "o"} {
		n.Places = append(n.Places, petri.Place{ID: id, Name: id})
	}
	n.Places[0].Initial = tokens
	arcs := func(places string) (all []petri.Arc) {
		for p := range n.Places {
			if w := strings.Count(places, n.Places[p].ID); w > 0 {
				all = append(all, petri.Arc{Place: p, Weight: int64(w)})
			}
		}
		return all
	}
	for _, text := range transitions {
		in, out, _ := strings.Cut(text, ">")
		n.Transitions = append(n.Transitions, petri.Transition{ID: text, Name: text,
			In: arcs(in), Out: arcs(out)})
	}
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	return n
}

// The properties hold in those markings in which they should, of a net that begins with 2 tokens.
func TestSoundness(t *testing.T) {
	n := workflow(t, 2, "i>ab", "ab>o")
	n.Final = [][]petri.Arc{{{Place: 3, Weight: 2}}}
	all, err := property.Soundness(n)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	done := all[0].Formula.Args[0].Args[0].Args[0].Args[0] // AG EF done
	for _, c := range []struct {
		marking      []int64
		done, proper bool
	}{{[]int64{2, 0, 0, 0}, false, true}, {[]int64{0, 0, 0, 2}, true, true},
		{[]int64{0, 1, 0, 2}, false, false}, {[]int64{0, 0, 0, 3}, false, false},
		{[]int64{0, 1, 1, 1}, false, true}, {[]int64{1, 0, 0, 2}, false, false}} {
		if got := property.Holds(done, n, c.marking); got != c.done {
			t.Errorf("%v is final: %v", c.marking, got)
		}
		if got := property.Holds(all[1].Formula, n, c.marking); got != c.proper {
			t.Errorf("%v is proper: %v", c.marking, got)
		}
	}
	if all[0].Kind != property.Temporal || all[1].Kind != property.Always ||
		all[2].Kind != property.QuasiLive {
		t.Errorf("%+v", all)
	}
}

// What is no workflow net is refused, and so is another final marking.
func TestNoWorkflow(t *testing.T) {
	source := workflow(t, 1, "i>ab", "ab>o")
	source.Transitions = append(source.Transitions, petri.Transition{ID: "t", Name: "t",
		Out: []petri.Arc{{Place: 3, Weight: 1}}})
	reset := workflow(t, 1, "i>a", "a>o", "a>b")
	reset.Transitions[1].Resets = []int{2}
	if _, err := property.Soundness(reset); err != nil {
		t.Errorf("a reset arc is the way out: %v", err)
	}
	marked := workflow(t, 1, "i>ab", "ab>o")
	marked.Places[2].Initial = 1
	other := workflow(t, 1, "i>ab", "ab>o")
	other.Final = [][]petri.Arc{{{Place: 3, Weight: 2}}}
	nowhere := workflow(t, 1, "i>ab", "ab>o")
	nowhere.Final = [][]petri.Arc{{}}
	for want, n := range map[string]*petri.Net{
		"transition t is on no path":                  source,
		"places b and o have no outgoing":             workflow(t, 1, "i>a", "a>b", "a>o"),
		"places i and b have no incoming":             workflow(t, 1, "i>a", "ab>o"),
		"each place has outgoing":                     workflow(t, 1, "i>ab", "ab>o", "o>a"),
		"each place has incoming":                     workflow(t, 1, "i>ab", "ab>o", "o>i"),
		"place i has 0 tokens at first":               workflow(t, 0, "i>ab", "ab>o"),
		"place b has 1 tokens at first":               marked,
		"place a is on no path from place i":          workflow(t, 1, "i>b", "b>o", "a>a"),
		"another final marking than 1 in place o":     other,
		"names another final marking than 1 in place": nowhere,
	} {
		if _, err := property.Soundness(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
