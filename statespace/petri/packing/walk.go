package packing

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/petri/randomwalk"
)

// tour is what the walks of a packing share. It is read-only.
type tour struct {
	*randomwalk.Map
	goals   []*randomwalk.Goal // by question; nil where no single marking decides it
	touched [][]int32          // by transition: the questions whose goal its firing may reach
}

// makeTour finds out what questions want of markings.
func (p *Packing) makeTour() *tour {
	t := &tour{Map: randomwalk.New(p.net, p.s.live),
		goals:   make([]*randomwalk.Goal, len(p.questions.list)),
		touched: make([][]int32, len(p.net.Transitions))}
	needed := make([][]int32, len(p.net.Places)+1) // by place: questions, rising
	for i := range p.questions.list {
		q := &p.questions.list[i]
		use := func(place int) {
			if n := len(needed[place]); n == 0 || needed[place][n-1] != int32(i) {
				needed[place] = append(needed[place], int32(i))
			}
		}
		switch {
		case q.known != logic.Unknown:
		case q.formula != nil:
			t.goals[i] = t.Goal(q.formula)
			property.Places(q.formula, p.net, use)
		case q.Kind == property.Bound:
			t.goals[i] = t.Largest(q.Sum, q.most)
			for _, term := range q.Sum.Terms {
				use(term.Place)
			}
		}
	}
	for j := range t.touched {
		touched := slices.Clone(needed[len(needed)-1]) // the number of enabled transitions
		changed(&p.net.Transitions[j], func(place int) {
			touched = append(touched, needed[place]...)
		})
		slices.Sort(touched)
		t.touched[j] = slices.Compact(touched)
	}
	return t
}

// A walk's number has its goal: 0 none, 1.. a question, then that a transition is enabled. The
// rest makes it different from others.
const (
	goalBits = 24
	rankBits = 16
)

// goal is the goal of a walk.
func (p *Packing) goal(number uint64) *randomwalk.Goal {
	t := p.tour()
	switch at := int(number&(1<<goalBits-1)) - 1; {
	case at < 0:
		return nil
	case at < len(t.goals):
		return t.goals[at]
	default:
		return t.Fire(at - len(t.goals))
	}
}

// walks are the walks of an expander.
type walks struct {
	*randomwalk.Walker
	tour   *tour
	open   []bool // by question: it has a goal, and no answer yet
	number uint64
	over   bool
	begun  uint64 // walks
}

var _ explore.Walker = (*expander)(nil)

// Walk walks towards what is not answered yet.
func (e *expander) Walk(rank int, known []uint64, steps int) (at explore.Walk, more bool) {
	w := &e.walks
	if e.examiner == nil {
		return at, false
	}
	if w.Walker == nil {
		w.tour = e.p.tour()
		w.Walker, w.over = w.tour.Walker(), true
		w.open = make([]bool, len(w.tour.goals))
	}
	found := e.found
	for tried := 0; tried < steps; {
		if w.over && !e.beginWalk(rank, known) {
			return at, false
		}
		before := w.Tries()
		w.over = !w.Step()
		tried += w.Tries() - before
		if w.over {
			tried++
			continue
		}
		if e.look(w.Transition()); e.found != found {
			e.examiner.close(e.findings)
			at = explore.Walk{Number: w.number, Length: w.Length()}
			w.over = true
			break
		}
	}
	return at, true
}

// beginWalk begins a walk to a goal that is open; it reports false if there is none.
func (e *expander) beginWalk(rank int, known []uint64) bool {
	w, q := &e.walks, &e.p.questions
	var choice []uint64
	for i := range q.list {
		closed := func(of []uint64) bool { return q.list[i].closed(of) }
		if w.open[i] = w.tour.goals[i] != nil && !closed(known) && !closed(e.findings); w.open[i] {
			choice = append(choice, uint64(i+1))
		}
	}
	w.begun++
	w.number = uint64(rank)<<goalBits | w.begun<<(goalBits+rankBits)
	drawn := rand.NewPCG(uint64(rank), w.begun).Uint64()
	if n := len(e.p.net.Transitions); q.fires > 0 && (len(choice) == 0 || drawn&1 != 0) {
		t := int(drawn >> 1 % uint64(n))
		fired := func(t int) bool {
			return !e.p.s.live[t] || max(known[q.fires+t], e.findings[q.fires+t]) != 0
		}
		for i := 0; i < n && fired(t); i++ {
			t = (t + 1) % n
		}
		choice = append(choice[:0], uint64(1+len(q.list)+t))
	}
	if len(choice) == 0 {
		return false
	}
	w.number |= choice[drawn>>1%uint64(len(choice))]
	w.Begin(w.number, e.p.goal(w.number))
	w.over = false
	return true
}

