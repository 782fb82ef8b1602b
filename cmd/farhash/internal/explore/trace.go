package explore

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/packing"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/report"
)

// netTrace is a firing sequence to a marking that shows something. The fields are named as in
// --json.
type netTrace struct {
	Property string   `json:"property,omitempty"` // empty: a deadlock, as --trace asks
	Firings  []string `json:"firings"`            // the ids of the transitions
	// Shortest: no shorter one exists.
	Shortest bool `json:"shortest"`
	// ByWalk: a random walk has found it.
	ByWalk bool `json:"byWalk,omitempty"`
	// Alone: how End was reached is not known.
	Alone bool `json:"alone,omitempty"`
	// Back: the firings after the first Back ones repeat for ever.
	Back *int `json:"back,omitempty"`
	// Tokens of the places that have some.
	Begin map[string]int64 `json:"begin,omitempty"`
	End   map[string]int64 `json:"end"`

	path       bool   // the path as a whole shows the answer, and not where it leads to
	goal       string // what it leads to
	begin, end string // the markings as text
	net        *petri.Net
	numbers    []int // of the transitions
}

// newNetTrace is the firing sequence of some transitions from the initial marking on.
func newNetTrace(net *petri.Net, transitions []int) netTrace {
	t := netTrace{Firings: make([]string, len(transitions)), net: net, numbers: transitions}
	marking := net.Initial()
	t.Begin, t.begin = tokens(net, marking)
	for i, number := range transitions {
		t.Firings[i] = net.Transitions[number].ID
		net.Transitions[number].Fire(marking)
	}
	t.End, t.end = tokens(net, marking)
	return t
}

// tokens are the tokens of the places that have some, by id and as text.
func tokens(net *petri.Net, marking []int64) (byID map[string]int64, text string) {
	byID = map[string]int64{}
	var all []string
	for i, n := range marking {
		if n != 0 {
			id := net.Places[i].ID
			byID[id] = n
			all = append(all, fmt.Sprintf("%s=%d", report.Printable(id), n))
		}
	}
	if len(all) == 0 {
		return byID, "no tokens"
	}
	return byID, strings.Join(all, " ")
}

// newTraces are the traces of a search. For deadlocks there is one at most; for witnesses, one for
// each property that a marking shows, in the order of the questions. unknown are the goals of
// those that are shown by a marking to which no way is known.
func newTraces(net *petri.Net, res *explore.Result, p *packing.Packing, traced string) (
	all []netTrace, unknown []string, err error) {
	if traced == "deadlock" {
		for _, found := range res.Traces {
			t, err := traceTo(net, p, found)
			if err != nil {
				return nil, nil, err
			}
			t.goal = deadlockGoal
			all = append(all, t)
		}
	}
	if traced != "witness" {
		return all, nil, nil
	}
	for _, known := range p.Answers(res) {
		t, ok, err := traceOf(net, p, known, res)
		if err != nil {
			return nil, nil, err
		}
		goal := shownGoal(&known, net)
		switch {
		case ok:
			t.Property, t.goal = known.Property.Name, goal
			all = append(all, t)
		case known.Witness == explore.Stranded,
			known.Witness >= 0 && res.Findings[known.Witness] != 0:
			unknown = append(unknown, goal)
		}
	}
	return all, unknown, nil
}

// traceOf is the trace to a marking that shows an answer; ok is false if none does or no way there
// is known.
func traceOf(net *petri.Net, p *packing.Packing, a property.Answer, res *explore.Result) (
	t netTrace, ok bool, err error) {
	if shownAtOnce(a) {
		t = newNetTrace(net, nil)
		t.Shortest = true
		return t, true, nil
	}
	if a.Witness == -1 {
		return t, false, nil
	}
	finding := a.Witness
	number := slices.IndexFunc(res.Traces, func(t explore.Trace) bool {
		return t.Target == finding
	})
	if number >= 0 && res.Traces[number].Steps != nil {
		t, err = traceTo(net, p, res.Traces[number])
		if a.Property.Kind == property.Temporal {
			t.path, t.Shortest = true, false
		}
		if back := res.Traces[number].Back - 1; back >= 0 {
			t.Back = &back
		}
		return t, err == nil, err
	}
	if a.Property.Kind == property.Bound {
		finding++ // the walk to the largest value that can be; the way to another is not kept
	}
	walk, walked := res.Walks[finding]
	if !walked {
		return t, false, nil
	}
	firings, err := p.Walked(finding, walk)
	if err != nil {
		return t, false, err
	}
	t = newNetTrace(net, firings)
	t.ByWalk, t.Shortest = true, len(firings) == 0
	return t, true, nil
}

