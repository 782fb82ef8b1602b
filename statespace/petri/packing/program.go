package packing

import (
	"math"
	"math/bits"

	"github.com/farhash/farhash/statespace/petri"
)

const (
	// mergedBits is the widest lane that a merged condition may take before it
	// is split over two planes.
	mergedBits = 8
	// fullLimit is the largest count that is summed up with other
	// places, so that a sum cannot outgrow a lane.
	fullLimit = 1 << 16
	// maxPlanes is the number of conditions of a transition that are tested by
	// lanes. The others are tested one by one if these hold.
	maxPlanes = 4
)

// program is the enabledness test of all transitions, compiled to sums.
//
// Each condition "a weighted sum of tokens is at least threshold" has a lane: a
// bit range of a word that holds the sum plus a bias, chosen so that the top bit
// of the lane says whether the condition holds. A token count is a linear
// function of the packed marking, and so is a lane. Adding up one word for each
// part of the packed marking thus tests many transitions at once.
//
// A condition on a place with a field of its own needs no sum. A program with masks has one bit,
// and no lane, for each transition that has no other conditions: the value of a field takes the bit
// away where the condition does not hold. The words of these bits come before the lanes.
type program struct {
	p       *Packing
	masks   int      // words of bits, filled up to a multiple of quad; lanes follow
	rules   [][]rule // by field: what takes bits away, nil without masks
	calm    uint64   // the bit of the first word that is set where no guard needs to be tested
	batches []batch
	slots   []slot   // by batch * 64 + top bit of the lane
	step    []uint64 // by slot: the change of a packed marking of one word
	bias    []uint64 // by word: all bits, or the lanes when all fields are zero
	columns [][]wordStep
	sumWord int // the lane word with the token sum, times the common divisor
	peaks   []peakLane
	guarded bool // some slot has guards
	resting bool // some slot has conditions that no lane tests, or empties places
	dense   *dense
	sparse  *sparse
	resets  [][]refill // by slot: the places that it empties; nil if none does
}

// batch is a word of enabledness bits: the conjunction of its planes. A
// transition has its conditions in the same bits of all planes.
type batch struct {
	first, planes int // lane words
	top           uint64
}

// slot is what to do when a transition is enabled.
type slot struct {
	transition int
	steps      []wordStep  // the change of the packed marking
	rest       []condition // those that no lane tests
	guards     []guard
}

// wordStep adds a number to a word. The addition may wrap around: the fields of
// the sum are in range, so that no field borrows from another in the end.
type wordStep struct {
	word int
	step uint64
}

// refill sets the field of a place that a firing empties: its bits are cleared, then others added.
type refill struct {
	word        int
	clear, fill uint64
}

// guard says that the transition overflows a place that has more tokens.
type guard struct {
	place int
	most  int64
}

// peakLane has its top bit set when a place has more tokens than the peak.
type peakLane struct {
	word, shift int
	divisor     int64 // the lane counts divisor * tokens
	power       int   // the top bit, counted from shift
	limit       int64 // the most tokens of the place
}

// rule takes a bit of a mask away unless a place has so many tokens.
type rule struct {
	word        int
	bit         uint64
	place       int
	least, most int64
}

// condition is a weighted token sum, plus a constant, that must reach a threshold.
type condition struct {
	weights   vector // by place
	constant  int64  // so that the sum is 0 or more where weights are negative
	threshold int64
	most      int64 // the largest sum
}

// power returns the position of the top bit in a lane that holds the sum plus
// 2^power - threshold, so that the bit is set if and only if the condition
// holds.
func (c *condition) power() int {
	need := max(c.threshold, c.most-c.threshold+1)
	return bits.Len64(uint64(need - 1))
}

// compile builds the program of a packing whose fields are placed, and the engine that takes the
// fewest additions.
func compile(p *Packing) *program {
	g := assemble(p, false)
	chunks, cost := g.tables()
	if sparse := g.sparseCost(); sparse < cost {
		chunks, cost = nil, sparse
	}
	masked := assemble(p, true)
	if fewer, less := masked.tables(); less < cost {
		g, chunks = masked, fewer
	}
	if chunks != nil {
		g.dense = g.tabulate(chunks)
	} else {
		g.sparse = g.list()
	}
	return g
}

