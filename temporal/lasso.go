package temporal

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/explore"
)

// Lasso is a path of which a formula is true: its steps, and then for ever again the steps from
// Back on. The last step leads to the state of step Back. Where Back is -1 the path ends in a
// deadlock.
type Lasso struct {
	Steps []explore.Step
	Back  int
}

// node is a state of the system with one of the automaton.
type node struct {
	state []uint64
	at    int
}

func (n node) key() string { return fmt.Sprint(n.at, n.state) }

// arc leads from one node to another. Its action is -1 where a deadlock repeats.
type arc struct {
	to     node
	action int
	sets   uint64
}

// tracer finds a lasso among the nodes that a product has left.
type tracer struct {
	*solver
	*product
	known map[string]*explore.Visit
}

// visitOf is a state, and what is known about it and its successors.
func (t *tracer) visitOf(ctx context.Context, state []uint64) (*explore.Visit, error) {
	key := fmt.Sprint(state)
	if at := t.known[key]; at != nil {
		return at, nil
	}
	at, err := t.solver.states.Look(ctx, state)
	t.known[key] = &at
	return &at, err
}

// arcs are the arcs from a node to others that are left.
func (t *tracer) arcs(ctx context.Context, from node) (all []arc, err error) {
	at, err := t.visitOf(ctx, from.state)
	if err != nil {
		return nil, err
	}
	width, words := len(at.Words), len(at.State)
	var met []uint64
	if t.sets > t.own {
		met = t.fairness.Met(at, nil)
	}
	truth := t.truth(at.Words)
	for i := range t.transitions {
		x := &t.transitions[i]
		if x.from != from.at || x.True&^truth != 0 || x.False&truth != 0 {
			continue
		}
		if len(at.Next) == 0 && t.left(at.Words)>>x.To&1 != 0 {
			all = append(all, arc{node{from.state, x.To}, -1,
				x.Sets | (^uint64(0)>>(64-t.sets+t.own))<<t.own})
		}
		for k := range len(at.Next) / words {
			if t.left(at.NextWords[k*width:][:width])>>x.To&1 == 0 {
				continue
			}
			sets := x.Sets
			if met != nil {
				sets |= met[k] << t.own
			}
			all = append(all, arc{node{at.Next[k*words:][:words:words], x.To}, k, sets})
		}
	}
	return all, nil
}

// errNoLasso means that the model has other successors than before.
var errNoLasso = errors.New("temporal: the path of a counterexample is not there any more; make " +
	"Expand of the model give the same successors whenever it is given the same state")

// find is a shortest way from a node to an arc, which is its end; nil if there is none.
func (t *tracer) find(ctx context.Context, from node, goal func(arc) bool) ([]arc, error) {
	type step struct {
		before int
		arc
	}
	seen := map[string]bool{from.key(): true}
	way := []step{{-1, arc{to: from}}}
	for i := 0; i < len(way); i++ {
		arcs, err := t.arcs(ctx, way[i].to)
		if err != nil {
			return nil, err
		}
		for _, a := range arcs {
			if goal(a) {
				all := []arc{a}
				for k := i; k > 0; k = way[k].before {
					all = append([]arc{way[k].arc}, all...)
				}
				return all, nil
			}
			if key := a.to.key(); !seen[key] {
				seen[key] = true
				way = append(way, step{i, a})
			}
		}
	}
	return nil, nil
}

// lasso begins in an initial state. From a node that is left, arcs of each set are reached; a round
// takes one of each. If no way leads back from its end to its beginning, less is reached from
// there, and the next round begins.
func (t *tracer) lasso(ctx context.Context, initial []uint64) (*Lasso, error) {
	begin := node{state: initial}
	var way []arc
	for {
		at, round := begin, []arc(nil)
		for set := range max(t.sets, 1) {
			some, err := t.find(ctx, at, func(a arc) bool {
				return t.sets == 0 || a.sets>>set&1 != 0
			})
			if err != nil {
				return nil, err
			}
			if some == nil {
				return nil, errNoLasso
			}
			round = append(round, some...)
			at = round[len(round)-1].to
		}
		var back []arc
		var err error
		if at.key() != begin.key() {
			back, err = t.find(ctx, at, func(a arc) bool { return a.to.key() == begin.key() })
			if err != nil {
				return nil, err
			}
		}
		if at.key() == begin.key() || back != nil {
			return stepsOf(initial, append(way, append(round, back...)...), len(way)), nil
		}
		way, begin = append(way, round...), at
	}
}

// stepsOf is a lasso of arcs.
func stepsOf(initial []uint64, arcs []arc, back int) *Lasso {
	l := &Lasso{Steps: []explore.Step{{State: initial, Action: -1}}, Back: back}
	for _, a := range arcs {
		if a.action < 0 {
			l.Back = -1
			break
		}
		l.Steps = append(l.Steps, explore.Step{State: a.to.state, Action: a.action})
	}
	return l
}
