package diagram

import (
	"context"
	"errors"

	"github.com/farhash/farhash/symbolic"
)

// Traced says what a trace leads to.
type Traced int

// Deadlock is traced where no property is.
const Deadlock Traced = -1

// errUnlikeNet means that a trace is not one of the net's.
var errUnlikeNet = errors.New("diagram: a step of the trace is no firing of the net; this is a " +
	"bug of farhash")

// shows notes that markings show an answer, and finds the way to one of them if that is asked for
// and this is the first.
func (x *explorer) shows(a *Answer, markings symbolic.Node) error {
	if !x.opts.Witness || x.trace != nil || markings == symbolic.Empty {
		return nil
	}
	x.traced = Traced(x.asked)
	return x.traceTo(markings)
}

// part is markings that were found by one transition that leads to others.
type part struct {
	transition int // of x.moving
	markings   symbolic.Node
}

// traceTo finds a firing sequence to one of the reachable markings of a set.
func (x *explorer) traceTo(goal symbolic.Node) error {
	if found, err := x.descend(goal); found || err != nil {
		return err
	}
	return x.traceBack(goal)
}

const (
	// nearestNodes is of how many nodes the nearest marking is found.
	nearestNodes = 4_000_000
	// tries is how many transitions descend tries to fire, over all markings on its way.
	tries = 100_000_000
)

// descend fires, time after time, the transition that leads nearest to one marking, the one of the
// set that is nearest to the initial marking. It reports whether that leads to the set; else some
// marking on the way has no transition that leads nearer.
func (x *explorer) descend(goal symbolic.Node) (found bool, err error) {
	to, err := x.s.Nearest(goal, x.first, nearestNodes)
	if to == nil {
		return false, err
	}
	x.trace = []int{}
	var steps [][]symbolic.Step
	for i := range x.net.Transitions {
		changes, _ := x.steps(&x.net.Transitions[i])
		steps = append(steps, changes)
	}
	for marking, tried := x.net.Initial(), 0; tried < tries; tried += len(steps) {
		v := x.vector(marking)
		if x.s.Has(goal, v) {
			return true, nil
		}
		if x.ctx.Err() != nil {
			return false, context.Cause(x.ctx)
		}
		best, most := -1, int64(0)
		for i := range steps {
			if gain := nearer(steps[i], v, to); gain > most &&
				x.net.Transitions[i].Enabled(marking) {
				best, most = i, gain
			}
		}
		if best < 0 {
			break
		}
		x.net.Transitions[best].Fire(marking)
		x.trace = append(x.trace, best)
	}
	return false, nil
}

// nearer is by how much a transition reduces the sum of differences between two markings.
func nearer(steps []symbolic.Step, from, to []uint32) (gain int64) {
	for _, st := range steps {
		before := int64(from[st.Level]) - int64(to[st.Level])
		gain += max(before, -before) - max(before+st.Change, -before-st.Change)
	}
	return gain
}

// traceBack finds a firing sequence backwards, one transition after the other from all that was
// found, until the initial marking is found. Each part that was new leads by its transition to
// parts before it, and in the end to the set.
func (x *explorer) traceBack(goal symbolic.Node) error {
	x.trace = []int{}
	if err := x.reverse(); err != nil {
		return err
	}
	parts, err := x.backwards(goal)
	if err != nil {
		return err
	}
	marking := x.net.Initial()
	for v, i := x.first, len(parts)-1; !x.s.Has(goal, v); i-- {
		if i < 0 {
			return errUnlikeNet
		}
		if !x.s.Has(parts[i].markings, v) {
			continue
		}
		t := x.number[parts[i].transition]
		if !x.net.Transitions[t].Enabled(marking) {
			return errUnlikeNet
		}
		x.net.Transitions[t].Fire(marking)
		x.trace = append(x.trace, t)
		v = x.vector(marking)
	}
	for _, p := range parts {
		x.s.Release(p.markings)
	}
	return nil
}

// backwards is the parts that lead to a set, up to one that has the initial marking. All are held.
func (x *explorer) backwards(goal symbolic.Node) (parts []part, err error) {
	found, err := x.held(goal, nil)
	if err != nil {
		return nil, err
	}
	for before := -1; before < len(parts); {
		before = len(parts)
		for i, t := range x.back {
			fresh, err := x.fresh(found, t)
			if err != nil {
				return nil, err
			}
			if fresh == symbolic.Empty {
				continue
			}
			parts = append(parts, part{i, fresh})
			if x.s.Has(fresh, x.first) {
				x.s.Release(found)
				return parts, nil
			}
			if found, err = x.replace(found)(x.s.Union(found, fresh)); err != nil {
				return nil, err
			}
		}
	}
	return nil, errUnlikeNet
}

// fresh is the reachable markings that a transition leads back to, without the ones that were
// found. It is held.
func (x *explorer) fresh(found symbolic.Node, back symbolic.Transition) (symbolic.Node, error) {
	n, err := x.held(x.s.Fire(found, back))
	if err != nil {
		return n, err
	}
	if n, err = x.replace(n)(x.s.Intersect(n, x.all)); err != nil {
		return n, err
	}
	return x.replace(n)(x.s.Minus(n, found))
}

// vector is a marking by level.
func (x *explorer) vector(marking []int64) []uint32 {
	v := make([]uint32, len(x.places))
	for level, place := range x.places {
		v[level] = uint32(marking[place])
	}
	return v
}
