package packing

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/petri/property"
)

// The first findings of an expander: the most tokens in a place, and in a marking.
const (
	findingPlace = iota
	findingMarking
	findingQuestions // those of the questions follow
)

// Peaks are the largest token counts of some markings.
type Peaks struct {
	TokensPlace   uint64 // most tokens in one place
	TokensMarking uint64 // most tokens in one marking
}

// PeaksOf are the largest token counts in the markings of a search.
func PeaksOf(res *explore.Result) Peaks {
	return Peaks{TokensPlace: res.Findings[findingPlace],
		TokensMarking: res.Findings[findingMarking]}
}

// Verdict is the answer to a property that is true or false.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota // the search ended too early
	True
	False
)

func (v Verdict) String() string { return [...]string{"unknown", "true", "false"}[v] }

// Answer is what is known about a property.
type Answer struct {
	Property   *property.Property
	Verdict    Verdict // of all but Bound
	Value      int64   // of Bound: the largest value, so far if Exact is not set
	Exact      bool
	Structural bool // the structure of the net gave it, and no marking
	// Witness is the finding whose witness shows it, for explore.Options.Trace; -1 if none does.
	Witness int
}

// question is a property made ready for a packing.
type question struct {
	*property.Property
	formula *property.Formula // whose truth in one marking decides; nil if none is needed
	known   Verdict           // by structure
	finding int               // its first one
	most    int64             // of Bound: no marking has more
}

// questions are the properties that a packing is asked for.
//
// A question of a formula has one finding, 1 when a marking decides it: one where an Always does
// not hold, or a Sometimes does. A bound has two: the largest value + 1, and 1 if that is the
// most that the structure allows. Transitions, where a question needs to know which can fire,
// have one each.
type questions struct {
	list  []question
	fires int // the first finding of the transitions; 0 if none is needed
	n     int // findings in all
}

// ask makes the properties ready.
func (p *Packing) ask(properties []property.Property) error {
	q := &p.questions
	q.n = findingQuestions
	for i := range properties {
		at := question{Property: &properties[i], finding: q.n}
		switch at.Kind {
		case property.Always, property.Sometimes:
			p.askFormula(&at)
			q.n++
		case property.Bound:
			if err := p.askBound(&at); err != nil {
				return err
			}
			q.n += 2
		case property.Stable:
			at.known = p.stableByStructure()
		case property.QuasiLive:
			if slices.Contains(p.s.live, false) {
				at.known = False
			}
		}
		q.list = append(q.list, at)
	}
	for i := range q.list {
		if at := &q.list[i]; at.formula == nil && at.Kind >= property.Stable && q.fires == 0 &&
			at.known == Unknown {
			q.fires = q.n
			q.n += len(p.net.Transitions)
		}
	}
	return nil
}

// askFormula finds out what one marking must be like to decide a question.
func (p *Packing) askFormula(at *question) {
	f := at.Formula
	if at.Kind == property.Always {
		f = &property.Formula{Op: property.Not, Args: []*property.Formula{f}}
	}
	at.formula = p.simplify(f)
	decided, not := True, False // by a marking of which the formula is true, and without one
	if at.Kind == property.Always {
		decided, not = False, True
	}
	switch {
	case same(at.formula, truth(true)):
		at.known = decided
	case same(at.formula, truth(false)):
		at.known = not
	}
}

// askBound bounds a sum.
func (p *Packing) askBound(at *question) error {
	if at.Sum.Constant < 0 {
		return fmt.Errorf("property %s: the bound of a sum with a negative part is not supported",
			at.Name)
	}
	for _, t := range at.Sum.Terms {
		if t.Weight < 0 {
			return fmt.Errorf("property %s: the bound of a sum with a negative part is not "+
				"supported", at.Name)
		}
	}
	low, high := p.extremes(at.Sum)
	at.most = high
	if low == high {
		at.known = True
	}
	return nil
}

// stableByStructure is True if no transition that can fire changes some place.
func (p *Packing) stableByStructure() Verdict {
	if slices.Contains(p.changing(func(t int) bool { return p.s.live[t] }), false) {
		return True
	}
	return Unknown
}

// changing reports, by place, whether some of the transitions changes it.
func (p *Packing) changing(fires func(t int) bool) []bool {
	changed := make([]bool, len(p.net.Places))
	for t := range p.net.Transitions {
		if fires(t) {
			for _, c := range changes(&p.net.Transitions[t]) {
				changed[c.index] = true
			}
		}
	}
	return changed
}

// Findings is the number of findings that expanders keep.
func (p *Packing) Findings() int { return p.questions.n }

// Decided reports whether all questions are answered. Without questions there is no end before
// all markings are found.
func (p *Packing) Decided(findings []uint64) bool {
	q := &p.questions
	for i := range q.list {
		if !p.answer(&q.list[i], findings, false).Exact {
			return false
		}
	}
	return len(q.list) > 0
}

// Answers says what a search has found out about the properties.
func (p *Packing) Answers(res *explore.Result) []Answer {
	var all []Answer
	for i := range p.questions.list {
		all = append(all, p.answer(&p.questions.list[i], res.Findings, res.Complete))
	}
	return all
}

