package packing

import (
	"math"
	"slices"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri/property"
)

// simplify returns a formula that is true of the same reachable markings of the net, with what the
// bounds of places and the transitions that never fire decide replaced by its value. Stuck becomes
// a comparison of what follows the places: the number of successors.
func (p *Packing) simplify(f *logic.Formula) *logic.Formula {
	switch atom := f.Atom.(type) {
	case *property.AtMost:
		low, high := p.extremes(atom.Left, atom.Right)
		if high <= 0 || low > 0 {
			return logic.Truth(high <= 0)
		}
		return f
	case property.Enabled:
		var live property.Enabled
		for _, t := range atom {
			if p.s.live[t] {
				live = append(live, t)
			}
		}
		if len(live) == 0 {
			return logic.Truth(false)
		}
		return logic.Leaf(live)
	case property.Stuck:
		successors := property.Sum{Terms: []property.Term{{Place: len(p.net.Places), Weight: 1}}}
		return logic.Leaf(&property.AtMost{Left: successors})
	}
	switch f.Op {
	case logic.Not:
		arg := p.simplify(f.Args[0])
		if arg.Constant() {
			return logic.Truth(arg.Op == logic.Or)
		}
		return logic.Of(logic.Not, arg)
	case logic.Iff:
		left, right := p.simplify(f.Args[0]), p.simplify(f.Args[1])
		if left.Constant() {
			left, right = right, left
		}
		switch {
		case !right.Constant():
			return logic.Of(logic.Iff, left, right)
		case right.Op == logic.And:
			return left
		case left.Constant():
			return logic.Truth(left.Op == logic.Or)
		}
		return logic.Of(logic.Not, left)
	}
	g := logic.Of(f.Op)
	for _, arg := range f.Args {
		arg = p.simplify(arg)
		switch {
		case !arg.Constant():
			g.Args = append(g.Args, arg)
		case arg.Op != f.Op: // it decides
			return arg
		}
	}
	if len(g.Args) == 1 {
		return g.Args[0]
	}
	return g
}

// difference is left - right, with one term for each place whose weights do not cancel.
func difference(left, right property.Sum) property.Sum {
	terms := slices.Clone(left.Terms)
	for _, t := range right.Terms {
		terms = append(terms, property.Term{Place: t.Place, Weight: -t.Weight})
	}
	slices.SortFunc(terms, func(s, t property.Term) int { return s.Place - t.Place })
	sum := property.Sum{Constant: left.Constant - right.Constant}
	for _, t := range terms {
		if last := len(sum.Terms) - 1; last >= 0 && sum.Terms[last].Place == t.Place {
			sum.Terms[last].Weight += t.Weight
		} else {
			sum.Terms = append(sum.Terms, t)
		}
	}
	sum.Terms = slices.DeleteFunc(sum.Terms, func(t property.Term) bool { return t.Weight == 0 })
	return sum
}

// extremes are bounds of left - right over all reachable markings.
func (p *Packing) extremes(left, right property.Sum) (low, high int64) {
	sum := difference(left, right)
	low, high = sum.Constant, sum.Constant
	for _, t := range sum.Terms {
		most := p.s.bound[t.Place]
		least := int64(0)
		if len(p.s.effects[t.Place]) == 0 {
			least, most = p.s.initial[t.Place], p.s.initial[t.Place]
		}
		if t.Weight < 0 {
			least, most = most, least
		}
		low, high = weighted(low, t.Weight, least, -1), weighted(high, t.Weight, most, 1)
	}
	return low, min(high, p.invariantBound(sum))
}

// weighted is sum + weight * tokens, without bound in a direction where one of them is.
func weighted(sum, weight, tokens, direction int64) int64 {
	endless := direction * math.MaxInt64
	if sum == endless || tokens == unbounded && weight != 0 {
		return endless
	}
	return sum + weight*tokens
}

// invariantBound is the least bound of a sum by a single invariant that contains its places. The
// bound is the bound of the one place that gains most from all tokens of the invariant.
func (p *Packing) invariantBound(sum property.Sum) int64 {
	least := int64(math.MaxInt64)
	gains := func(t property.Term) bool { return t.Weight > 0 }
	first := slices.IndexFunc(sum.Terms, gains)
	if first < 0 {
		return least
	}
flows:
	for _, at := range p.s.flowsOf[sum.Terms[first].Place] {
		flow := &p.s.flows[at]
		most := int64(0)
		for _, t := range sum.Terms {
			if !gains(t) {
				continue
			}
			weight := flow.weights.at(t.Place)
			all, ok := mul(t.Weight, flow.tokens)
			if weight == 0 || !ok {
				continue flows
			}
			most = max(most, all/weight)
		}
		if bound, ok := mulAdd(1, sum.Constant, 1, most); ok {
			least = min(least, bound)
		}
	}
	return least
}
