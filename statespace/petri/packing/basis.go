package packing

import (
	"math/bits"
	"sort"
)

// relation computes a place from stored places:
//
//	divisor * m(place) = constant + sum of coef * m(index)
type relation struct {
	terms    vector
	constant int64
	divisor  int64
}

// The largest divisor of a relation, and of all relations together: sums of
// markings are computed multiplied with it, and must stay below 2^63.
const maxDivisor = 1 << 12

// basis chooses the places to store.
//
// A set of places determines the marking if their rows in the incidence matrix
// span all rows. Such sets are the bases of a matroid, so taking the cheapest
// place that is independent of those taken before gives the fewest bits.
type basis struct {
	s       *structure
	width   []int // by place: bits if stored
	common  int64 // common multiple of all divisors
	implied []*relation
	pivots  []pivotRow
	pivotOf []int // by column: index into pivots, -1 if there is none
	rare    []int // by column: entries in the incidence matrix
	budget  *budget
}

// pivotRow is a row of the echelon form: a weighting of stored places whose
// change by transitions is effect.
type pivotRow struct {
	effect, weights vector
}

// chooseBasis returns, by place, the relation of the place if it is implied by
// others and nil if it is stored or constant. A place whose independence cannot
// be decided within the budget is stored.
func chooseBasis(s *structure, width []int, b *budget) []*relation {
	e := &basis{
		s: s, width: width, common: 1,
		implied: make([]*relation, len(width)),
		pivotOf: make([]int, s.columns),
		rare:    make([]int, s.columns),
		budget:  b,
	}
	for t := range e.pivotOf {
		e.pivotOf[t] = -1
	}
	for _, effect := range s.effects {
		for _, t := range effect {
			e.rare[t.index]++
		}
	}
	for _, p := range e.order() {
		if b.spent() {
			break
		}
		e.place(p)
	}
	return e.implied
}

// order returns the places that change, cheapest first. Among equals those in
// many invariants come first: what is left to be implied is then in few, and
// has a short relation.
func (e *basis) order() []int {
	var places []int
	for p, effect := range e.s.effects {
		if len(effect) > 0 {
			places = append(places, p)
		}
	}
	sort.SliceStable(places, func(i, j int) bool {
		p, q := places[i], places[j]
		if e.width[p] != e.width[q] {
			return e.width[p] < e.width[q]
		}
		return len(e.s.flowsOf[p]) > len(e.s.flowsOf[q])
	})
	return places
}

// place decides whether p is stored or implied.
func (e *basis) place(p int) {
	effect, weights := e.s.effects[p], vector{{p, 1}}
	for len(effect) > 0 {
		column, row := e.firstPivot(effect)
		if row < 0 {
			break
		}
		pivot := &e.pivots[row]
		a, b := pivot.effect.at(column), -effect.at(column)
		g := gcd(a, b)
		a, b = a/g, b/g
		var okEffect, okWeights bool
		e.budget.spend(len(effect) + len(weights) + len(pivot.effect) + len(pivot.weights))
		effect, okEffect = combine(a, effect, b, pivot.effect)
		weights, okWeights = combine(a, weights, b, pivot.weights)
		if !okEffect || !okWeights || e.budget.spent() {
			return // stored, and of no use to imply others
		}
		shrink(effect, weights)
	}
	if len(effect) > 0 {
		e.pivotOf[e.column(effect)] = len(e.pivots)
		e.pivots = append(e.pivots, pivotRow{effect: effect, weights: weights})
		return
	}
	e.implied[p] = e.solve(p, weights)
}

// firstPivot returns the oldest pivot row with a column in effect, -1 if there
// is none. A pivot row has no column of an older one, so that taking the oldest
// first ends.
func (e *basis) firstPivot(effect vector) (column, row int) {
	row = -1
	for _, t := range effect {
		if r := e.pivotOf[t.index]; r >= 0 && (row < 0 || r < row) {
			column, row = t.index, r
		}
	}
	return column, row
}

// column chooses the pivot of a new row: the column that the fewest other rows
// have, to keep the rows short, and a small number, to keep the numbers small.
func (e *basis) column(effect vector) int {
	best := effect[0]
	for _, t := range effect[1:] {
		if c, d := e.rare[t.index], e.rare[best.index]; c < d ||
			c == d && magnitude(t.coef) < magnitude(best.coef) {
			best = t
		}
	}
	return best.index
}

// solve turns an invariant over p and stored places into the relation of p,
// nil if the numbers are too large.
func (e *basis) solve(p int, weights vector) *relation {
	constant, ok := weights.dot(e.s.initial)
	if !ok {
		return nil
	}
	sign, divisor := int64(-1), weights.at(p)
	if divisor < 0 {
		sign, divisor = 1, -divisor
	}
	if divisor > maxDivisor {
		return nil
	}
	common := e.common / gcd(e.common, divisor) * divisor
	if common > maxDivisor {
		return nil
	}
	r := &relation{constant: -sign * constant, divisor: divisor}
	for _, w := range weights {
		if w.index != p {
			r.terms = append(r.terms, term{w.index, sign * w.coef})
		}
	}
	e.common = common
	return r
}

// magnitude returns the bits of |x|.
func magnitude(x int64) int { return bits.Len64(uint64(max(x, -x))) }
