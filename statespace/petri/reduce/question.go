package reduce

import (
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// question is what a reduction keeps: whether a formula can be reached, or how large a sum can be.
// A marking with more tokens in a place of up, or fewer in one of down, answers it as well.
type question struct {
	up, down []bool // by place: the question may want more tokens there, or fewer
	deadlock bool   // the question is whether a deadlock can be reached, and wants nothing else
}

// wants reports whether a question names a place.
func (q *question) wants(place int) bool { return q.up[place] || q.down[place] }

// helps reports whether a firing of t may bring an answer nearer.
func (q *question) helps(t *transition) bool {
	for _, a := range t.arcs {
		if q.up[a.place] && a.effect() > 0 || q.down[a.place] && a.effect() < 0 {
			return true
		}
	}
	return false
}

// hurts reports whether a firing of t may undo an answer.
func (q *question) hurts(t *transition) bool {
	for _, a := range t.arcs {
		if q.up[a.place] && a.effect() < 0 || q.down[a.place] && a.effect() > 0 {
			return true
		}
	}
	return false
}

// isDeadlock reports whether a property asks only if there is a deadlock.
func isDeadlock(p *property.Property) bool {
	f := p.Formula
	if p.Kind == property.Always && f.Op == logic.Not {
		f = f.Args[0]
	} else if p.Kind != property.Sometimes {
		return false
	}
	_, stuck := f.Atom.(property.Stuck)
	return stuck
}

// ofPlaces is a formula without atoms for transitions: one is enabled if its places have the
// tokens. ok is false if it asks for deadlocks.
func ofPlaces(f *logic.Formula, given *petri.Net, dead func(t int) bool) (g *logic.Formula,
	ok bool) {
	switch atom := f.Atom.(type) {
	case *property.AtMost:
		return f, true
	case property.Stuck:
		return nil, false
	case property.Enabled:
		g = logic.Of(logic.Or)
		for _, t := range atom {
			if dead(t) {
				continue
			}
			all := logic.Of(logic.And)
			for _, a := range given.Transitions[t].In {
				all.Args = append(all.Args, logic.Leaf(&property.AtMost{
					Left:  property.Sum{Constant: a.Weight},
					Right: property.Sum{Terms: []property.Term{{Place: a.Place, Weight: 1}}}}))
			}
			g.Args = append(g.Args, all)
		}
		return g, true
	}
	g = logic.Of(f.Op)
	for _, arg := range f.Args {
		arg, ok := ofPlaces(arg, given, dead)
		if !ok {
			return nil, false
		}
		g.Args = append(g.Args, arg)
	}
	return g, true
}

// want notes what makes a formula true, or false if positive is not set.
func (q *question) want(f *logic.Formula, positive bool) {
	if atom, ok := f.Atom.(*property.AtMost); ok {
		q.wantSum(&atom.Left, !positive)
		q.wantSum(&atom.Right, positive)
		return
	}
	for _, arg := range f.Args {
		q.want(arg, positive == (f.Op != logic.Not))
		if f.Op == logic.Iff {
			q.want(arg, !positive)
		}
	}
}

// wantSum notes what makes a sum larger, or smaller.
func (q *question) wantSum(s *property.Sum, larger bool) {
	for _, t := range s.Terms {
		switch {
		case t.Weight == 0:
		case t.Weight > 0 == larger:
			q.up[t.Place] = true
		default:
			q.down[t.Place] = true
		}
	}
}

// moved is a formula whose places have other numbers.
func moved(f *logic.Formula, places []int) *logic.Formula {
	if atom, ok := f.Atom.(*property.AtMost); ok {
		return logic.Leaf(&property.AtMost{Left: movedSum(&atom.Left, places),
			Right: movedSum(&atom.Right, places)})
	}
	g := &logic.Formula{Op: f.Op, Atom: f.Atom}
	for _, arg := range f.Args {
		g.Args = append(g.Args, moved(arg, places))
	}
	return g
}

// movedSum leaves out places whose weight is 0, which may be removed.
func movedSum(s *property.Sum, places []int) property.Sum {
	sum := property.Sum{Constant: s.Constant}
	for _, t := range s.Terms {
		if t.Weight != 0 {
			sum.Terms = append(sum.Terms, property.Term{Place: places[t.Place], Weight: t.Weight})
		}
	}
	return sum
}
