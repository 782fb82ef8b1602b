package packing

import (
	"math/bits"
	"slices"

	"github.com/farhash/farhash/statespace/explore"
)

// expander computes successors for one goroutine.
type expander struct {
	p       *Packing
	g       *program
	lanes   []uint64
	peaks   peaks
	marking []int64

	findings []uint64
	found    int       // of them that are not 0
	examiner *examiner // nil where nothing is asked
	walks    walks
}

var _ explore.Expander = (*expander)(nil)

// NewExpander returns an expander for one goroutine.
func (p *Packing) NewExpander() explore.Expander {
	return &expander{
		p: p, g: p.program,
		lanes:    make([]uint64, p.program.stride()),
		peaks:    newPeaks(p.program),
		marking:  make([]int64, len(p.net.Places)),
		findings: make([]uint64, p.questions.n),
		examiner: newExaminer(p),
	}
}

// Expand appends the successors of state to out.
func (e *expander) Expand(state, out []uint64) ([]uint64, error) {
	if e.g.dense != nil {
		e.g.dense.evaluate(state, e.lanes)
	} else {
		e.g.sparse.evaluate(e.g.bias, state, e.lanes)
	}
	if e.peaks.update(e.lanes) {
		e.find(findingPlace, uint64(e.peaks.place))
		e.find(findingMarking, e.peaks.sum/e.peaks.common)
	}
	given := len(out)
	var err error
	guarded := e.g.guarded && e.lanes[0]&e.g.calm == 0
	if len(state) == 1 && !e.g.resting && !guarded {
		out = e.fireOneWord(state[0], out)
	} else {
		out, err = e.fire(state, out, guarded)
	}
	if e.examiner != nil && err == nil {
		e.examine(state, (len(out)-given)/len(state))
	}
	return out, err
}

// Findings are the peaks, and what the questions need.
func (e *expander) Findings() []uint64 { return e.findings }

// Found is how many findings are not 0.
func (e *expander) Found() int { return e.found }

// fireOneWord appends the successors if a packed marking is one word and
// masks and lanes say all there is to know.
func (e *expander) fireOneWord(state uint64, out []uint64) []uint64 {
	for i := range e.g.batches {
		enabled := e.g.batches[i].enabled(e.lanes)
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

// fire appends the successors of any packed marking. Unless it is guarded no firing overflows a
// place.
func (e *expander) fire(state, out []uint64, guarded bool) ([]uint64, error) {
	most := 0 // or less, where conditions are left to test
	for i := range e.g.batches {
		most += bits.OnesCount64(e.g.batches[i].enabled(e.lanes))
	}
	out = slices.Grow(out, most*len(state)) // at once, or wide nets leave much garbage
	resets := e.g.resets
	for i := range e.g.batches {
		enabled := e.g.batches[i].enabled(e.lanes)
		for ; enabled != 0; enabled &= enabled - 1 {
			slot := &e.g.slots[i*wordBits+bits.TrailingZeros64(enabled)]
			if len(slot.rest) > 0 && !e.p.holds(state, slot.rest) {
				continue
			}
			if guarded {
				if place := e.p.overflown(state, slot); place >= 0 {
					return out, e.overflow(state, slot.transition, place)
				}
			}
			n := len(out)
			out = append(out, state...)
			successor := out[n:]
			for _, s := range slot.steps {
				successor[s.word] += s.step
			}
			if resets != nil {
				for _, r := range resets[i*wordBits+bits.TrailingZeros64(enabled)] {
					successor[r.word] = successor[r.word]&^r.clear | r.fill
				}
			}
		}
	}
	return out, nil
}

// overflown returns a place that a firing overflows, or -1.
func (p *Packing) overflown(state []uint64, slot *slot) int {
	for _, guard := range slot.guards {
		if p.tokens(state, guard.place) > guard.most {
			return guard.place
		}
	}
	return -1
}

// overflow returns the error for a firing that puts too many tokens in a place.
func (e *expander) overflow(state []uint64, transition, place int) error {
	e.p.unpack(state, e.marking)
	e.p.net.Transitions[transition].Fire(e.marking)
	return e.p.overflow(place, e.marking[place])
}
