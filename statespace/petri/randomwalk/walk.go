package randomwalk

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/farhash/farhash/statespace/petri"
)

// Map is a net as walkers have it. Goroutines may share it.
type Map struct {
	net     *petri.Net
	changes [][]term // by transition: what its firing adds to places
	users   [][]user // by place: the transitions that need its tokens, those that need few first
	begin   position

	inhibited [][]user // by place: the transitions that so many tokens disable; nil if none are
	resets    [][]term // by transition: the tokens after a firing in places that it empties; or nil

	once    sync.Once
	arounds [][]int32 // by place: the transitions that have arcs with it; see around
}

// term is what a firing adds to the tokens of a place.
type term struct {
	place  int
	weight int64
}

// user is a transition that needs so many tokens of a place.
type user struct {
	transition int32
	weight     int64
}

// position is where a walk is.
type position struct {
	marking []int64 // and the number of enabled transitions
	missing []int32 // by transition: arcs whose place has too few tokens
	enabled []int32 // the transitions that are
	at      []int32 // by transition: where enabled has it; -1 if it is not
}

// New makes the map of a net. Transitions of which live says that they are not never fire; if live
// is nil, all may.
func New(net *petri.Net, live []bool) *Map {
	places, transitions := len(net.Places), len(net.Transitions)
	m := &Map{net: net, changes: make([][]term, transitions), users: make([][]user, places)}
	m.begin = position{marking: append(net.Initial(), 0), missing: make([]int32, transitions),
		at: make([]int32, transitions)}
	if !net.Plain() {
		m.inhibited, m.resets = make([][]user, places), make([][]term, transitions)
	}
	for t := range net.Transitions {
		m.begin.at[t] = -1
		if live != nil && !live[t] {
			m.begin.missing[t] = 1 // and no place has it for a user
			continue
		}
		m.changes[t] = changes(&net.Transitions[t])
		if m.resets != nil {
			m.special(t)
		}
		for _, a := range net.Transitions[t].In {
			m.users[a.Place] = append(m.users[a.Place], user{int32(t), a.Weight})
			if m.begin.marking[a.Place] < a.Weight {
				m.begin.missing[t]++
			}
		}
		if m.begin.missing[t] == 0 {
			m.begin.enable(int32(t))
		}
	}
	for _, users := range slices.Concat(m.users, m.inhibited) {
		slices.SortStableFunc(users, func(u, v user) int { return int(u.weight - v.weight) })
	}
	m.begin.marking[places] = int64(len(m.begin.enabled))
	return m
}

// special notes the inhibitor and reset arcs of a transition.
func (m *Map) special(t int) {
	at := &m.net.Transitions[t]
	for _, a := range at.Inhibitors {
		m.inhibited[a.Place] = append(m.inhibited[a.Place], user{int32(t), a.Weight})
		if m.begin.marking[a.Place] >= a.Weight {
			m.begin.missing[t]++
		}
	}
	for _, place := range at.Resets {
		m.changes[t] = slices.DeleteFunc(m.changes[t], func(c term) bool {
			return c.place == place
		})
		after := term{place: place}
		for _, a := range at.Out {
			if a.Place == place {
				after.weight = a.Weight
			}
		}
		m.resets[t] = append(m.resets[t], after)
	}
}

// changes is what a firing adds to the places that it changes, if it empties none.
func changes(t *petri.Transition) []term {
	var all []term
	in, out := t.In, t.Out
	for len(in)+len(out) > 0 {
		switch {
		case len(out) == 0 || len(in) > 0 && in[0].Place < out[0].Place:
			all = append(all, term{in[0].Place, -in[0].Weight})
			in = in[1:]
		case len(in) == 0 || out[0].Place < in[0].Place:
			all = append(all, term{out[0].Place, out[0].Weight})
			out = out[1:]
		default:
			if more := out[0].Weight - in[0].Weight; more != 0 {
				all = append(all, term{in[0].Place, more})
			}
			in, out = in[1:], out[1:]
		}
	}
	return all
}

func (p *position) enable(t int32) {
	p.at[t] = int32(len(p.enabled))
	p.enabled = append(p.enabled, t)
}

func (p *position) disable(t int32) {
	last := len(p.enabled) - 1
	at, moved := p.at[t], p.enabled[last]
	p.enabled[at], p.at[moved] = moved, at
	p.enabled, p.at[t] = p.enabled[:last], -1
}

// Walker walks. One goroutine uses it.
type Walker struct {
	m *Map
	position
	rng        rand.PCG
	goal       *Goal
	distance   int64
	stubborn   int // a step that leads away is taken once in 2^stubborn times
	length     int
	longest    int
	tries      int
	transition int32   // of the last step
	emptied    []int64 // the tokens of the places that the last firing has emptied, before it
}