// assemble builds a program without an engine. One with masks needs tables.
func assemble(p *Packing, masks bool) *program {
	g := &program{p: p, columns: make([][]wordStep, len(p.net.Places))}
	if masks {
		g.addMasks()
	}
	used := wordBits
	for t := range p.net.Transitions {
		if !p.s.live[t] || masks && g.local(t) {
			continue
		}
		if conditions, possible := g.conditions(t); possible {
			n := min(len(conditions), maxPlanes)
			used = g.addTransition(t, conditions[:n], conditions[n:], used)
		}
	}
	g.step = make([]uint64, len(g.slots))
	for i, s := range g.slots {
		if p.words == 1 && len(s.steps) > 0 {
			g.step[i] = s.steps[0].step
		}
	}
	if p.s.emptied() != nil {
		g.addResets()
	}
	g.addPeaks()
	return g
}

// addMasks gives a bit to each transition that is local. The first bit of all is for the guards of
// all transitions.
func (g *program) addMasks() {
	g.rules = make([][]rule, len(g.p.fields))
	g.calm = 1
	g.addMask()
	g.bias[0] = g.calm
	used := 1
	for t := range g.p.net.Transitions {
		if !g.p.s.live[t] {
			continue
		}
		g.keepCalm(t)
		if !g.local(t) {
			continue
		}
		if used == wordBits {
			g.addMask()
			used = 0
		}
		word := len(g.batches) - 1
		bit := uint64(1) << used
		g.batches[word].top |= bit
		g.bias[word] |= bit
		g.slots[word*wordBits+used] = g.slot(t, nil)
		for _, a := range g.p.net.Transitions[t].In {
			if len(g.p.s.effects[a.Place]) > 0 {
				g.addRule(rule{word, bit, a.Place, a.Weight, math.MaxInt64})
			}
		}
		for _, a := range g.p.net.Transitions[t].Inhibitors {
			if !g.p.s.constant(a.Place) {
				g.addRule(rule{word, bit, a.Place, 0, a.Weight - 1})
			}
		}
		used++
	}
	g.masks = (len(g.bias) + quad - 1) / quad * quad
	g.bias = append(g.bias, make([]uint64, g.masks-len(g.bias))...)
}

// addMask adds a word of bits.
func (g *program) addMask() {
	g.batches = append(g.batches, batch{first: len(g.bias), planes: 1})
	g.bias = append(g.bias, 0)
	g.addSlots()
}

func (g *program) addRule(r rule) {
	field := g.p.where[r.place].field
	g.rules[field] = append(g.rules[field], r)
}

// keepCalm has places take the bit of the guards away where t would overflow them.
func (g *program) keepCalm(t int) {
	for _, guard := range g.p.guards(t) {
		if g.calm == 0 || !g.alone(guard.place) {
			g.calm = 0
			return
		}
		g.addRule(rule{0, g.calm, guard.place, 0, guard.most})
	}
}

// local reports whether the conditions of t are on places with fields of their own.
func (g *program) local(t int) bool {
	for _, a := range g.p.net.Transitions[t].In {
		constant := len(g.p.s.effects[a.Place]) == 0
		if a.Weight > g.p.limit[a.Place] || !constant && !g.alone(a.Place) {
			return false
		}
	}
	for _, a := range g.p.net.Transitions[t].Inhibitors {
		if g.p.s.constant(a.Place) && g.p.s.initial[a.Place] >= a.Weight ||
			!g.p.s.constant(a.Place) && !g.alone(a.Place) {
			return false
		}
	}
	return true
}

// alone reports whether one field that a chunk can hold has the tokens of a place.
func (g *program) alone(place int) bool {
	field := g.p.where[place].field
	return field >= 0 && g.p.fields[field].width <= maxChunkBits
}

// addTransition gives a transition its lanes, in the last batch if there is
// room beyond the bits that are used. It returns the bits used afterwards.
func (g *program) addTransition(t int, conditions, rest []condition, used int) int {
	width := 1
	for i := range conditions {
		width = max(width, conditions[i].power()+1)
	}
	if used+width > wordBits {
		g.batches = append(g.batches, batch{first: len(g.bias)})
		used = 0
	}
	b := &g.batches[len(g.batches)-1]
	top := used + width - 1
	for b.planes < max(len(conditions), 1) {
		g.bias = append(g.bias, b.top) // nothing to test for those before
		b.planes++
	}
	b.top |= 1 << top
	for i := range b.planes {
		word := b.first + i
		if i >= len(conditions) {
			g.bias[word] += 1 << top
			continue
		}
		c := &conditions[i]
		shift := top - c.power()
		g.bias[word] += uint64(1)<<top - uint64(c.threshold-c.constant)<<shift
		for _, w := range c.weights {
			g.addPlace(word, shift, w.index, w.coef)
		}
	}
	g.addSlots()
	g.slots[(len(g.batches)-1)*wordBits+top] = g.slot(t, rest)
	return used + width
}

