package reduce

import (
	"slices"
	"strconv"

	"github.com/farhash/farhash/statespace/petri"
)

// most is the largest weight and number of tokens: products of two of them do not overflow, nor
// does a sum of three products.
const most = 1 << 30

// arc is what a transition takes from a place and what it puts there.
type arc struct {
	place   int
	in, out int64
}

func (a arc) effect() int64 { return a.out - a.in }

// transition stands for some firings of the given net, one after the other.
type transition struct {
	arcs    []arc // sorted by place
	firings []int // transitions of the given net
	gone    bool
}

// at is the arc with a place, zero if there is none.
func (t *transition) at(place int) arc {
	i, ok := slices.BinarySearchFunc(t.arcs, place, func(a arc, place int) int {
		return a.place - place
	})
	if !ok {
		return arc{place: place}
	}
	return t.arcs[i]
}

// net is a net while it is reduced.
//
// Invariant: what is written of a run of it, transition by transition, is a run of the given net
// that follows begin, and the places that are left have the same tokens in both.
type net struct {
	tokens      []int64
	transitions []transition
	users       [][]int // by place: transitions with an arc; some may be gone
	removed     []bool  // by place
	begin       []int   // firings of the given net that lead to tokens
	// ends are firings of the given net that may be possible in a deadlock of what is left, by
	// transitions that a rule has taken out before others. The last ones come first.
	ends [][]int
	question
	steps int // that the rules may still take
}

// maxSteps bounds the work for one question. A net that it stops short of is right, and larger.
const maxSteps = 4_000_000

// newNet returns nil if the numbers of a net are too large, or if it has inhibitor or reset arcs:
// the rules know none.
func newNet(given *petri.Net) *net {
	if !given.Plain() {
		return nil
	}
	n := &net{tokens: given.Initial(), transitions: make([]transition, len(given.Transitions)),
		users: make([][]int, len(given.Places)), removed: make([]bool, len(given.Places)),
		steps: maxSteps}
	for _, tokens := range n.tokens {
		if tokens > most {
			return nil
		}
	}
	for i := range given.Transitions {
		t := &n.transitions[i]
		t.firings = []int{i}
		t.arcs = arcsOf(&given.Transitions[i])
		for _, a := range t.arcs {
			if a.in > most || a.out > most {
				return nil
			}
			n.users[a.place] = append(n.users[a.place], i)
		}
	}
	return n
}

// arcsOf joins the arcs of a transition that have the same place.
func arcsOf(t *petri.Transition) []arc {
	all := make([]arc, 0, len(t.In)+len(t.Out))
	for _, a := range t.In {
		all = append(all, arc{place: a.Place, in: a.Weight})
	}
	for _, a := range t.Out {
		at, ok := slices.BinarySearchFunc(all, a.Place, func(b arc, place int) int {
			return b.place - place
		})
		if !ok {
			all = slices.Insert(all, at, arc{place: a.Place})
		}
		all[at].out = a.Weight
	}
	return all
}

// usersOf are the transitions with an arc of a place.
func (n *net) usersOf(place int) []int {
	n.users[place] = slices.DeleteFunc(n.users[place], func(t int) bool {
		return n.transitions[t].gone
	})
	n.steps -= len(n.users[place]) + 1
	return n.users[place]
}

// drop removes a transition.
func (n *net) drop(t int) { n.transitions[t].gone = true }

// remove removes a place with its arcs.
func (n *net) remove(place int) {
	for _, t := range n.usersOf(place) {
		at := &n.transitions[t]
		at.arcs = slices.DeleteFunc(at.arcs, func(a arc) bool { return a.place == place })
	}
	n.users[place], n.removed[place] = nil, true
}

// add adds a transition.
func (n *net) add(t transition) {
	for _, a := range t.arcs {
		n.users[a.place] = append(n.users[a.place], len(n.transitions))
	}
	n.transitions = append(n.transitions, t)
}

// sizes are the numbers of places and transitions that are left.
func (n *net) sizes() (places, transitions int) {
	for _, removed := range n.removed {
		if !removed {
			places++
		}
	}
	for i := range n.transitions {
		if !n.transitions[i].gone {
			transitions++
		}
	}
	return places, transitions
}

// petri is the net that is left, and where it has the places; -1 where one is removed.
func (n *net) petri(given *petri.Net) (left *petri.Net, places []int, firings [][]int) {
	left = &petri.Net{Name: given.Name}
	places = make([]int, len(given.Places))
	for i := range places {
		if places[i] = -1; !n.removed[i] {
			places[i] = len(left.Places)
			id := "p" + strconv.Itoa(i)
			left.Places = append(left.Places, petri.Place{ID: id, Name: id, Initial: n.tokens[i]})
		}
	}
	for i := range n.transitions {
		t := &n.transitions[i]
		if t.gone {
			continue
		}
		id := "t" + strconv.Itoa(i)
		to := petri.Transition{ID: id, Name: id}
		for _, a := range t.arcs {
			if a.in > 0 {
				to.In = append(to.In, petri.Arc{Place: places[a.place], Weight: a.in})
			}
			if a.out > 0 {
				to.Out = append(to.Out, petri.Arc{Place: places[a.place], Weight: a.out})
			}
		}
		left.Transitions = append(left.Transitions, to)
		firings = append(firings, t.firings)
	}
	return left, places, firings
}
