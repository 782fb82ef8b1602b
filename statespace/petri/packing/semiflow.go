package packing

import "sort"

// The caps of the Farkas algorithm. The number of minimal semiflows can be
// exponential in the size of the net, and a packing needs only enough of them.
const (
	maxPairs = 5_000 // pairs of rows combined to eliminate one transition
	minPairs = 64    // the same when little of the budget is left
	maxRows  = 5_000 // rows kept at any time, or twice the rows of the start
)

// budget counts down elementary steps, so that a hard net costs a limited time
// and the result does not depend on the speed of the machine.
type budget struct{ left int }

func (b *budget) spend(steps int) { b.left -= steps }

func (b *budget) spent() bool { return b.left <= 0 }

// farkasRow is a candidate: a non-negative weighting of the places, and the
// change of the weighted token sum by each transition not yet eliminated.
type farkasRow struct {
	effect  vector // by transition
	weights vector // by place
	alive   bool
	number  int32 // of a removed row, -1 once another row has taken it over
}

// support stands for the support of a row.
type support struct {
	number    int32
	signature uint64
}

// farkas computes semiflows with the Farkas algorithm: it eliminates one
// transition after the other by adding rows that the transition increases to
// rows that it decreases.
type farkas struct {
	rows     []farkasRow
	byColumn [][]int32   // rows that have, or had, an entry in a column
	pos, neg []int       // living rows with a positive, negative entry by column
	byLowest [][]support // rows by the first place of the support
	living   int
	maxRows  int
	rank     int // columns eliminated by combination
	budget   *budget
}

// semiflows returns vectors y >= 0 with y*effects = 0, where effects has one
// row per place and columns transitions. With an unlimited budget these are all
// vectors of minimal support, with a limited one some of them.
func semiflows(effects []vector, columns int, b *budget) []vector {
	f := &farkas{
		byColumn: make([][]int32, columns),
		pos:      make([]int, columns),
		neg:      make([]int, columns),
		byLowest: make([][]support, len(effects)),
		budget:   b,
	}
	f.maxRows = max(maxRows, 2*len(effects))
	for p, effect := range effects {
		if len(effect) > 0 {
			f.add(farkasRow{effect: effect, weights: vector{{p, 1}}}, -1, nil)
		}
	}
	f.eliminateAll()
	var flows []vector
	for _, r := range f.rows {
		if r.alive && len(r.effect) == 0 {
			flows = append(flows, r.weights)
		}
	}
	return flows
}

// add makes a row part of the system. It takes over the number of a removed
// row, which saves listing it in the columns that this one had, or a new one if
// number is negative.
func (f *farkas) add(r farkasRow, number int32, previous vector) {
	if number < 0 {
		number = int32(len(f.rows))
		f.rows = append(f.rows, farkasRow{})
		previous = nil
	}
	r.alive = true
	for _, t := range r.effect {
		for len(previous) > 0 && previous[0].index < t.index {
			previous = previous[1:]
		}
		if len(previous) == 0 || previous[0].index != t.index {
			f.byColumn[t.index] = append(f.byColumn[t.index], number)
		}
		if t.coef > 0 {
			f.pos[t.index]++
		} else {
			f.neg[t.index]++
		}
	}
	lowest := r.weights[0].index
	f.byLowest[lowest] = append(f.byLowest[lowest], support{number, signature(r.weights)})
	f.rows[number] = r
	f.living++
	f.budget.spend(2 * len(r.effect))
}

// remove takes a row out of the system and returns it.
func (f *farkas) remove(number int32) farkasRow {
	r := f.rows[number]
	for _, t := range r.effect {
		if t.coef > 0 {
			f.pos[t.index]--
		} else {
			f.neg[t.index]--
		}
	}
	lowest := r.weights[0].index
	list := f.byLowest[lowest]
	for i, other := range list {
		if other.number == number {
			list[i] = list[len(list)-1]
			f.byLowest[lowest] = list[:len(list)-1]
			break
		}
	}
	f.rows[number] = farkasRow{}
	f.living--
	r.number = number
	f.budget.spend(len(r.effect))
	return r
}

// eliminateAll eliminates the columns, those first that add the fewest rows.
func (f *farkas) eliminateAll() {
	left := make([]int, len(f.pos))
	for column := range left {
		left[column] = column
	}
	growth := func(column int) int {
		pos, neg := f.pos[column], f.neg[column]
		return pos*neg - pos - neg
	}
	for len(left) > 0 && !f.budget.spent() {
		f.budget.spend(len(left) / 2)
		least := growth(left[0])
		for _, column := range left {
			least = min(least, growth(column))
		}
		count := len(left)
		later := left[:0]
		for i, column := range left {
			if growth(column) > least || f.budget.spent() {
				later = append(later, column)
			} else if f.pos[column]+f.neg[column] > 0 {
				f.eliminate(column, count-i)
			}
		}
		left = later
	}
}