// addSlots makes slots for all batches.
func (g *program) addSlots() {
	for len(g.slots) < len(g.batches)*wordBits {
		g.slots = append(g.slots, slot{transition: -1})
	}
}

// addPlace adds weight times the tokens of a place to a lane.
func (g *program) addPlace(word, shift, place int, weight int64) {
	r := g.p.implied[place]
	switch {
	case r != nil:
		scale := weight / r.divisor // exact: conditions are scaled for it
		g.bias[word] += uint64(r.constant*scale) << shift
		for _, t := range r.terms {
			g.addStored(word, shift, t.index, t.coef*scale)
		}
	case g.p.where[place].field < 0:
		g.bias[word] += uint64(weight*g.p.s.initial[place]) << shift
	default:
		g.addStored(word, shift, place, weight)
	}
}

// addStored notes what a token in a stored place adds to a lane.
func (g *program) addStored(word, shift, place int, weight int64) {
	if g.p.where[place].field < 0 {
		return // a place that is always empty
	}
	step := uint64(weight) << shift
	column := g.columns[place]
	if n := len(column); n > 0 && column[n-1].word == word {
		column[n-1].step += step
		return
	}
	g.columns[place] = append(column, wordStep{word, step})
}

// conditions returns the conditions under which a transition is enabled, and
// false if no marking that fits the packing enables it.
//
// An input that takes all the tokens a place can have is satisfied only by the
// full place. So the conjunction of such inputs is one condition, on their sum.
// An inhibitor arc is a condition on the tokens that a place can still get.
// That a place is empty is the same as that it can get all that it has room for,
// and part of that sum.
func (g *program) conditions(t int) ([]condition, bool) {
	var full condition
	var partial []condition
	for _, a := range g.p.net.Transitions[t].In {
		limit := g.p.limit[a.Place]
		switch {
		case a.Weight > limit:
			return nil, false
		case len(g.p.s.effects[a.Place]) == 0:
			// constant, and sufficiently marked
		case a.Weight == limit && limit <= fullLimit:
			full.weights = append(full.weights, term{a.Place, 1})
			full.threshold += limit
		default:
			partial = append(partial, condition{
				weights: vector{{a.Place, 1}}, threshold: a.Weight, most: limit,
			})
		}
	}
	for _, a := range g.p.net.Transitions[t].Inhibitors {
		limit := g.p.limit[a.Place]
		switch {
		case g.p.s.constant(a.Place) && g.p.s.initial[a.Place] >= a.Weight:
			return nil, false
		case g.p.s.constant(a.Place) || a.Weight > limit:
			// never so many
		case a.Weight == 1 && limit <= fullLimit:
			full.weights = append(full.weights, term{a.Place, -1})
			full.constant += limit
			full.threshold += limit
		default:
			partial = append(partial, condition{weights: vector{{a.Place, -1}}, constant: limit,
				threshold: limit - a.Weight + 1, most: limit})
		}
	}
	full.most = full.threshold
	conditions := partial
	if len(full.weights) > 0 {
		conditions = g.merge(full, partial)
	}
	for i := range conditions {
		g.scale(&conditions[i])
	}
	return conditions, true
}

// merge adds the condition on full places to the others. It becomes part of the
// first one if the lane stays narrow: the weight of a missing token outdoes all
// that the partial place can have.
func (g *program) merge(full condition, partial []condition) []condition {
	if len(partial) == 0 {
		return []condition{full}
	}
	first := partial[0]
	weight := first.most - first.threshold + 1
	if bits.Len64(uint64(weight))+bits.Len64(uint64(full.most)) > mergedBits {
		return append(partial, full)
	}
	merged := condition{
		weights:   first.weights,
		constant:  first.constant + weight*full.constant,
		threshold: first.threshold + weight*full.threshold,
		most:      first.most + weight*full.most,
	}
	for _, w := range full.weights {
		merged.weights = append(merged.weights, term{w.index, weight * w.coef})
	}
	partial[0] = merged
	return partial
}

// scale multiplies a condition so that the divisors of implied places cancel.
func (g *program) scale(c *condition) {
	factor := int64(1)
	for _, w := range c.weights {
		if r := g.p.implied[w.index]; r != nil {
			factor = factor / gcd(factor, r.divisor) * r.divisor
		}
	}
	for i := range c.weights {
		c.weights[i].coef *= factor
	}
	c.constant *= factor
	c.threshold *= factor
	c.most *= factor
}

