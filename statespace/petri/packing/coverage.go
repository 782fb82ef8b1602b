package packing

import (
	"math/bits"

	"github.com/farhash/farhash/statespace/explore"
)

var _ explore.Namer = (*expander)(nil)

// ActionNames are the ids of the transitions, in the order of the net.
func (e *expander) ActionNames() []string { return e.p.ids() }

// makeIDs lists the ids of the transitions.
func (p *Packing) makeIDs() []string {
	ids := make([]string, len(p.net.Transitions))
	for t := range ids {
		ids[t] = p.net.Transitions[t].ID
	}
	return ids
}

// ExpandNamed is Expand with the numbers of the transitions that fire.
func (e *expander) ExpandNamed(state, out []uint64, fired []uint32) ([]uint64, []uint32, error) {
	out, err := e.Expand(state, out)
	if err != nil {
		return out, fired, err
	}
	for i := range e.g.batches { // in the order of Expand
		enabled := e.g.batches[i].enabled(e.lanes)
		for ; enabled != 0; enabled &= enabled - 1 {
			slot := &e.g.slots[i*wordBits+bits.TrailingZeros64(enabled)]
			if len(slot.rest) > 0 && !e.p.holds(state, slot.rest) {
				continue
			}
			fired = append(fired, uint32(slot.transition))
		}
	}
	return out, fired, nil
}
