package property

import (
	"fmt"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
)

// Soundness are the properties that make a workflow net sound if all are true: that from each
// reachable marking the final one is reached, that no tokens are left elsewhere when it is, and
// that each transition can fire. (W. van der Aalst, The Application of Petri Nets to Workflow
// Management, 1998.)
//
// A workflow net has one place without incoming arcs, which has all tokens at first, and one
// without outgoing arcs, where the final marking has as many. All nodes are on paths from one to
// the other. If the file names a final marking, it must be that one.
func Soundness(net *petri.Net) ([]Property, error) {
	source, sink, err := workflow(net)
	if err != nil {
		return nil, fmt.Errorf("this is no workflow net: %w", err)
	}
	tokens := net.Places[source].Initial
	if err := final(net, sink, tokens); err != nil {
		return nil, err
	}
	var elsewhere Sum // the tokens that must be gone
	for i := range net.Places {
		if i != sink {
			elsewhere.Terms = append(elsewhere.Terms, Term{Place: i, Weight: 1})
		}
	}
	there := Sum{Terms: []Term{{Place: sink, Weight: 1}}}
	some := Sum{Constant: tokens}
	done := logic.Of(logic.And, logic.Leaf(&AtMost{Left: there, Right: some}),
		logic.Leaf(&AtMost{Left: some, Right: there}), logic.Leaf(&AtMost{Left: elsewhere}))
	few := logic.Leaf(&AtMost{Left: there, Right: Sum{Constant: tokens - 1}})
	return []Property{
		{Name: "Soundness: option to complete", Kind: Temporal,
			Formula: logic.Of(logic.Forall, logic.Of(logic.Globally,
				logic.Of(logic.Exists, logic.Of(logic.Finally, done))))},
		{Name: "Soundness: proper completion", Kind: Always,
			Formula: logic.Of(logic.Or, few, done)},
		{Name: "Soundness: no dead transitions", Kind: QuasiLive},
	}, nil
}

// final refuses final markings other than so many tokens in the sink.
func final(net *petri.Net, sink int, tokens int64) error {
	for _, marking := range net.Final {
		if len(marking) != 1 || marking[0] != (petri.Arc{Place: sink, Weight: tokens}) {
			return fmt.Errorf("the file names another final marking than %d in place %s, where a "+
				"workflow net ends", tokens, net.Places[sink].ID)
		}
	}
	return nil
}

// workflow returns the places where a workflow net begins and ends.
func workflow(net *petri.Net) (source, sink int, err error) {
	places := len(net.Places)
	next := make([][]int, places+len(net.Transitions)) // places and then transitions
	before := make([][]int, len(next))
	join := func(from, to int) {
		next[from], before[to] = append(next[from], to), append(before[to], from)
	}
	for i := range net.Transitions {
		t := &net.Transitions[i]
		for _, a := range t.In {
			join(a.Place, places+i)
		}
		for _, place := range t.Resets {
			join(place, places+i)
		}
		for _, a := range t.Out {
			join(places+i, a.Place)
		}
	}
	if source, err = onlyEnd(net, before, "incoming"); err != nil {
		return 0, 0, err
	}
	if sink, err = onlyEnd(net, next, "outgoing"); err != nil {
		return 0, 0, err
	}
	for i, p := range net.Places {
		if p.Initial > 0 != (i == source) {
			return 0, 0, fmt.Errorf("place %s has %d tokens at first; all tokens must be in place "+
				"%s", p.ID, p.Initial, net.Places[source].ID)
		}
	}
	from, to := reached(next, source), reached(before, sink)
	for i := range from {
		if from[i] && to[i] {
			continue
		}
		node := "transition "
		if i < places {
			node = "place " + net.Places[i].ID
		} else {
			node += net.Transitions[i-places].ID
		}
		return 0, 0, fmt.Errorf("%s is on no path from place %s to place %s", node,
			net.Places[source].ID, net.Places[sink].ID)
	}
	return source, sink, nil
}

// onlyEnd is the only place that has no neighbours.
func onlyEnd(net *petri.Net, neighbours [][]int, arcs string) (int, error) {
	only := -1
	for i := range net.Places {
		switch {
		case len(neighbours[i]) > 0:
		case only >= 0:
			return 0, fmt.Errorf("places %s and %s have no %s arcs; one must have none",
				net.Places[only].ID, net.Places[i].ID, arcs)
		default:
			only = i
		}
	}
	if only < 0 {
		return 0, fmt.Errorf("each place has %s arcs; one must have none", arcs)
	}
	return only, nil
}

// reached are the nodes that paths from one lead to.
func reached(next [][]int, from int) []bool {
	seen, pending := make([]bool, len(next)), []int{from}
	seen[from] = true
	for len(pending) > 0 {
		at := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for _, to := range next[at] {
			if !seen[to] {
				seen[to], pending = true, append(pending, to)
			}
		}
	}
	return seen
}