// shownAtOnce reports whether the structure of the net gives an answer that the initial marking
// shows like all others.
func shownAtOnce(a property.Answer) bool {
	if !a.Structural {
		return false
	}
	switch a.Property.Kind {
	case property.Always, property.Live:
		return a.Verdict == logic.False
	case property.Sometimes:
		return a.Verdict == logic.True
	case property.Bound:
		return true
	}
	return false
}

// traceTo is the trace that a search has found.
func traceTo(net *petri.Net, p *packing.Packing, found explore.Trace) (netTrace, error) {
	if found.Alone {
		t := netTrace{Alone: true}
		t.End, t.end = tokens(net, p.Marking(found.Steps[0].State))
		return t, nil
	}
	firings, err := p.Path(found)
	if err != nil {
		return netTrace{}, err
	}
	t := newNetTrace(net, firings)
	t.Shortest = true
	return t, nil
}

// What traces lead to.
const deadlockGoal = "a deadlock"

func strandedGoal(net *petri.Net, transition int) string {
	return "a marking from which " + report.Printable(net.Transitions[transition].ID) +
		" never fires again"
}

// shownGoal is a marking that shows an answer, or the value of a bound.
func shownGoal(a *property.Answer, net *petri.Net) string {
	if a.Property.Kind == property.Live && a.Transition >= 0 {
		return strandedGoal(net, a.Transition)
	}
	goal := "a marking that shows " + report.Printable(a.Property.Name)
	switch {
	case a.Property.Kind == property.Temporal:
		return "a path that shows " + report.Printable(a.Property.Name)
	case a.Property.Kind != property.Bound:
	case a.Exact:
		goal += fmt.Sprintf(" = %d", a.Value)
	default:
		goal += fmt.Sprintf(" >= %d", a.Value)
	}
	return goal
}

// tracesCut says that a signal has ended the search for traces.
const tracesCut = "INTERRUPTED before all traces were found"

// called is what a trace is called: sequence, unless a walk has found it.
func (t *netTrace) called(sequence string) string {
	switch {
	case t.ByWalk:
		return "a random walk found a firing sequence, perhaps not a shortest one,"
	case !t.Shortest:
		return "a firing sequence, perhaps not a shortest one,"
	}
	return sequence
}

// print prints a trace. sequence is what a shortest one is called.
func (t *netTrace) print(w io.Writer, sequence string) {
	sequence = t.called(sequence)
	switch {
	case t.Alone:
		fmt.Fprintf(w, "%s, and the way there is not known (--order bfs from the beginning shows "+
			"one):\n  end  %s\n", t.goal, t.end)
		return
	case t.path:
		sequence = t.goal
	case len(t.Firings) == 0:
		fmt.Fprintf(w, "the initial marking is %s\n  begin  %s\n", t.goal, t.begin)
		return
	}
	if !t.path {
		sequence += " to " + t.goal
	}
	fmt.Fprintf(w, "%s, %s:\n  begin  %s\n", sequence, plural.Of(len(t.Firings), "firing"),
		t.begin)
	for _, id := range t.Firings {
		fmt.Fprintf(w, "  %s\n", report.Printable(id))
	}
	fmt.Fprintf(w, "  end  %s\n", t.end)
	if t.path {
		fmt.Fprintf(w, "  %s\n", t.goesOn())
	}
}

// goesOn says what comes after a path.
func (t *netTrace) goesOn() string {
	switch {
	case t.Back == nil:
		return "this is a deadlock"
	case *t.Back == 0:
		return "and so on for ever: this is the initial marking"
	}
	return fmt.Sprintf("and so on for ever: this is the marking after %s",
		plural.Of(*t.Back, "firing"))
}

// printTraces prints what --trace has asked for, of all markings unless that is a witness. unknown
// are the goals to which no way is known.
func printTraces(w io.Writer, sequence, traced string, traces []netTrace, unknown []string) {
	switch {
	case traced == "" || len(traces)+len(unknown) > 0:
	case traced == "witness":
		fmt.Fprintln(w, "no marking that was found shows an answer")
	default:
		fmt.Fprintln(w, "no deadlock is reachable")
	}
	for i := range traces {
		traces[i].print(w, sequence)
	}
	for _, goal := range unknown {
		fmt.Fprintf(w, "%s was found, and the way there is not known (--walk 0 with --order bfs "+
			"from the beginning may show one)\n", goal)
	}
}