// slot returns the firing of a transition.
func (g *program) slot(t int, rest []condition) slot {
	s := slot{transition: t, steps: g.p.steps(t), rest: rest, guards: g.p.guards(t)}
	g.resting = g.resting || len(s.rest) > 0
	g.guarded = g.guarded || len(s.guards) > 0
	return s
}

// addResets notes which places each slot empties.
func (g *program) addResets() {
	g.resting, g.resets = true, make([][]refill, len(g.slots))
	for i, s := range g.slots {
		if s.transition >= 0 {
			g.resets[i] = g.p.refills(s.transition)
		}
	}
}

// guards returns the places that a firing of t may overflow.
func (p *Packing) guards(t int) []guard {
	var guards []guard
	for _, c := range changes(&p.net.Transitions[t]) {
		if c.coef > 0 && p.s.bound[c.index] == unbounded {
			guards = append(guards, guard{c.index, p.limit[c.index] - c.coef})
		}
	}
	for _, place := range p.net.Transitions[t].Resets {
		if out := produced(&p.net.Transitions[t], place); out > p.limit[place] &&
			p.s.bound[place] == unbounded {
			guards = append(guards, guard{place, -1}) // whatever it has
		}
	}
	return guards
}

// produced is the weight of the arc from a transition to a place, 0 if there is none.
func produced(t *petri.Transition, place int) int64 {
	for _, a := range t.Out {
		if a.Place == place {
			return a.Weight
		}
	}
	return 0
}

// refills returns what a firing of t does to places that it empties. These have fields of their
// own, as no invariant contains them, or are always empty.
func (p *Packing) refills(t int) []refill {
	var refills []refill
	for _, place := range p.net.Transitions[t].Resets {
		if w := p.where[place]; w.field >= 0 {
			f := &p.fields[w.field]
			refills = append(refills, refill{w.word, f.mask() << f.shift,
				uint64(produced(&p.net.Transitions[t], place)) * w.step})
		}
	}
	return refills
}

// steps returns the change of a packed marking by one firing of t, without refills.
func (p *Packing) steps(t int) []wordStep {
	var steps []wordStep
	for _, c := range changes(&p.net.Transitions[t]) {
		w := p.where[c.index]
		if w.field < 0 {
			continue
		}
		i := 0
		for i < len(steps) && steps[i].word != w.word {
			i++
		}
		if i == len(steps) {
			steps = append(steps, wordStep{word: w.word})
		}
		steps[i].step += uint64(c.coef) * w.step
	}
	return steps
}

// addPeaks adds the lane with the token sum, and a lane for each place that may
// have more tokens than any place has in the initial marking.
func (g *program) addPeaks() {
	p := g.p
	g.sumWord = len(g.bias)
	g.bias = append(g.bias, 0)
	common := p.common()
	for place := range p.net.Places {
		g.addPlace(g.sumWord, 0, place, common)
	}
	used, peak0 := wordBits, p.peak0()
	for place, limit := range p.limit {
		if limit <= peak0 || len(p.s.effects[place]) == 0 {
			continue
		}
		lane := peakLane{divisor: 1, limit: limit}
		if r := p.implied[place]; r != nil {
			lane.divisor = r.divisor
		}
		lane.power = bits.Len64(uint64(lane.divisor * limit))
		if used+lane.power+1 > wordBits {
			g.bias = append(g.bias, 0)
			used = 0
		}
		lane.word, lane.shift = len(g.bias)-1, used
		used += lane.power + 1
		g.addPlace(lane.word, lane.shift, place, lane.divisor)
		g.peaks = append(g.peaks, lane)
	}
}

// common returns the common multiple of the divisors of all relations.
func (p *Packing) common() int64 {
	common := int64(1)
	for _, r := range p.implied {
		if r != nil {
			common = common / gcd(common, r.divisor) * r.divisor
		}
	}
	return common
}

// peak0 returns the most tokens of a place in the initial marking.
func (p *Packing) peak0() int64 {
	var most int64
	for _, tokens := range p.s.initial {
		most = max(most, tokens)
	}
	return most
}

// enabled returns the enabledness bits of the batch.
func (b *batch) enabled(lanes []uint64) uint64 {
	enabled := b.top
	for _, lane := range lanes[b.first : b.first+b.planes] {
		enabled &= lane
	}
	return enabled
}

// holds reports whether all conditions hold.
func (p *Packing) holds(state []uint64, conditions []condition) bool {
	for i := range conditions {
		sum := conditions[i].constant
		for _, w := range conditions[i].weights {
			sum += w.coef * p.tokens(state, w.index)
		}
		if sum < conditions[i].threshold {
			return false
		}
	}
	return true
}
