package diagram

import (
	"errors"
	"math"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// answer answers a property.
func (x *explorer) answer(p property.Property) (a property.Answer, err error) {
	a = property.Answer{Property: &p, Exact: true, Witness: -1, Transition: -1}
	switch p.Kind {
	case property.Bound:
		weights, constant, err := x.weights(p.Sum, property.Sum{})
		if err != nil {
			return a, err
		}
		if a.Value, err = x.s.Largest(x.all, weights, constant); err != nil {
			return a, err
		}
		return a, x.showsBound(weights, constant, a.Value)
	case property.Stable:
		a.Verdict = logic.False
		for level := range x.low {
			if x.low[level] == x.high[level] {
				a.Verdict = logic.True
			}
		}
		return a, nil
	case property.QuasiLive:
		a.Transition, err = x.missing(x.all)
		a.Verdict = logic.VerdictOf(a.Transition < 0)
		return a, err
	case property.Live:
		stuck, err := x.held(x.s.Stuck(x.all, x.fires))
		if err != nil {
			return a, err
		}
		defer x.s.Release(stuck)
		return a, x.live(&a, stuck)
	case property.Always, property.Sometimes:
		yes, err := x.holds(p.Formula, x.all)
		if err != nil {
			return a, err
		}
		defer func() { x.s.Release(yes) }()
		a.Verdict = logic.VerdictOf(yes != symbolic.Empty)
		if p.Kind == property.Always {
			a.Verdict = logic.VerdictOf(yes == x.all)
			if yes, err = x.except(x.all)(yes, nil); err != nil {
				return a, err
			}
		}
		a.Marking = x.marking(yes)
		x.shows(yes)
		return a, nil
	case property.Temporal:
		return a, x.initially(&a, p.Formula)
	}
	return a, &UnsupportedError{p}
}

// marking is one marking of a set by place, nil where there is none.
func (x *explorer) marking(n symbolic.Node) []int64 {
	v := x.s.Example(n)
	if v == nil {
		return nil
	}
	m := make([]int64, len(v))
	for level, place := range x.places {
		m[place] = int64(v[level])
	}
	return m
}

// weights are of left minus right, by level, and its constant.
func (x *explorer) weights(left, right property.Sum) (map[int]int64, int64, error) {
	const most = 1 << 62
	weights := make(map[int]int64, len(left.Terms)+len(right.Terms))
	constant := left.Constant - right.Constant
	// The size of the least number is no int64.
	size := math.Abs(float64(left.Constant)) + math.Abs(float64(right.Constant))
	for _, side := range []struct {
		terms []property.Term
		sign  int64
	}{{left.Terms, 1}, {right.Terms, -1}} {
		for _, t := range side.terms {
			weights[x.levels[t.Place]] += side.sign * t.Weight
			size += math.Abs(float64(t.Weight))
		}
	}
	if size >= most {
		return nil, 0, errors.New("the weights and constants of a sum of a property add up to " +
			"2^62 or more")
	}
	return weights, constant, nil
}

// bounds are what a weighted sum has at least and at most, by the extremes of each place. Up to
// 2^53 they are exact, and beyond they are not used.
func (x *explorer) bounds(weights map[int]int64) (least, most float64) {
	size := 0.0
	for level, w := range weights {
		a, b := float64(w)*float64(x.low[level]), float64(w)*float64(x.high[level])
		least += min(a, b)
		most += max(a, b)
		size += max(-a, a, -b, b)
	}
	if size >= 1<<53 {
		return math.Inf(-1), math.Inf(1)
	}
	return least, most
}

// holds is the markings of a set for which a formula is true. It is held.
func (x *explorer) holds(f *logic.Formula, in symbolic.Node) (symbolic.Node, error) {
	switch atom := f.Atom.(type) {
	case *property.AtMost:
		weights, constant, err := x.weights(atom.Left, atom.Right)
		if err != nil {
			return symbolic.Empty, err
		}
		if least, most := x.bounds(weights); most <= float64(-constant) {
			return x.held(in, nil)
		} else if least > float64(-constant) {
			return symbolic.Empty, nil
		}
		return x.held(x.s.AtMost(in, weights, -constant))
	case property.Enabled:
		some := make([]symbolic.Transition, len(atom))
		for i, t := range atom {
			some[i] = x.fires[t]
		}
		return x.except(in)(x.held(x.s.Stuck(in, some)))
	case property.Stuck:
		return x.held(x.s.Stuck(in, x.fires))
	}
	switch f.Op {
	case logic.Exists, logic.Forall:
		return x.alongPaths(f, in)
	case logic.And:
		return x.holdsAll(f.Args, in)
	case logic.Or:
		return x.holdsAny(f.Args, in)
	case logic.Not:
		return x.except(in)(x.holds(f.Args[0], in))
	case logic.Iff:
		return x.except(in)(x.differ(f.Args[0], f.Args[1], in))
	}
	return symbolic.Empty, errors.New("a formula has an operator that is not known")
}

// held holds a node.
func (x *explorer) held(n symbolic.Node, err error) (symbolic.Node, error) {
	if err == nil {
		x.s.Hold(n)
	}
	return n, err
}

// except takes a part, which it releases, out of a set.
func (x *explorer) except(in symbolic.Node) func(symbolic.Node, error) (symbolic.Node, error) {
	return func(part symbolic.Node, err error) (symbolic.Node, error) {
		if err != nil {
			return symbolic.Empty, err
		}
		defer x.s.Release(part)
		return x.held(x.s.Minus(in, part))
	}
}

// holdsAll asks each formula of what is left by those before it.
func (x *explorer) holdsAll(formulas []*logic.Formula, in symbolic.Node) (symbolic.Node, error) {
	left := in
	x.s.Hold(left)
	for _, f := range formulas {
		some, err := x.holds(f, left)
		if err != nil {
			return symbolic.Empty, err
		}
		x.s.Release(left)
		left = some
	}
	return left, nil
}

// differ is the markings for which one of two formulas is true, and not the other.
func (x *explorer) differ(f, g *logic.Formula, in symbolic.Node) (symbolic.Node, error) {
	a, err := x.holds(f, in)
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(a)
	b, err := x.holds(g, in)
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(b)
	first, err := x.held(x.s.Minus(a, b))
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(first)
	second, err := x.held(x.s.Minus(b, a))
	if err != nil {
		return symbolic.Empty, err
	}
	defer x.s.Release(second)
	return x.held(x.s.Union(first, second))
}

func (x *explorer) holdsAny(formulas []*logic.Formula, in symbolic.Node) (symbolic.Node, error) {
	sum := symbolic.Empty
	x.s.Hold(sum)
	for _, f := range formulas {
		part, err := x.holds(f, in)
		if err != nil {
			return symbolic.Empty, err
		}
		more, err := x.held(x.s.Union(sum, part))
		if err != nil {
			return symbolic.Empty, err
		}
		x.s.Release(part)
		x.s.Release(sum)
		sum = more
	}
	return sum, nil
}
