package temporal

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// Lasso is a path of which a formula is true: its steps, and then for ever again the steps from
// Back on. The last step leads to the state of step Back. Where Back is -1 the path ends in a
// deadlock.
type Lasso struct {
	Steps []explore.Step
	Back  int
}

// shows is the product whose runs make a formula false; nil if it is not Forall of a path.
func (q *question) shows() *product {
	if len(q.steps) == 0 {
		return nil
	}
	p, ok := q.steps[len(q.steps)-1].(*product)
	if !ok || q.root.Op != logic.Not || q.root.Args[0].Atom != p.leads+p.start {
		return nil
	}
	return p
}

// node is a state of the system with one of the automaton.
type node struct {
	state []uint64
	at    int
}

// key is what no other node has.
func (n node) key() string {
	all := make([]byte, 0, 64)
	for _, word := range n.state {
		all = binary.LittleEndian.AppendUint64(all, word)
	}
	return string(append(all, byte(n.at)))
}

// arc leads from one node to another. Its action is -1 where a deadlock repeats.
type arc struct {
	to     node
	action int
	sets   uint64
}

// region is where a lasso is.
type region interface {
	// loops reports whether a node may be on the loop. All other nodes are on the way there.
	loops(ctx context.Context, n node) (bool, error)
	// arcs are the arcs from a node on the way, or from one of the loop to others.
	arcs(ctx context.Context, from node, loop bool) ([]arc, error)
}

// arcs are the arcs from a state of the automaton, with the state of the system at hand, whose
// labels have this truth. They lead to those states that are allowed together with successor k, or
// with the same state again, -1.
func (p *product) arcs(at *explore.Visit, from int, truth uint64, loop bool,
	allowed func(k int) uint64) (all []arc) {
	enabled, words := uint64(0), len(at.State)
	for _, marks := range at.Marks {
		enabled |= marks
	}
	for i := range p.transitions {
		t := &p.transitions[i]
		if t.from != from || loop && !t.inner || !t.takes(truth) {
			continue
		}
		if len(at.Next) == 0 && allowed(-1)>>t.To&1 != 0 {
			all = append(all, arc{node{at.State, t.To}, -1, t.Sets | p.met()<<p.own})
		}
		for k := range len(at.Next) / words {
			if allowed(k)>>t.To&1 == 0 {
				continue
			}
			sets := t.Sets
			if at.Marks != nil {
				sets |= (at.Marks[k] | ^enabled&mask(p.weak)) << p.own
			}
			all = append(all, arc{node{at.Next[k*words:][:words:words], t.To}, k, sets})
		}
	}
	return all
}

// left is what the sweeps of a product have left.
type left struct {
	states *explore.States
	*product
	known map[string]*explore.Visit
}

// look is a state, and what is known about it and its successors.
func (l *left) look(ctx context.Context, state []uint64) (*explore.Visit, error) {
	key := node{state: state}.key()
	if at := l.known[key]; at != nil {
		return at, nil
	}
	at, err := l.states.Look(ctx, state)
	l.known[key] = &at
	return &at, err
}

func (l *left) loops(ctx context.Context, n node) (bool, error) {
	at, err := l.look(ctx, n.state)
	return err == nil && l.kernel(at.Words)>>n.at&1 != 0, err
}

func (l *left) arcs(ctx context.Context, from node, loop bool) ([]arc, error) {
	at, err := l.look(ctx, from.state)
	if err != nil {
		return nil, err
	}
	width := len(at.Words)
	return l.product.arcs(at, from.at, l.truth(at.Words), loop, func(k int) uint64 {
		words := at.Words
		if k >= 0 {
			words = at.NextWords[k*width:][:width]
		}
		if loop {
			return l.kernel(words)
		}
		return bitsOf(words, l.leads, l.product.states)
	}), nil
}

// errNoLasso means that the model has other successors than before.
var errNoLasso = errors.New("temporal: the path of a counterexample is not there any more; make " +
	"Expand of the model give the same successors whenever it is given the same state")

// find is a shortest way from a node to an arc, which is its end; nil if there is none.
func find(ctx context.Context, r region, from node, loop bool, goal func(arc) (bool, error)) (
	[]arc, error) {
	type step struct {
		before int
		arc
	}
	seen := map[string]bool{from.key(): true}
	way := []step{{-1, arc{to: from}}}
	for i := 0; i < len(way); i++ {
		arcs, err := r.arcs(ctx, way[i].to, loop)
		if err != nil {
			return nil, err
		}
		for _, a := range arcs {
			if there, err := goal(a); err != nil {
				return nil, err
			} else if there {
				all := []arc{a}
				for k := i; k > 0; k = way[k].before {
					all = append(all, way[k].arc)
				}
				slices.Reverse(all)
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

// lasso goes from a node to the kernel, and there from arcs of one set to arcs of the next. If no
// way leads back from the end of such a round to its beginning, less is reached from there, and the
// next round begins. An arc that meets a strong condition is left out where none is reached: then
// none can be taken either.
func (p *product) lasso(ctx context.Context, r region, begin node) (*Lasso, error) {
	initial := begin.state
	way := []arc(nil)
	there, err := r.loops(ctx, begin)
	if err != nil {
		return nil, err
	}
	if !there {
		way, err = find(ctx, r, begin, false, func(a arc) (bool, error) {
			return r.loops(ctx, a.to)
		})
		if err != nil {
			return nil, err
		}
		if way == nil {
			return nil, errNoLasso
		}
		begin = way[len(way)-1].to
	}
	missing := uint64(0) // strong conditions that nothing meets here
	for {
		round, err := p.round(ctx, r, begin, &missing)
		if err != nil {
			return nil, err
		}
		at := round[len(round)-1].to
		var back []arc
		if at.key() != begin.key() {
			key := begin.key()
			back, err = find(ctx, r, at, true, func(a arc) (bool, error) {
				return a.to.key() == key, nil
			})
			if err != nil {
				return nil, err
			}
		}
		if at.key() == begin.key() || back != nil {
			return lassoOf(initial, append(way, append(round, back...)...), len(way)), nil
		}
		way, begin = append(way, round...), at
	}
}

// round goes to an arc of each set in turn, unless an arc of it was taken on the way.
func (p *product) round(ctx context.Context, r region, at node, missing *uint64) ([]arc, error) {
	var round []arc
	taken := *missing
	for set := range p.sets {
		if taken>>set&1 != 0 {
			continue
		}
		some, err := find(ctx, r, at, true, func(a arc) (bool, error) {
			return a.sets>>set&1 != 0, nil
		})
		switch {
		case err != nil:
			return nil, err
		case some == nil && set < p.own+p.weak:
			return nil, errNoLasso
		case some == nil:
			*missing |= 1 << set
			continue
		}
		for _, a := range some {
			taken |= a.sets
		}
		round = append(round, some...)
		at = round[len(round)-1].to
	}
	if len(round) > 0 {
		return round, nil
	}
	return find(ctx, r, at, true, func(arc) (bool, error) { return true, nil })
}

// lassoOf is a lasso of arcs.
func lassoOf(initial []uint64, arcs []arc, back int) *Lasso {
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