// answer is what findings say about a question, where they are of all markings or not.
func (p *Packing) answer(q *question, findings []uint64, complete bool) Answer {
	a := Answer{Property: q.Property, Witness: -1, Verdict: q.known, Structural: true}
	if q.known != Unknown {
		a.Exact, a.Value = true, q.most
		return a
	}
	a.Structural = false
	found, none := False, True
	switch q.Kind {
	case property.Bound:
		a.Value = int64(findings[q.finding]) - 1
		a.Exact = complete || findings[q.finding+1] != 0
		return a
	case property.Sometimes:
		found, none = True, False
		fallthrough
	case property.Always:
		if findings[q.finding] != 0 {
			a.Verdict, a.Witness = found, q.finding
		} else if complete {
			a.Verdict = none
		}
	case property.QuasiLive, property.Stable:
		fires := func(t int) bool { return findings[p.questions.fires+t] != 0 }
		all := true // transitions have fired, or places changed
		if q.Kind == property.Stable {
			all = !slices.Contains(p.changing(fires), false)
			found, none = False, True
		} else {
			for t := range p.net.Transitions {
				all = all && fires(t)
			}
			found, none = True, False
		}
		if all {
			a.Verdict = found
		} else if complete {
			a.Verdict = none
		}
	}
	a.Exact = a.Verdict != Unknown
	return a
}

// examiner examines markings for the questions that are open here.
type examiner struct {
	p       *Packing
	open    []*question
	places  []int    // that these need
	marking []int64  // their tokens, and the number of successors after all places
	seen    []uint64 // by batch: the transitions that were enabled
}

func newExaminer(p *Packing) *examiner {
	x := &examiner{p: p, marking: make([]int64, len(p.net.Places)+1)}
	for i := range p.questions.list {
		if q := &p.questions.list[i]; q.known == Unknown && q.Kind < property.Stable {
			x.open = append(x.open, q)
		}
	}
	if p.questions.fires > 0 {
		x.seen = make([]uint64, len(p.program.batches))
	}
	x.see()
	if len(x.open) == 0 && x.seen == nil {
		return nil
	}
	return x
}

// see finds out which places the open questions need.
func (x *examiner) see() {
	x.places = x.places[:0]
	use := func(place int) {
		if place < len(x.p.net.Places) {
			x.places = append(x.places, place)
		}
	}
	for _, q := range x.open {
		for _, t := range q.Sum.Terms {
			use(t.Place)
		}
		if q.formula != nil {
			q.formula.Places(x.p.net, use)
		}
	}
	slices.Sort(x.places)
	x.places = slices.Compact(x.places)
}

// examine notes what a marking with so many successors shows.
func (e *expander) examine(state []uint64, successors int) {
	x := e.examiner
	for _, place := range x.places {
		x.marking[place] = e.p.tokens(state, place)
	}
	x.marking[len(x.marking)-1] = int64(successors)
	closed := false
	for i, q := range x.open {
		if q.Kind != property.Bound {
			if q.formula.Holds(e.p.net, x.marking) {
				e.find(q.finding, 1)
				x.open[i], closed = nil, true
			}
			continue
		}
		value := q.Sum.Value(x.marking)
		e.find(q.finding, uint64(value)+1)
		if value == q.most {
			e.find(q.finding+1, 1)
			x.open[i], closed = nil, true
		}
	}
	if closed {
		x.open = slices.DeleteFunc(x.open, func(q *question) bool { return q == nil })
		x.see()
	}
	if x.seen != nil {
		e.examineTransitions(state)
	}
}

// examineTransitions notes which transitions are enabled for the first time.
func (e *expander) examineTransitions(state []uint64) {
	for i := range e.g.batches {
		fresh := e.enabled(&e.g.batches[i]) &^ e.examiner.seen[i]
		for ; fresh != 0; fresh &= fresh - 1 {
			bit := fresh & -fresh
			slot := &e.g.slots[i*wordBits+bits.TrailingZeros64(fresh)]
			if len(slot.rest) > 0 && !e.holds(state, slot.rest) {
				continue
			}
			e.examiner.seen[i] |= bit
			e.find(e.p.questions.fires+slot.transition, 1)
		}
	}
}

// find raises a finding.
func (e *expander) find(i int, value uint64) {
	if value <= e.findings[i] {
		return
	}
	if e.findings[i] == 0 {
		e.found++
	}
	e.findings[i] = value
}

// errUnlikeNet means that a trace is not one of the net's.
var errUnlikeNet = errors.New("packing: a step of the trace is no firing of the net; " +
	"this is a bug of farhash")

// Firings are the transitions of a trace. Each is fired on the net itself: a trace that is none
// of the net is an error.
func (p *Packing) Firings(trace []explore.Step) ([]int, error) {
	if len(trace) == 0 {
		return nil, nil
	}
	marking := p.net.Initial()
	state := make([]uint64, p.words)
	firings := make([]int, 0, len(trace)-1)
	for i, step := range trace {
		if i > 0 {
			t := p.successor(marking, step.Action)
			if t < 0 {
				return nil, errUnlikeNet
			}
			p.net.Transitions[t].Fire(marking)
			firings = append(firings, t)
		}
		if err := p.Pack(marking, state); err != nil || !slices.Equal(state, step.State) {
			return nil, errors.Join(errUnlikeNet, err)
		}
	}
	return firings, nil
}

// successor is the transition that gives the successor of that number in the order of Expand; -1
// if there is none.
func (p *Packing) successor(marking []int64, number int) int {
	for i := range p.program.slots {
		t := p.program.slots[i].transition
		if t < 0 || !p.net.Transitions[t].Enabled(marking) {
			continue
		}
		if number == 0 {
			return t
		}
		number--
	}
	return -1
}

// Marking is the marking of a step of a trace, tokens by place.
func (p *Packing) Marking(step explore.Step) []int64 {
	marking := make([]int64, len(p.net.Places))
	p.Unpack(step.State, marking)
	return marking
}