// pair is a combination of two rows under consideration.
type pair struct {
	pos, neg int
	size     int // places in the union of the supports
}

// eliminate replaces all rows with an entry in the column by their
// combinations without one.
func (f *farkas) eliminate(column, left int) {
	var pos, neg []farkasRow
	for _, number := range f.byColumn[column] {
		sign := int64(0) // also of a row that lost its entry, or is dead
		if f.rows[number].alive {
			sign = f.rows[number].effect.at(column)
		}
		if sign > 0 {
			pos = append(pos, f.remove(number))
		} else if sign < 0 {
			neg = append(neg, f.remove(number))
		}
	}
	f.budget.spend(8 * len(f.byColumn[column]))
	f.byColumn[column] = nil
	if len(pos) == 0 || len(neg) == 0 {
		return // nothing balances these rows
	}
	f.rank++
	limit := min(max(f.budget.left/(64*left), minPairs), maxPairs)
	pos, neg = narrowest(pos, neg, limit)
	for _, c := range f.pairs(pos, neg) {
		if f.budget.spent() || f.living >= f.maxRows {
			break
		}
		p, n := &pos[c.pos], &neg[c.neg]
		r, ok := f.join(p, n, column)
		if !ok {
			continue
		}
		heir := p
		if p.number < 0 || n.number >= 0 && len(n.effect) > len(p.effect) {
			heir = n
		}
		f.add(r, heir.number, heir.effect)
		heir.number = -1
	}
}

// narrowest drops the rows with the largest supports until at most limit pairs
// are left. Dropping rows is sound: it loses semiflows and makes none up.
func narrowest(pos, neg []farkasRow, limit int) (p, n []farkasRow) {
	bySize := func(rows []farkasRow) {
		sort.SliceStable(rows, func(i, j int) bool {
			return len(rows[i].weights) < len(rows[j].weights)
		})
	}
	bySize(pos)
	bySize(neg)
	for len(pos)*len(neg) > limit {
		if len(pos) >= len(neg) {
			pos = pos[:len(pos)-1]
		} else {
			neg = neg[:len(neg)-1]
		}
	}
	return pos, neg
}

// pairs returns the pairs that may be of minimal support, narrowest first.
//
// A semiflow of minimal support that balances k transitions has at most k+1
// places in its support, because it is the only solution on its support.
func (f *farkas) pairs(pos, neg []farkasRow) []pair {
	var found []pair
	for i := range pos {
		for j := range neg {
			size := unionSize(pos[i].weights, neg[j].weights)
			f.budget.spend(len(pos[i].weights) + len(neg[j].weights))
			if size <= f.rank+1 {
				found = append(found, pair{i, j, size})
			}
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].size < found[j].size })
	return found
}

// unionSize returns the number of indexes that a or b have.
func unionSize(a, b vector) int {
	size := len(a) + len(b)
	for len(a) > 0 && len(b) > 0 {
		switch x, y := a[0].index, b[0].index; {
		case x < y:
			a = a[1:]
		case x > y:
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
			size--
		}
	}
	return size
}

// join returns the combination of two rows that has no entry in the column. It
// returns false if its support is not minimal or if its numbers are too large.
func (f *farkas) join(p, n *farkasRow, column int) (farkasRow, bool) {
	a, b := -n.effect.at(column), p.effect.at(column)
	g := gcd(a, b)
	a, b = a/g, b/g
	weights, okWeights := combine(a, p.weights, b, n.weights)
	f.budget.spend(len(p.effect) + len(n.effect) + len(p.weights) + len(n.weights))
	if !okWeights || f.covers(weights) {
		return farkasRow{}, false
	}
	effect, okEffect := combine(a, p.effect, b, n.effect)
	if !okEffect {
		return farkasRow{}, false
	}
	shrink(effect, weights)
	return farkasRow{effect: effect, weights: weights}, true
}

// covers reports whether the support of some row is a subset of the support of
// weights.
func (f *farkas) covers(weights vector) bool {
	all := signature(weights)
	for i, w := range weights {
		list := f.byLowest[w.index]
		f.budget.spend(len(list))
		for _, other := range list {
			if other.signature&^all == 0 && f.subset(f.rows[other.number].weights, weights[i:]) {
				return true
			}
		}
	}
	f.budget.spend(len(weights))
	return false
}

// signature returns a bit set that is a subset of another one if the supports
// are, and mostly only then.
func signature(weights vector) uint64 {
	var set uint64
	for _, w := range weights {
		set |= 1 << (uint64(w.index) * 0x9e3779b97f4a7c15 >> 58)
	}
	return set
}

// subset reports whether b has all indexes of a.
func (f *farkas) subset(a, b vector) bool {
	start := len(b)
	for _, t := range a {
		for len(b) > 0 && b[0].index < t.index {
			b = b[1:]
		}
		if len(b) == 0 || b[0].index != t.index {
			f.budget.spend(start - len(b) + 4)
			return false
		}
	}
	f.budget.spend(start - len(b) + 4)
	return true
}
