package packing

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/farhash/farhash/statespace/petri"
)

// unbounded marks a place for which no bound is known.
const unbounded = math.MaxInt64

// The budgets of the structural analysis, in elementary steps of a few
// nanoseconds.
const (
	semiflowBudget = 150_000_000
	slackBudget    = 20_000_000
	basisBudget    = 60_000_000
	maxRounds      = 4 // repetitions after transitions were found to be dead
)

// flow is a place invariant: the weighted sum of the tokens is the same in all
// reachable markings.
type flow struct {
	weights vector // by place, positive
	tokens  int64  // the weighted sum
}

// structure is what the analysis finds out about a net.
type structure struct {
	net     *petri.Net
	initial []int64
	live    []bool   // transitions that are not known to be dead
	effects []vector // by place: the change by live transitions, see measure and breakAtResets
	columns int      // of effects: transitions, and the places that have reset arcs
	flows   []flow
	flowsOf [][]int32 // by place: indexes into flows
	bound   []int64   // by place: most tokens, or unbounded
}

// analyse computes bounds from semiflows. A bound can show that a transition
// is dead, and without it there can be more semiflows, hence the rounds.
func analyse(net *petri.Net) *structure {
	s := newStructure(net)
	flows, slack := &budget{semiflowBudget}, &budget{slackBudget}
	for round := 1; ; round++ {
		s.effects = s.measure(true)
		s.breakAtResets()
		s.findFlows(flows)
		s.findSlackBounds(slack)
		if !s.dropDead() || round == maxRounds {
			break
		}
	}
	for p, bound := range s.bound {
		if bound > petri.MaxTokens {
			s.bound[p] = unbounded
		}
	}
	return s
}

// newStructure returns what is known without invariants.
func newStructure(net *petri.Net) *structure {
	s := &structure{
		net: net, initial: net.Initial(),
		live:  make([]bool, len(net.Transitions)),
		bound: make([]int64, len(net.Places)),

		columns: len(net.Transitions),
		flowsOf: make([][]int32, len(net.Places)),
	}
	for t := range s.live {
		s.live[t] = true
	}
	for p := range s.bound {
		s.bound[p] = unbounded
	}
	s.markable()
	return s
}

// markable takes out of live what cannot fire even if tokens are never used up,
// and what bounds and invariants forbid. A transition that was found to be dead
// stays dead, also if what showed it is not found again.
func (s *structure) markable() {
	net := s.net
	consumers := make([][]int, len(net.Places))
	missing := make([]int, len(net.Transitions))
	var ready []int
	before := s.live
	s.live = make([]bool, len(before))
	for t := range net.Transitions {
		for _, a := range net.Transitions[t].In {
			if s.initial[a.Place] == 0 {
				consumers[a.Place] = append(consumers[a.Place], t)
				missing[t]++
			}
		}
		if missing[t] == 0 {
			ready = append(ready, t)
		}
	}
	for len(ready) > 0 {
		t := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		s.live[t] = before[t] && !s.blocked(t)
		if !s.live[t] {
			continue
		}
		for _, a := range net.Transitions[t].Out {
			for _, c := range consumers[a.Place] {
				if missing[c]--; missing[c] == 0 {
					ready = append(ready, c)
				}
			}
			consumers[a.Place] = nil
		}
	}
}

// blocked reports whether the bounds and invariants found so far keep t from
// ever firing.
func (s *structure) blocked(t int) bool {
	for _, a := range s.net.Transitions[t].Inhibitors {
		if s.constant(a.Place) && s.initial[a.Place] >= a.Weight {
			return true
		}
	}
	in := s.net.Transitions[t].In
	for _, a := range in {
		if a.Weight > s.bound[a.Place] {
			return true
		}
	}
	if len(in) < 2 {
		return false // the bound of the place says it all
	}
	for _, a := range in {
		for _, f := range s.flowsOf[a.Place] {
			if !s.flows[f].affords(in) {
				return true
			}
		}
	}
	return false
}

// constant reports whether no live transition changes a place.
func (s *structure) constant(place int) bool {
	return s.effects != nil && len(s.effects[place]) == 0
}

// affords reports whether a marking that has the tokens of the arcs can satisfy
// the invariant.
func (f *flow) affords(arcs []petri.Arc) bool {
	left := f.tokens
	for _, a := range arcs {
		need, ok := mul(f.weights.at(a.Place), a.Weight)
		if !ok || need > left {
			return false
		}
		left -= need
	}
	return true
}

// dropDead updates live and reports whether a transition was found to be dead.
func (s *structure) dropDead() bool {
	before := s.live
	s.markable()
	return !slices.Equal(before, s.live)
}

