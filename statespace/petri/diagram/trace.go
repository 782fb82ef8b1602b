package diagram

import (
	"context"
	"errors"

	"github.com/farhash/farhash/statespace/symbolic"
)

// Traced says what a trace leads to: Deadlock, or the answer to a property, by its number.
type Traced int

// Deadlock is traced where no property is.
const Deadlock Traced = -1

// Trace is a firing sequence.
type Trace struct {
	Traced  Traced
	Firings []int // the transitions
}

// goal is markings to one of which a trace is to lead. They are held.
type goal struct {
	Traced
	markings symbolic.Node
}

// errUnlikeNet means that a trace is not one of the net's.
var errUnlikeNet = errors.New("diagram: a step of the trace is no firing of the net; this is a " +
	"bug of farhash")

// aim has a trace lead to one of the markings of a set, if it has any.
func (x *explorer) aim(to Traced, markings symbolic.Node) {
	if markings != symbolic.Empty {
		x.s.Hold(markings)
		x.goals = append(x.goals, goal{to, markings})
	}
}

// shows notes that markings show the answer that is being found.
func (x *explorer) shows(markings symbolic.Node) {
	if x.opts.Witness {
		x.aim(Traced(x.asked), markings)
	}
}

// showsBound notes the markings in which a sum has its largest value.
func (x *explorer) showsBound(weights map[int]int64, constant, value int64) error {
	if !x.opts.Witness {
		return nil
	}
	negative := make(map[int]int64, len(weights))
	for level, w := range weights {
		negative[level] = -w
	}
	markings, err := x.held(x.s.AtMost(x.all, negative, constant-value))
	if err == nil {
		x.shows(markings)
		x.s.Release(markings)
	}
	return err
}

// traceAll finds the traces, after everything else: an end of the context or of memory leaves the
// rest of the result as it is.
func (x *explorer) traceAll(res *Result) error {
	for _, g := range x.goals {
		firings, err := x.traceTo(g.markings)
		if err == errUnlikeNet {
			return err
		}
		if err != nil {
			res.TracesCut = err
			return nil
		}
		x.s.Release(g.markings)
		res.Traces = append(res.Traces, Trace{g.Traced, firings})
	}
	return nil
}

// part is markings that were found by one transition that leads to others.
type part struct {
	transition int // of x.moving
	markings   symbolic.Node
}

// traceTo finds a firing sequence to one of the reachable markings of a set.
func (x *explorer) traceTo(goal symbolic.Node) ([]int, error) {
	if firings, err := x.descend(goal); firings != nil || err != nil {
		return firings, err
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
// set that is nearest to the initial marking. It returns nil if that does not lead to the set: some
// marking on the way has no transition that leads nearer.
func (x *explorer) descend(goal symbolic.Node) ([]int, error) {
	to, err := x.s.Nearest(goal, x.first, nearestNodes)
	if to == nil {
		return nil, err
	}
	trace := []int{}
	var steps [][]symbolic.Step
	for i := range x.net.Transitions {
		changes, _ := x.steps(&x.net.Transitions[i])
		steps = append(steps, changes)
	}
	for marking, tried := x.net.Initial(), 0; tried < tries; tried += len(steps) {
		v := x.vector(marking)
		if x.s.Has(goal, v) {
			return trace, nil
		}
		if x.ctx.Err() != nil {
			return nil, context.Cause(x.ctx)
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
		trace = append(trace, best)
	}
	return nil, nil
}

// nearer is by how much a transition reduces the sum of differences between two markings.
func nearer(steps []symbolic.Step, from, to []uint32) (gain int64) {
	for _, st := range steps {
		before := int64(from[st.Level]) - int64(to[st.Level])
		after := before + st.Change
		if st.Set {
			after = st.Change - int64(to[st.Level])
		}
		gain += max(before, -before) - max(after, -after)
	}
	return gain
}

// traceBack finds a firing sequence backwards, one transition after the other from all that was
// found, until the initial marking is found. Each part that was new leads by its transition to
// parts before it, and in the end to the set.
func (x *explorer) traceBack(goal symbolic.Node) ([]int, error) {
	trace := []int{}
	if err := x.reverse(); err != nil {
		return nil, err
	}
	parts, err := x.backwards(goal)
	if err != nil {
		return nil, err
	}
	marking := x.net.Initial()
	for v, i := x.first, len(parts)-1; !x.s.Has(goal, v); i-- {
		if i < 0 {
			return nil, errUnlikeNet
		}
		if !x.s.Has(parts[i].markings, v) {
			continue
		}
		t := x.number[parts[i].transition]
		if !x.net.Transitions[t].Enabled(marking) {
			return nil, errUnlikeNet
		}
		x.net.Transitions[t].Fire(marking)
		trace = append(trace, t)
		v = x.vector(marking)
	}
	for _, p := range parts {
		x.s.Release(p.markings)
	}
	return trace, nil
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