// closed reports whether findings decide a question.
func (q *question) closed(findings []uint64) bool {
	if q.Kind == property.Bound {
		return findings[q.finding+1] != 0
	}
	return findings[q.finding] != 0
}

// look notes what the marking after a firing shows.
func (e *expander) look(transition int) {
	w := &e.walks
	if fires := e.p.questions.fires; fires > 0 {
		e.find(fires+transition, 1)
	}
	for _, i := range w.tour.touched[transition] {
		if !w.open[i] {
			continue
		}
		q := &e.p.questions.list[i]
		there := w.tour.goals[i].Distance(w.Marking()) <= 0
		switch {
		case q.Kind == property.Bound:
			e.find(q.finding, uint64(q.Sum.Value(w.Marking()))+1)
			if there && q.most < unbounded {
				e.find(q.finding+1, 1)
			}
		case there:
			e.find(q.finding, 1)
		}
	}
}

// close has an examiner examine what findings leave open.
func (x *examiner) close(findings []uint64) {
	x.open = slices.DeleteFunc(x.open, func(q *question) bool { return q.closed(findings) })
	x.see()
}

// errNoWalk means that a walk cannot be repeated.
var errNoWalk = errors.New("packing: a walk does not lead again to what it has found; " +
	"this is a bug of farhash")

// Walked are the transitions that lead to a marking that shows a finding, after a walk that has
// found one: without detours to markings that were there before, and without firings that the rest
// does not need. The net itself fires them: a way that does not show the finding is an error.
func (p *Packing) Walked(finding int, at explore.Walk) ([]int, error) {
	w := p.tour().Walker()
	w.Begin(at.Number, p.goal(at.Number))
	firings := make([]int, 0, at.Length)
	for range at.Length {
		if !w.Step() {
			return nil, errNoWalk
		}
		firings = append(firings, w.Transition())
	}
	firings = p.withoutDetours(firings)
	if _, ok := p.fire(firings, finding); !ok {
		return nil, errNoWalk
	}
	return p.shortened(firings, finding), nil
}

// withoutDetours leaves out firings between two times that a walk has been at a marking.
func (p *Packing) withoutDetours(firings []int) []int {
	rng := rand.NewPCG(1, 2)
	factors := make([]uint64, len(p.net.Places)) // the sum of tokens times these tells a marking
	for i := range factors {
		factors[i] = rng.Uint64()
	}
	marking := p.net.Initial()
	sums := make([]uint64, len(firings)) // after each firing
	sum := uint64(0)
	last := map[uint64]int{sum: 0} // after how many firings it was there
	for i, t := range firings {
		add := func(place int) { sum += uint64(marking[place]) * factors[place] }
		take := func(place int) { sum -= uint64(marking[place]) * factors[place] }
		changed(&p.net.Transitions[t], take)
		p.net.Transitions[t].Fire(marking)
		changed(&p.net.Transitions[t], add)
		sums[i], last[sum] = sum, i+1
	}
	var short []int
	for i := last[0]; i < len(firings); i = last[sums[i]] {
		short = append(short, firings[i])
	}
	return short
}

// maxShortening is how many firings are tried to make a way shorter.
const maxShortening = 1 << 22

// shortened leaves out firings, one after the other with all those that are not enabled without it,
// if the rest shows the finding too.
func (p *Packing) shortened(firings []int, finding int) []int {
	for i, tried := 0, 0; i < len(firings) && tried < maxShortening; tried += len(firings) {
		if rest, ok := p.fire(slices.Delete(slices.Clone(firings), i, i+1), finding); ok {
			firings = rest
		} else {
			i++
		}
	}
	return firings
}

// fire fires those of the transitions that are enabled, which it returns, and reports whether the
// marking then shows a finding.
func (p *Packing) fire(firings []int, finding int) (fired []int, shown bool) {
	marking := p.net.Initial()
	for _, t := range firings {
		if at := &p.net.Transitions[t]; at.Enabled(marking) {
			at.Fire(marking)
			fired = append(fired, t)
		}
	}
	return fired, p.shows(finding, marking)
}

// shows reports whether a marking shows a finding.
func (p *Packing) shows(finding int, marking []int64) bool {
	enabled := int64(0)
	for t := range p.net.Transitions {
		if p.net.Transitions[t].Enabled(marking) {
			enabled++
		}
	}
	marking = append(marking, enabled)
	for i := range p.questions.list {
		q := &p.questions.list[i]
		switch {
		case q.Kind == property.Bound && finding == q.finding+1:
			return q.Sum.Value(marking) == q.most
		case q.formula != nil && finding == q.finding:
			return property.Holds(q.formula, p.net, marking)
		}
	}
	return false
}