// measure returns, by place, the change by each live transition. Of transitions
// with the same effect except for a factor it takes only one, because they put the
// same condition on an invariant. The factor may be negative if opposite is set.
//
// For an invariant, opposite is set, and places that a transition empties are left
// out: see breakAtResets. For a weighting that no transition increases they are
// in: at least the tokens of In were taken.
func (s *structure) measure(opposite bool) []vector {
	effects := make([]vector, len(s.net.Places))
	seen := make(map[string]bool)
	var key []byte
	for t, live := range s.live {
		if !live {
			continue
		}
		effect := balance(&s.net.Transitions[t])
		if opposite {
			effect = changes(&s.net.Transitions[t])
		}
		shrink(effect)
		key = key[:0]
		sign := int64(1)
		if opposite && len(effect) > 0 && effect[0].coef < 0 {
			sign = -1
		}
		for _, c := range effect {
			key = binary.AppendVarint(key, int64(c.index))
			key = binary.AppendVarint(key, sign*c.coef)
		}
		if seen[string(key)] {
			continue
		}
		seen[string(key)] = true
		for _, c := range effect {
			effects[c.index] = append(effects[c.index], term{t, c.coef})
		}
	}
	return effects
}

// breakAtResets gives each place that a live transition empties a column of its
// own in effects. It stands for tokens that get lost in any number: an invariant,
// whose product with every column is 0, cannot contain the place.
func (s *structure) breakAtResets() {
	s.columns = len(s.net.Transitions)
	for place, emptied := range s.emptied() {
		if emptied {
			s.effects[place] = append(s.effects[place], term{s.columns, 1})
			s.columns++
		}
	}
}

// emptied reports, by place, whether a live transition empties it. It is nil if none does.
func (s *structure) emptied() []bool {
	var emptied []bool
	for t, live := range s.live {
		for _, place := range s.net.Transitions[t].Resets {
			if live && emptied == nil {
				emptied = make([]bool, len(s.net.Places))
			}
			if live {
				emptied[place] = true
			}
		}
	}
	return emptied
}

// changes returns the change of each place by one firing of t, except for those
// that it empties: that depends on the marking.
func changes(t *petri.Transition) vector {
	change := balance(t)
	if len(t.Resets) > 0 {
		change = slices.DeleteFunc(change, func(c term) bool {
			return slices.Contains(t.Resets, c.index)
		})
	}
	return change
}

// changed calls use for each place that a firing of t may change.
func changed(t *petri.Transition, use func(place int)) {
	for _, c := range changes(t) {
		use(c.index)
	}
	for _, place := range t.Resets {
		use(place)
	}
}

// balance returns what t produces less what it consumes, by place.
func balance(t *petri.Transition) vector {
	in, out := make(vector, len(t.In)), make(vector, len(t.Out))
	for i, a := range t.In {
		in[i] = term{a.Place, a.Weight}
	}
	for i, a := range t.Out {
		out[i] = term{a.Place, a.Weight}
	}
	// Weights are at most petri.MaxTokens, so this cannot overflow.
	difference, _ := combine(-1, in, 1, out)
	return difference
}

// findFlows computes semiflows and the bounds that follow from them. Bounds
// that were found before remain.
func (s *structure) findFlows(b *budget) {
	s.flows = nil
	s.flowsOf = make([][]int32, len(s.net.Places))
	for p := range s.bound {
		if len(s.effects[p]) == 0 {
			s.bound[p] = s.initial[p]
		}
	}
	for _, weights := range semiflows(s.effects, s.columns, b) {
		s.addFlow(weights)
	}
	if b.spent() { // a long chain of places exhausts it, and has a flow that is easy to see
		s.addFlow(s.allPlaces())
	}
}

// addFlow adds a semiflow and the bounds that follow from it.
func (s *structure) addFlow(weights vector) {
	tokens, ok := weights.dot(s.initial)
	if !ok || len(weights) == 0 {
		return
	}
	for _, w := range weights {
		s.flowsOf[w.index] = append(s.flowsOf[w.index], int32(len(s.flows)))
	}
	s.flows = append(s.flows, flow{weights, tokens})
	s.tighten(weights, tokens)
}

// allPlaces weighs every place that changes with one, if no transition changes the number
// of tokens; else it is empty.
func (s *structure) allPlaces() vector {
	var weights vector
	change := make([]int64, s.columns)
	for p, effect := range s.effects {
		if len(effect) > 0 {
			weights = append(weights, term{p, 1})
		}
		for _, e := range effect {
			change[e.index] += e.coef
		}
	}
	for _, c := range change {
		if c != 0 {
			return nil
		}
	}
	return weights
}

// tighten applies the bounds of an invariant.
func (s *structure) tighten(weights vector, tokens int64) {
	for _, w := range weights {
		s.bound[w.index] = min(s.bound[w.index], tokens/w.coef)
	}
}

// findSlackBounds bounds places that no semiflow contains, such as a store that
// is only ever used up: by weightings that no transition increases. They are
// semiflows of the net with one more place for each transition, to which only
// that transition adds a token.
func (s *structure) findSlackBounds(b *budget) {
	open := false
	for _, bound := range s.bound {
		open = open || bound == unbounded
	}
	if !open {
		return
	}
	places := len(s.net.Places)
	effects := s.measure(false)
	added := make(map[int]bool)
	for _, effect := range effects[:places] {
		for _, c := range effect {
			if !added[c.index] {
				added[c.index] = true
				effects = append(effects, vector{{c.index, 1}})
			}
		}
	}
	for _, weights := range semiflows(effects, len(s.net.Transitions), b) {
		for i, w := range weights {
			if w.index >= places {
				weights = weights[:i] // the places that were added
				break
			}
		}
		if tokens, ok := weights.dot(s.initial); ok {
			s.tighten(weights, tokens)
		}
	}
}
