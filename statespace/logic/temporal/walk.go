package temporal

import (
	"context"
	"math/rand/v2"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// Model is what a [Walker] walks on.
type Model interface {
	Atoms
	Fairness
	// ExpandMarked is as of explore.Marker.
	ExpandMarked(state, out, marks []uint64) (nextOut, nextMarks []uint64, err error)
}

// Walker looks for lassos that show that a formula is false, on walks through its model with an
// automaton. It stores the states of one walk alone.
//
// A walk takes the arc that meets what has not been met for longest, and sometimes any. It avoids
// arcs that the automaton cannot take, nor anything after them. Where it comes to a state of model
// and automaton where it has been, and all conditions were met since, there is a lasso.
type Walker struct {
	*product
	model  Model
	words  []uint64 // atoms of a state
	begin  int      // bit of the first atom
	atoms  []*logic.Formula
	random bool
	rng    *rand.Rand

	path  []node         // since the beginning
	runs  uint64         // states of the automaton that some run has come to
	base  int            // where the automaton was chosen; a loop begins there or later
	seen  map[string]int // where the path has been, from base on
	met   []int          // by set: how many steps there were when it was met last
	could []int          // by strong condition: the last step that could meet it, + 1
	all   []arc
}

// NewWalker returns a walker for a formula that is Forall of a path without Exists and Forall; nil
// for others.
func NewWalker(f *logic.Formula, model Model) *Walker {
	fair := &conditions{}
	fair.weak, fair.strong = model.Conditions()
	q := compile(f, 0, fair)
	if q.err != nil || q.shows() == nil || len(q.steps) > 1 {
		return nil
	}
	return &Walker{product: q.shows(), model: model, words: make([]uint64, (q.end+63)/64),
		begin: q.begin, atoms: q.atoms}
}

// Begin begins a walk in an initial state. Walks with other seeds differ; those with odd ones take
// any of several good arcs, the others the first.
func (w *Walker) Begin(initial []uint64, seed uint64) {
	w.random, w.rng = seed&1 != 0, rand.New(rand.NewPCG(seed, 0))
	w.path = append(w.path[:0], node{initial, w.start})
	w.runs = 1 << w.start
	w.met, w.could = make([]int, w.sets), make([]int, w.strong)
	w.enter(w.start)
}

// enter begins again to look for loops, with a state of the automaton.
func (w *Walker) enter(at int) {
	w.base = len(w.path) - 1
	w.path[w.base].at = at
	w.seen = map[string]int{w.path[w.base].key(): w.base}
}

// see is which labels are true of a state.
func (w *Walker) see(state []uint64, successors int) uint64 {
	clear(w.words)
	w.model.See(state, successors)
	for i, atom := range w.atoms {
		if bit := w.begin + i; w.model.Holds(atom) {
			w.words[bit/64] |= 1 << (bit % 64)
		}
	}
	return w.truth(w.words)
}

// starts are the states of the automaton that can take a transition where labels have this truth.
func (w *Walker) starts(truth uint64) (all uint64) {
	for i := range w.transitions {
		if w.transitions[i].takes(truth) {
			all |= 1 << w.transitions[i].from
		}
	}
	return all
}

// Step takes a step. It returns a lasso, if there is one now; over if the walk can take no step.
func (w *Walker) Step(ctx context.Context) (lasso *Lasso, over bool, err error) {
	last := &w.path[len(w.path)-1]
	at := explore.Visit{State: last.state}
	if at.Next, at.Marks, err = w.model.ExpandMarked(last.state, nil, nil); err != nil {
		return nil, true, err
	}
	truth := w.see(at.State, len(at.Marks))
	open := make([]uint64, len(at.Marks)) // by successor: what can go on there
	for k, n := 0, len(at.State); k < len(open); k++ {
		open[k] = w.starts(w.see(at.Next[k*n:][:n:n], -1))
	}
	allowed := func(k int) uint64 {
		if k < 0 {
			return mask(w.states)
		}
		return open[k]
	}
	w.all = w.arcs(&at, last.at, truth, false, allowed)
	for s := 0; s < w.states && len(w.all) == 0; s++ { // another run may go on
		if w.runs>>s&1 != 0 {
			w.enter(s)
			w.all = w.arcs(&at, s, truth, false, allowed)
		}
	}
	if len(w.all) == 0 {
		return nil, true, nil
	}
	w.advance(truth)
	a := w.choose()
	for set := range w.sets {
		if a.sets>>set&1 != 0 {
			w.met[set] = len(w.path)
		}
	}
	for _, marks := range at.Marks {
		for i := range w.could {
			if marks>>(w.weak+i)&1 != 0 {
				w.could[i] = len(w.path)
			}
		}
	}
	w.path = append(w.path, a.to)
	lasso, err = w.close(ctx)
	return lasso, lasso != nil, err
}

// advance finds out which states of the automaton runs come to.
func (w *Walker) advance(truth uint64) {
	next := uint64(0)
	for i := range w.transitions {
		if t := &w.transitions[i]; w.runs>>t.from&1 != 0 && t.takes(truth) {
			next |= 1 << t.To
		}
	}
	w.runs = next
}

// anyArc is how often any arc is taken: once in so many steps.
const anyArc = 8

// choose is the arc to take.
func (w *Walker) choose() arc {
	if w.random && w.rng.IntN(anyArc) == 0 {
		return w.all[w.rng.IntN(len(w.all))]
	}
	common := ^uint64(0)
	for i := range w.all {
		common &= w.all[i].sets
	}
	best, oldest, ties := 0, int(^uint(0)>>1), 0
	for i := range w.all {
		age := len(w.path) + 1 // it meets nothing that others do not
		for set := range w.sets {
			if (w.all[i].sets&^common)>>set&1 != 0 {
				age = min(age, w.met[set])
			}
		}
		if age < oldest {
			best, oldest, ties = i, age, 1
		} else if age == oldest && w.random {
			if ties++; w.rng.IntN(ties) == 0 {
				best = i
			}
		}
	}
	return w.all[best]
}

// close looks whether the path has been here, and has met all conditions since.
func (w *Walker) close(ctx context.Context) (*Lasso, error) {
	now := len(w.path) - 1
	key := w.path[now].key()
	first, been := w.seen[key]
	if !been {
		w.seen[key] = now
		return nil, nil
	}
	for set, met := range w.met {
		strong := set - w.own - w.weak
		if met <= first && (strong < 0 || w.could[strong] > first) {
			if strong >= 0 {
				w.seen[key] = now // a shorter loop may not be able to meet it
			}
			return nil, nil
		}
	}
	r := &walked{w, map[string]bool{}, map[string]bool{}}
	for i, n := range w.path {
		r.states[node{state: n.state}.key()] = true
		if i >= first {
			r.loop[n.key()] = true
		}
	}
	return w.lasso(ctx, r, node{w.path[0].state, w.start})
}

// walked is what a walk has passed.
type walked struct {
	*Walker
	states map[string]bool // of the model
	loop   map[string]bool // nodes
}

func (w *walked) loops(_ context.Context, n node) (bool, error) { return w.loop[n.key()], nil }

func (w *walked) arcs(_ context.Context, from node, loop bool) ([]arc, error) {
	at := explore.Visit{State: from.state}
	var err error
	if at.Next, at.Marks, err = w.model.ExpandMarked(from.state, nil, nil); err != nil {
		return nil, err
	}
	truth, words := w.see(from.state, len(at.Marks)), len(from.state)
	return w.product.arcs(&at, from.at, truth, loop, func(k int) (to uint64) {
		state := at.State
		if k >= 0 {
			state = at.Next[k*words:][:words]
		}
		switch {
		case !loop && w.states[node{state: state}.key()]:
			return mask(w.product.states)
		case loop:
			for s := range w.inner {
				if w.loop[node{state, s}.key()] {
					to |= 1 << s
				}
			}
		}
		return to
	}), nil
}
