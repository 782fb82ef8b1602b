package diagram

import (
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// live answers whether from every reachable marking each transition can fire again. A transition
// that never fires, or a deadlock, decides it. Else each part of the graph that nothing leads out
// of must have a marking for each transition; then all that lead there are done, which mostly are
// all markings at once.
func (x *explorer) live(a *property.Answer, stuck symbolic.Node) error {
	if len(x.fires) == 0 {
		a.Verdict = logic.True
		return nil
	}
	a.Verdict = logic.False
	if stuck != symbolic.Empty {
		x.stranded(a, stuck, -1)
		return nil
	}
	if t, err := x.missing(x.all); err != nil || t >= 0 {
		x.stranded(a, x.initial, t)
		return err
	}
	if err := x.reverse(); err != nil {
		return err
	}
	done, from := symbolic.Empty, x.initial
	for {
		last, back, err := x.bottom(from)
		if err != nil {
			return err
		}
		if t, err := x.missing(last); err != nil || t >= 0 {
			x.stranded(a, last, t)
			return err
		}
		if done, err = x.replace(done)(x.s.Union(done, back)); err != nil {
			return err
		}
		x.s.Release(last)
		x.s.Release(back)
		left, err := x.held(x.s.Minus(x.all, done))
		if err != nil {
			return err
		}
		if left == symbolic.Empty {
			a.Verdict = logic.True
			return nil
		}
		if from, err = x.one(left); err != nil {
			return err
		}
		x.s.Release(left)
	}
}

// stranded notes that a net is not live, as the markings of a set show, and which transition never
// fires again, -1 for all.
func (x *explorer) stranded(a *property.Answer, markings symbolic.Node, transition int) {
	a.Transition = transition
	a.Marking = x.marking(markings)
	x.shows(markings)
}

// missing is a transition that can fire from no marking of a set, -1 if there is none.
func (x *explorer) missing(n symbolic.Node) (int, error) {
	for i, t := range x.fires {
		disabled, err := x.s.Disabled(n, t)
		if err != nil {
			return -1, err
		}
		if disabled == n {
			return i, nil
		}
	}
	return -1, nil
}

// bottom is, of the parts of the graph that nothing leads out of, one that a marking leads to, and
// the reachable markings that lead there. Both are held.
func (x *explorer) bottom(from symbolic.Node) (part, back symbolic.Node, err error) {
	for {
		if part, err = x.held(x.s.Reach(from, x.moving, x.strategy)); err != nil {
			return part, back, err
		}
		if back, err = x.held(x.s.ReachWithin(from, x.all, x.back)); err != nil {
			return part, back, err
		}
		out, err := x.held(x.s.Minus(part, back))
		if err != nil || out == symbolic.Empty {
			return part, back, err
		}
		if from, err = x.one(out); err != nil {
			return part, back, err
		}
		x.s.Release(out)
		x.s.Release(part)
		x.s.Release(back)
	}
}

// one is a set of one marking of a set. It is held.
func (x *explorer) one(n symbolic.Node) (symbolic.Node, error) {
	return x.held(x.s.Vector(x.s.Example(n)))
}

// replace holds a set instead of another one.
func (x *explorer) replace(old symbolic.Node) func(symbolic.Node, error) (symbolic.Node, error) {
	return func(n symbolic.Node, err error) (symbolic.Node, error) {
		if n, err = x.held(n, err); err == nil {
			x.s.Release(old)
		}
		return n, err
	}
}

// reverse makes the transitions that lead back.
func (x *explorer) reverse() error {
	for _, t := range x.moving[len(x.back):] {
		back, err := x.s.Reversed(t, x.high)
		if err != nil {
			return err
		}
		x.back = append(x.back, back)
	}
	return nil
}
