package diagram

import (
	"slices"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// Formulas of CTL are answered as sets of markings, inner ones first: the markings where an
// operator of paths is true are computed from those where its operands are, backwards along the
// transitions. A path is as long as it can be: it ends in a deadlock alone.

// Supports reports whether a property is of a kind that diagrams answer: a formula that looks along
// paths has to be of CTL.
func Supports(p property.Property) bool { return p.Kind != property.Temporal || ofCTL(p.Formula) }

// ofCTL reports whether each operator of paths comes right after Exists or Forall, and is of
// formulas of states.
func ofCTL(f *logic.Formula) bool {
	if f.Op == logic.Exists || f.Op == logic.Forall {
		path := f.Args[0]
		if path.Op < logic.Next {
			return path.OfState() && ofCTL(path)
		}
		f = path
	}
	return !slices.ContainsFunc(f.Args, func(arg *logic.Formula) bool {
		return !arg.OfState() || !ofCTL(arg)
	})
}

// initially answers whether a formula holds in the initial marking.
func (x *explorer) initially(a *property.Answer, f *logic.Formula) error {
	if err := x.findLoops(); err != nil {
		return err
	}
	yes, err := x.holds(f, x.all)
	if err != nil {
		return err
	}
	a.Verdict = logic.VerdictOf(x.s.Has(yes, x.first))
	x.s.Release(yes)
	return nil
}

// findLoops finds the transitions that lead back, the deadlocks, and the markings from which a
// transition leads to the same marking.
func (x *explorer) findLoops() (err error) {
	if x.paths {
		return nil
	}
	if err := x.reverse(); err != nil {
		return err
	}
	if x.stuck, err = x.held(x.s.Stuck(x.all, x.fires)); err != nil {
		return err
	}
	var still []symbolic.Transition
	for i, t := range x.fires {
		if _, moves := slices.BinarySearch(x.number, i); !moves {
			still = append(still, t)
		}
	}
	x.looping, err = x.except(x.all)(x.held(x.s.Stuck(x.all, still)))
	x.paths = err == nil
	return err
}

// alongPaths is the markings of a set for which a formula of Exists or Forall is true. It is held.
func (x *explorer) alongPaths(f *logic.Formula, in symbolic.Node) (symbolic.Node, error) {
	path := f.Args[0]
	if path.Op < logic.Next {
		return x.holds(path, in) // it is of the first marking
	}
	is := x.exists
	if f.Op == logic.Forall {
		is = x.forall
	}
	where, err := is(path)
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(where)
	return x.held(x.s.Intersect(where, in))
}

// exists is the markings from which some path is as an operator says, and some that are not
// reachable. It is held.
func (x *explorer) exists(path *logic.Formula) (symbolic.Node, error) {
	last, err := x.holds(path.Args[len(path.Args)-1], x.all)
	if err != nil {
		return symbolic.Empty, err
	}
	defer func() { x.s.Release(last) }()
	switch path.Op {
	case logic.Next:
		return x.before(last)
	case logic.Finally:
		return x.held(x.s.ReachWithin(last, x.all, x.back))
	case logic.Globally:
		return x.always(last)
	}
	first, err := x.holds(path.Args[0], x.all)
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(first)
	return x.until(first, last)
}

// forall is the reachable markings from which all paths are as an operator says: from which none is
// otherwise. It is held.
func (x *explorer) forall(path *logic.Formula) (symbolic.Node, error) {
	not := x.except(x.all)
	last, err := not(x.holds(path.Args[len(path.Args)-1], x.all))
	if err != nil {
		return symbolic.Empty, err
	}
	defer func() { x.s.Release(last) }()
	switch path.Op {
	case logic.Next:
		return not(x.before(last))
	case logic.Finally:
		return not(x.always(last))
	case logic.Globally:
		return not(x.held(x.s.ReachWithin(last, x.all, x.back)))
	}
	// A path is otherwise if the second operand never becomes true, or if both are false before.
	first, err := x.holds(path.Args[0], x.all)
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(first)
	neither, err := x.held(x.s.Minus(last, first))
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(neither)
	ends, err := x.until(last, neither)
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(ends)
	never, err := x.always(last)
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(never)
	return not(x.held(x.s.Union(ends, never)))
}

// until is the markings from which a path leads to one of last, through markings of first. It is
// held.
func (x *explorer) until(first, last symbolic.Node) (symbolic.Node, error) {
	within, err := x.held(x.s.Union(first, last))
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(within)
	return x.held(x.s.ReachWithin(last, within, x.back))
}

// before is the markings that have a successor in a set, and some that are not reachable. It is
// held.
func (x *explorer) before(n symbolic.Node) (all symbolic.Node, err error) {
	if all, err = x.held(x.s.Intersect(n, x.looping)); err != nil {
		return all, err
	}
	for _, t := range x.back {
		if all, err = x.replace(all)(x.s.FireUnion(n, t, all)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// always is the markings from which a path stays within a set until it ends, or for ever. It is
// held.
func (x *explorer) always(n symbolic.Node) (symbolic.Node, error) {
	left := n
	x.s.Hold(left)
	for {
		stay, err := x.before(left)
		if err != nil {
			return symbolic.Empty, err
		}
		if stay, err = x.replace(stay)(x.s.Union(stay, x.stuck)); err != nil {
			return symbolic.Empty, err
		}
		before := left
		if left, err = x.replace(left)(x.s.Intersect(left, stay)); err != nil {
			return symbolic.Empty, err
		}
		if x.s.Release(stay); left == before {
			return left, nil
		}
	}
}
