package petri_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
)

// arcs of the only place, with these weights.
func arcs(weights ...int64) (all []petri.Arc) {
	for _, w := range weights {
		all = append(all, petri.Arc{Weight: w})
	}
	return all
}

// TestArcTypes reads arcs between a place p and a transition t as tools write them.
func TestArcTypes(t *testing.T) {
	const (
		value   = "<arc source='p' target='t'><type value='%s'/></arc>"
		arctype = "<arc source='p' target='t'><arctype><text>%s</text></arctype></arc>"
		attr    = "<arc source='p' target='t' type='%s' weight='3'/>"
		normal  = "<arc source='p' target='t' weight='%d'/>"
		back    = "<arc source='t' target='p' weight='%d'/>"
	)
	inhibited, reset := petri.Transition{Inhibitors: arcs(1)}, petri.Transition{Resets: []int{0}}
	reads := func(weight int64) petri.Transition {
		return petri.Transition{In: arcs(weight), Out: arcs(weight)}
	}
	for _, c := range []struct {
		arcs string
		want petri.Transition
	}{
		{fmt.Sprintf(value, "inhibitor"), inhibited},
		{fmt.Sprintf(value, "INHIBITOR"), inhibited},
		{fmt.Sprintf(arctype, "inhibitor"), inhibited},
		{fmt.Sprintf(attr, "tapnInhibitor"), petri.Transition{Inhibitors: arcs(3)}},
		{"<inhibitorArc source='p' target='t' inscription='[0,inf)' weight='2'/>",
			petri.Transition{Inhibitors: arcs(2)}},
		{"<arc source='p' target='t'><inhibitor/></arc>", inhibited},
		{fmt.Sprintf(attr, "inhibitor") + fmt.Sprintf(value, "inhibitor"), inhibited},
		{fmt.Sprintf(normal, 2) + fmt.Sprintf(attr, "inhibitor"),
			petri.Transition{In: arcs(2), Inhibitors: arcs(3)}},
		{fmt.Sprintf(value, "reset"), reset},
		{fmt.Sprintf(arctype, "reset") + "<arc source='p' target='t'><reset/></arc>", reset},
		{fmt.Sprintf(normal, 2) + fmt.Sprintf(back, 4) + fmt.Sprintf(value, "reset"),
			petri.Transition{In: arcs(2), Out: arcs(4), Resets: []int{0}}},
		{fmt.Sprintf(attr, "read"), reads(3)},
		{fmt.Sprintf(attr, "test") + fmt.Sprintf(value, "read"), reads(3)},
		{"<arc source='t' target='p'><test/></arc>", reads(1)},
		// Two conditions: 3 tokens are needed, and 2 are taken.
		{fmt.Sprintf(normal, 2) + fmt.Sprintf(attr, "read"),
			petri.Transition{In: arcs(3), Out: arcs(1)}},
		{fmt.Sprintf(normal, 4) + fmt.Sprintf(attr, "read"), petri.Transition{In: arcs(4)}},
		{fmt.Sprintf(back, 2) + fmt.Sprintf(attr, "read"),
			petri.Transition{In: arcs(3), Out: arcs(5)}},
		// What is read is not put back into a place that the firing empties.
		{fmt.Sprintf(attr, "read") + fmt.Sprintf(value, "reset"),
			petri.Transition{In: arcs(3), Resets: []int{0}}},
	} {
		n, err := petri.Read(strings.NewReader(inNet(twoNodes + c.arcs)))
		if err != nil {
			t.Errorf("%s: %v", c.arcs, err)
			continue
		}
		got := n.Transitions[0]
		got.ID, got.Name = "", ""
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %+v, want %+v", c.arcs, got, c.want)
		}
		var file strings.Builder
		if err := petri.Write(&file, n); err != nil {
			t.Fatal(err)
		}
		if again, err := petri.Read(strings.NewReader(file.String())); err != nil ||
			!reflect.DeepEqual(again, n) {
			t.Errorf("%s: written and read again it is %+v (%v)", c.arcs, again, err)
		}
	}
}

// The arcs of a transition lead to the places that they name: other arcs do not get into a list.
func TestArcsOfSeveralPlaces(t *testing.T) {
	file := "<place id='q'/><place id='r'/>" + twoNodes +
		"<arc source='r' target='t' type='read'/>" +
		"<arc source='q' target='t' type='read' weight='2'/>" +
		"<arc source='p' target='t'/><arc source='r' target='t' type='reset'/>" +
		"<arc source='q' target='t' type='inhibitor' weight='5'/><arc source='t' target='p'/>"
	n, err := petri.Read(strings.NewReader(inNet(file)))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Check(); err != nil {
		t.Error(err)
	}
	q, r, p := 0, 1, 2
	want := petri.Transition{ID: "t", Name: "t",
		In: []petri.Arc{{Place: q, Weight: 2}, {Place: r, Weight: 1},
			{Place: p, Weight: 1}},
		Out:        []petri.Arc{{Place: q, Weight: 2}, {Place: p, Weight: 1}},
		Inhibitors: []petri.Arc{{Place: q, Weight: 5}}, Resets: []int{r}}
	if got := n.Transitions[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A transition with inhibitor and reset arcs fires as the package comment says.
func TestFireSpecial(t *testing.T) {
	at := petri.Transition{In: arcs(1), Out: arcs(2), Inhibitors: arcs(4), Resets: []int{0}}
	for tokens := range int64(6) {
		m := []int64{tokens}
		if can := at.Enabled(m); can != (tokens >= 1 && tokens < 4) {
			t.Errorf("with %d tokens enabled is %v", tokens, can)
		}
		if at.Fire(m); m[0] != 2 {
			t.Errorf("from %d tokens to %d", tokens, m[0])
		}
	}
	for _, c := range []struct {
		net   petri.Transition
		plain bool
	}{{petri.Transition{In: arcs(1), Out: arcs(1)}, true},
		{petri.Transition{Inhibitors: arcs(1)}, false},
		{petri.Transition{Resets: []int{0}}, false}} {
		n := petri.Net{Transitions: []petri.Transition{{}, c.net}}
		if n.Plain() != c.plain {
			t.Errorf("%+v: plain is %v", c.net, n.Plain())
		}
	}
}
