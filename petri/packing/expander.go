package packing

import (
	"math/bits"
	"slices"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/petri"
)

// expander computes successors for one goroutine.
type expander struct {
	p       *Packing
	g       *program
	lanes   []uint64
	peaks   peaks
	marking []int64
}

var _ explore.Expander = (*expander)(nil)

// NewExpander returns an expander for one goroutine.
func (p *Packing) NewExpander() explore.Expander {
	return &expander{
		p: p, g: p.program,
		lanes:   make([]uint64, p.program.stride()),
		peaks:   newPeaks(p.program),
		marking: make([]int64, len(p.net.Places)),
	}
}

// Expand appends the successors of state to out.
func (e *expander) Expand(state, out []uint64) ([]uint64, error) {
	if e.g.dense != nil {
		e.g.dense.evaluate(state, e.lanes)
	} else {
		e.g.sparse.evaluate(e.g.bias, state, e.lanes)
	}
	e.peaks.update(e.lanes)
	if len(state) == 1 && !e.g.checks {
		return e.fireOneWord(state[0], out), nil
	}
	return e.fire(state, out)
}

// enabled returns the enabledness bits of a batch.
func (e *expander) enabled(b *batch) uint64 {
	enabled := b.top
	for _, lane := range e.lanes[b.first : b.first+b.planes] {
		enabled &= lane
	}
	return enabled
}

// fireOneWord appends the successors if a packed marking is one word and
// the lanes say all there is to know.
func (e *expander) fireOneWord(state uint64, out []uint64) []uint64 {
	for i := range e.g.batches {
		enabled := e.enabled(&e.g.batches[i])
		n := len(out)
		out = slices.Grow(out, wordBits)[:n+bits.OnesCount64(enabled)]
		step := (*[wordBits]uint64)(e.g.step[i*wordBits:])
		for ; enabled != 0; enabled &= enabled - 1 {
			out[n] = state + step[bits.TrailingZeros64(enabled)]
			n++
		}
	}
	return out
}

// fire appends the successors of any packed marking.
func (e *expander) fire(state, out []uint64) ([]uint64, error) {
	most := 0 // or less, where conditions are left to test
	for i := range e.g.batches {
		most += bits.OnesCount64(e.enabled(&e.g.batches[i]))
	}
	out = slices.Grow(out, most*len(state)) // at once, or wide nets leave much garbage
	for i := range e.g.batches {
		enabled := e.enabled(&e.g.batches[i])
		for ; enabled != 0; enabled &= enabled - 1 {
			slot := &e.g.slots[i*wordBits+bits.TrailingZeros64(enabled)]
			if len(slot.rest) > 0 && !e.holds(state, slot.rest) {
				continue
			}
			for _, guard := range slot.guards {
				if e.p.tokens(state, guard.place) > guard.most {
					return out, e.overflow(state, slot.transition, guard.place)
				}
			}
			n := len(out)
			out = append(out, state...)
			successor := out[n:]
			for _, s := range slot.steps {
				successor[s.word] += s.step
			}
		}
	}
	return out, nil
}

// holds reports whether all conditions hold.
func (e *expander) holds(state []uint64, conditions []condition) bool {
	for i := range conditions {
		var sum int64
		for _, w := range conditions[i].weights {
			sum += w.coef * e.p.tokens(state, w.index)
		}
		if sum < conditions[i].threshold {
			return false
		}
	}
	return true
}

// overflow returns the error for a firing that puts too many tokens in a place.
func (e *expander) overflow(state []uint64, transition, place int) error {
	e.p.Unpack(state, e.marking)
	e.p.net.Transitions[transition].Fire(e.marking)
	return e.p.overflow(place, e.marking[place])
}

// tokens returns the tokens of one place in a packed marking.
func (p *Packing) tokens(state []uint64, place int) int64 {
	if r := p.implied[place]; r != nil {
		sum := r.constant
		for _, t := range r.terms {
			sum += t.coef * p.tokens(state, t.index)
		}
		return sum / r.divisor
	}
	at := p.where[place].field
	if at < 0 {
		return p.s.initial[place]
	}
	f := &p.fields[at]
	value := f.value(state)
	if !f.group {
		return int64(value)
	}
	if value > 0 && value <= uint64(len(f.places)) && f.places[value-1] == place {
		return 1
	}
	return 0
}

// Peaks returns the largest values seen in the markings expanded so far. The
// tokens of the initial marking count as seen as soon as one marking is.
func (e *expander) Peaks() explore.Peaks { return e.peaks.result() }

// Predecessors appends the markings from which one transition leads to state,
// and those transitions. Transitions that can never fire are left out: nothing
// that can be reached is a predecessor by them.
func (e *expander) Predecessors(
	state, preds []uint64, transitions []int,
) ([]uint64, []int) {
	e.p.Unpack(state, e.marking)
	for t := range e.p.net.Transitions {
		if !e.p.s.live[t] || !e.fires(&e.p.net.Transitions[t]) {
			continue
		}
		n := len(preds)
		preds = append(preds, state...)
		for _, s := range e.p.steps(t) {
			preds[n+s.word] -= s.step
		}
		transitions = append(transitions, t)
	}
	return preds, transitions
}

// fires reports whether t leads to the marking from one that fits the packing.
// It satisfies all invariants with this one, so that only the bounds matter.
func (e *expander) fires(t *petri.Transition) bool {
	for _, a := range t.Out {
		if e.marking[a.Place] < a.Weight {
			return false
		}
	}
	for _, c := range changes(t) {
		if e.marking[c.index]-c.coef > e.p.limit[c.index] {
			return false
		}
	}
	return true
}
