package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/petri"
	"github.com/farhash/farhash/petri/packing"
	"github.com/farhash/farhash/petri/property"
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
	// Tokens of the places that have some.
	Begin map[string]int64 `json:"begin,omitempty"`
	End   map[string]int64 `json:"end"`

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
			all = append(all, fmt.Sprintf("%s=%d", printable(id), n))
		}
	}
	if len(all) == 0 {
		return byID, "no tokens"
	}
	return byID, strings.Join(all, " ")
}

// newTraces are the traces of a search, in the order of the questions.
func newTraces(net *petri.Net, res *explore.Result, p *packing.Packing) (all []netTrace,
	err error) {
	answers := p.Answers(res)
	for _, found := range res.Traces {
		t := netTrace{}
		walk, walked := res.Walks[found.Target]
		kind, goal, name := property.Sometimes, deadlockGoal, ""
		if found.Target != explore.Deadlock {
			shown := slices.IndexFunc(answers, func(a packing.Answer) bool {
				return a.Witness == found.Target
			})
			if shown < 0 {
				continue // another marking has answered: liveness has two kinds of them
			}
			known := answers[shown]
			kind, name = known.Property.Kind, known.Property.Name
			if goal = shownGoal(known.Property, known.Value); found.Target == explore.Stranded {
				goal = strandedGoal(net, known.Transition)
			}
		}
		var firings []int
		switch {
		case found.Alone:
			t.Alone = true
			t.End, t.end = tokens(net, p.Marking(found.Steps[0].State))
		case found.Steps != nil:
			firings, err = p.Firings(found.Steps)
		case walked && kind != property.Bound:
			firings, err = p.Walked(found.Target, walk)
		default:
			continue // a walk has come to a large value, and is not known
		}
		if err != nil {
			return nil, err
		}
		if !t.Alone {
			t = newNetTrace(net, firings)
		}
		t.Property, t.goal, t.ByWalk = name, goal, walked && found.Steps == nil
		t.Shortest = !t.Alone && (!t.ByWalk || len(t.Firings) == 0)
		all = append(all, t)
	}
	return all, nil
}

// What traces lead to.
const deadlockGoal = "a deadlock"

func strandedGoal(net *petri.Net, transition int) string {
	return "a marking from which " + printable(net.Transitions[transition].ID) +
		" never fires again"
}

// shownGoal is a marking that shows a property, or the value of a bound.
func shownGoal(p *property.Property, value int64) string {
	goal := "a marking that shows " + printable(p.Name)
	if p.Kind == property.Bound {
		goal += fmt.Sprintf(" = %d", value)
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
	case len(t.Firings) == 0:
		fmt.Fprintf(w, "the initial marking is %s\n  begin  %s\n", t.goal, t.begin)
		return
	}
	fmt.Fprintf(w, "%s to %s, %s:\n  begin  %s\n", sequence, t.goal,
		plural.Of(len(t.Firings), "firing"), t.begin)
	for _, id := range t.Firings {
		fmt.Fprintf(w, "  %s\n", printable(id))
	}
	fmt.Fprintf(w, "  end  %s\n", t.end)
}

// printTraces prints what --trace has asked for, of all markings unless that is a witness.
func printTraces(w io.Writer, sequence, traced string, traces []netTrace) {
	switch {
	case traced == "":
	case len(traces) == 0 && traced == "witness":
		fmt.Fprintln(w, "no marking that was found shows an answer")
	case len(traces) == 0:
		fmt.Fprintln(w, "no deadlock is reachable")
	}
	for i := range traces {
		traces[i].print(w, sequence)
	}
}