// Walker returns a walker, which has not begun.
func (m *Map) Walker() *Walker { return &Walker{m: m} }

// The lengths of walks, in powers of two.
const (
	shortest = 8
	lengths  = 9
)

// Begin begins the walk of that number at the initial marking. A nil goal guides nowhere.
func (w *Walker) Begin(number uint64, goal *Goal) {
	from := &w.m.begin
	w.marking = append(w.marking[:0], from.marking...)
	w.missing = append(w.missing[:0], from.missing...)
	w.enabled = append(w.enabled[:0], from.enabled...)
	w.at = append(w.at[:0], from.at...)
	w.rng.Seed(number, 0x9e3779b97f4a7c15)
	drawn := w.rng.Uint64()
	w.goal, w.length, w.tries = goal, 0, 0
	w.longest = 1 << (shortest + min(bits.TrailingZeros64(drawn), lengths-1))
	if w.distance, w.stubborn = 0, 0; goal != nil {
		w.stubborn = 2 * int(drawn>>62)
		w.distance = goal.Distance(w.marking)
	}
}

// Step takes a step. It reports false where the walk is over: it is as long as was drawn, or no
// transition is enabled.
func (w *Walker) Step() bool {
	const patience = 8 // steps back for a step, on the average
	for w.length < w.longest && w.tries < patience*w.longest && len(w.enabled) > 0 {
		w.tries++
		drawn := w.rng.Uint64()
		pick, _ := bits.Mul64(drawn, uint64(len(w.enabled)))
		t := w.enabled[pick]
		if !w.fire(t, 1) {
			return false // a place has more tokens than petri.MaxTokens
		}
		if w.goal != nil {
			distance := w.goal.Distance(w.marking)
			if distance > w.distance && drawn&(1<<w.stubborn-1) != 0 {
				w.fire(t, -1)
				continue
			}
			w.distance = distance
		}
		w.length++
		w.transition = t
		return true
	}
	return false
}

// There reports whether the walk is at its goal.
func (w *Walker) There() bool { return w.goal != nil && w.distance <= 0 }

// Transition is the one that the last step fired.
func (w *Walker) Transition() int { return int(w.transition) }

// Length is how many steps the walk has.
func (w *Walker) Length() int { return w.length }

// Tries is how often a transition was fired, in steps and in those that were taken back.
func (w *Walker) Tries() int { return w.tries }

// Marking is where the walk is: the tokens by place, and after them the number of enabled
// transitions. It changes with the next step.
func (w *Walker) Marking() []int64 { return w.marking }

// fire fires a transition, or takes its firing back. It reports false if a place gets too full.
func (w *Walker) fire(t int32, times int64) bool {
	fits := true
	for _, c := range w.m.changes[t] {
		before := w.marking[c.place]
		after := before + times*c.weight
		w.marking[c.place] = after
		if after > before {
			fits = fits && after <= petri.MaxTokens
			w.gain(w.m.users[c.place], before, after)
		} else {
			w.lose(w.m.users[c.place], before, after)
		}
		if w.m.inhibited != nil {
			w.inhibit(c.place, before, after)
		}
	}
	if w.m.resets != nil {
		w.reset(w.m.resets[t], times)
	}
	w.marking[len(w.marking)-1] = int64(len(w.enabled))
	return fits
}

// inhibit has inhibitor arcs disable transitions as lack of tokens does.
func (w *Walker) inhibit(place int, before, after int64) {
	if users := w.m.inhibited[place]; after > before {
		w.lose(users, after, before)
	} else {
		w.gain(users, after, before)
	}
}

// reset empties places, or gives back the tokens that they had before the last firing.
func (w *Walker) reset(places []term, times int64) {
	if times > 0 {
		w.emptied = w.emptied[:0]
	}
	for i, c := range places {
		before, after := w.marking[c.place], c.weight
		if times > 0 {
			w.emptied = append(w.emptied, before)
		} else {
			after = w.emptied[i]
		}
		w.marking[c.place] = after
		if after > before {
			w.gain(w.m.users[c.place], before, after)
		} else {
			w.lose(w.m.users[c.place], before, after)
		}
		w.inhibit(c.place, before, after)
	}
}

// gain notes that a place has more tokens.
func (w *Walker) gain(users []user, before, after int64) {
	for _, u := range users {
		if u.weight > after {
			return
		}
		if u.weight <= before {
			continue
		}
		if w.missing[u.transition]--; w.missing[u.transition] == 0 {
			w.enable(u.transition)
		}
	}
}

// lose notes that a place has fewer tokens.
func (w *Walker) lose(users []user, before, after int64) {
	for _, u := range users {
		if u.weight > before {
			return
		}
		if u.weight <= after {
			continue
		}
		if w.missing[u.transition]++; w.missing[u.transition] == 1 {
			w.disable(u.transition)
		}
	}
}
