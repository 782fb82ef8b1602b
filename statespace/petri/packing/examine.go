package packing

import (
	"math/bits"
	"slices"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri/property"
)

// examiner examines markings for the questions that are open here.
type examiner struct {
	p       *Packing
	open    []*question
	places  []int    // that these need
	marking []int64  // their tokens, and the number of successors after all places
	seen    []uint64 // by batch: the transitions that were enabled
	emptied []int    // which of questions.emptied have their initial tokens in all markings so far
}

func newExaminer(p *Packing) *examiner {
	x := &examiner{p: p, marking: make([]int64, len(p.net.Places)+1)}
	for i := range p.questions.list {
		if q := &p.questions.list[i]; q.known == logic.Unknown &&
			(q.Kind == property.Bound || q.formula != nil) {
			x.open = append(x.open, q)
		}
	}
	if p.questions.fires > 0 {
		x.seen = make([]uint64, len(p.program.batches))
		for i := range p.questions.emptied {
			x.emptied = append(x.emptied, i)
		}
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
			property.Places(q.formula, x.p.net, use)
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
			if property.Holds(q.formula, e.p.net, x.marking) {
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
	if len(x.emptied) > 0 {
		e.examineEmptied(state)
	}
}

// examineEmptied notes which places that reset arcs lead to have changed for the first time.
func (e *expander) examineEmptied(state []uint64) {
	q := &e.p.questions
	e.examiner.emptied = slices.DeleteFunc(e.examiner.emptied, func(i int) bool {
		place := q.emptied[i]
		if e.p.tokens(state, place) == e.p.s.initial[place] {
			return false
		}
		e.find(q.fires+len(e.p.net.Transitions)+i, 1)
		return true
	})
}

// examineTransitions notes which transitions are enabled for the first time.
func (e *expander) examineTransitions(state []uint64) {
	for i := range e.g.batches {
		fresh := e.g.batches[i].enabled(e.lanes) &^ e.examiner.seen[i]
		for ; fresh != 0; fresh &= fresh - 1 {
			bit := fresh & -fresh
			slot := &e.g.slots[i*wordBits+bits.TrailingZeros64(fresh)]
			if len(slot.rest) > 0 && !e.p.holds(state, slot.rest) {
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
