package packing

import (
	"errors"
	"slices"

	"github.com/farhash/farhash/explore"
)

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
