package randomwalk

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/farhash/farhash/statespace/petri"
)

// Growth shows that a net is unbounded. After leads from the initial marking to one from which
// Cycle can be fired. Cycle takes tokens from no place, on the whole, and adds some to Place: so it
// can be fired for ever.
//
// More tokens may disable a transition with inhibitor arcs, and those that a reset arc takes do not
// add up. So no transition of Cycle has such an arc with a place that gains tokens. Then each round
// finds the same tokens in all places that have such arcs, and more in others.
type Growth struct {
	Place        int
	After, Cycle []int // transitions
}

// Check fires the two sequences on the net, and says what is wrong with them.
func (g *Growth) Check(net *petri.Net) error {
	before, after, err := g.fire(net)
	if err != nil {
		return err
	}
	if g.Place < 0 || g.Place >= len(after) || after[g.Place] == before[g.Place] {
		return errors.New("the cycle adds no token to the place")
	}
	return nil
}

// fire returns the markings before and after the cycle. It is an error if a firing is not possible,
// if the cycle takes tokens from a place, or if a place that gains tokens has an inhibitor or reset
// arc with one of its transitions.
func (g *Growth) fire(net *petri.Net) (before, after []int64, err error) {
	after = net.Initial()
	if err := net.FireAll(after, g.After); err != nil {
		return nil, nil, err
	}
	before = slices.Clone(after)
	if err := net.FireAll(after, g.Cycle); err != nil {
		return nil, nil, err
	}
	for p := range after {
		if after[p] < before[p] {
			return nil, nil, fmt.Errorf("the cycle takes tokens from place %s", net.Places[p].ID)
		}
	}
	for _, t := range g.Cycle {
		if p := special(&net.Transitions[t], func(p int) bool {
			return after[p] > before[p]
		}); p >= 0 {
			return nil, nil, fmt.Errorf("place %s gains tokens and has an inhibitor or reset arc",
				net.Places[p].ID)
		}
	}
	return before, after, nil
}

// special is a place, of those that is says, with an inhibitor or reset arc; -1 if there is none.
func special(t *petri.Transition, is func(place int) bool) int {
	for _, a := range t.Inhibitors {
		if is(a.Place) {
			return a.Place
		}
	}
	for _, p := range t.Resets {
		if is(p) {
			return p
		}
	}
	return -1
}

// Gain is how many tokens the cycle adds, by place. The growth is one of the net.
func (g *Growth) Gain(net *petri.Net) []int64 {
	before, after, err := g.fire(net)
	if err != nil {
		return make([]int64, len(net.Places))
	}
	for p := range after {
		after[p] -= before[p]
	}
	return after
}

// Growth spends about so many firings on random walks that look for a growth, and shortens the one
// that it finds. It is nil if there is none, and the same each time, unless ctx is done before. A
// net may be unbounded and have none that such walks find.
//
// A walk goes on at random from the initial marking, and then among a few transitions that are near
// to each other: in other parts of the net nothing changes then, and need not come back to where it
// was. The second part ends when a marking has no fewer tokens anywhere than one before it.
func (m *Map) Growth(ctx context.Context, firings int) *Growth {
	if len(m.net.Transitions) == 0 {
		return nil
	}
	s := &grower{Walker: m.Walker(), near: make([]bool, len(m.net.Transitions)),
		inside: make([]bool, len(m.net.Places))}
	var best *Growth
	for number := uint64(0); firings > 0 && ctx.Err() == nil; number++ {
		g := s.walk(number)
		firings -= s.cost
		if g == nil {
			continue
		}
		s.shorten(g)
		if best == nil { // others may be shorter
			firings = min(firings, moreFirings)
		}
		if best == nil || len(g.After)+len(g.Cycle) < len(best.After)+len(best.Cycle) {
			best = g
		}
	}
	return best
}

// moreFirings is how long Growth looks for a shorter growth.
const moreFirings = 1 << 14

// grower looks for growths.
type grower struct {
	*Walker
	draw  rand.PCG
	fired []int // since the initial marking
	cost  int   // of the last walk, in firings

	group  []int32 // the transitions of the second part
	near   []bool  // by transition: group has it
	places []int32 // that these have arcs with
	inside []bool  // by place: places has it
	marks  [maxMarks]markedStep
	marked int // how many there are
}

// markedStep is a marking of the second part.
type markedStep struct {
	fired  int     // transitions before it
	tokens []int64 // of the places of the group: others do not change
}

// The length of the first part of a walk and the cost of the second one, in powers of two, and how
// many markings of the second part are compared with each later one: the first, and the last ones.
const (
	maxBefore = 10
	maxAfter  = 12
	maxMarks  = 16
)

// walk is the walk of a number. It returns the growth that it meets.
func (s *grower) walk(number uint64) *Growth {
	s.Begin(number, nil)
	s.draw.Seed(number, 0x6a09e667f3bcc909)
	s.fired, s.marked = s.fired[:0], 0
	drawn := s.draw.Uint64()
	length := 0
	if first := drawn % (maxBefore + 2); first > 0 {
		length = int(s.draw.Uint64() % (1 << (first - 1)))
	}
	s.cost = 1 + (len(s.m.net.Places)+len(s.m.net.Transitions))/64 // to begin
	for range length {
		if len(s.enabled) == 0 {
			break
		}
		pick, _ := bits.Mul64(s.draw.Uint64(), uint64(len(s.enabled)))
		if !s.take(s.enabled[pick]) {
			return nil
		}
	}
	s.chooseGroup(drawn >> 32)
	s.mark()
	most := s.cost + 1<<(drawn>>16%maxAfter)
	for s.cost <= most {
		t, ok := s.enabledNear()
		if !ok || !s.take(t) {
			break
		}
		if g := s.compare(); g != nil {
			return g
		}
		s.mark()
	}
	return nil
}

// take fires a transition. It reports false if a place gets too full.
func (s *grower) take(t int32) bool {
	s.cost++
	s.fired = append(s.fired, int(t))
	return s.fire(t, 1)
}

// chooseGroup chooses transitions that are near to each other: from one on, those that use what
// others change, until there are as many as is drawn.
func (s *grower) chooseGroup(drawn uint64) {
	for _, t := range s.group {
		s.near[t] = false
	}
	for _, p := range s.places {
		s.inside[p] = false
	}
	n := len(s.m.net.Transitions)
	most := min(n, 1<<(drawn%uint64(1+bits.Len(uint(n)))))
	begin, _ := bits.Mul64(s.draw.Uint64(), uint64(n))
	s.group, s.places = append(s.group[:0], int32(begin)), s.places[:0]
	s.near[begin] = true
	for at := 0; at < len(s.group); at++ {
		t := &s.m.net.Transitions[s.group[at]]
		for _, arcs := range [][]petri.Arc{t.In, t.Out, t.Inhibitors} {
			for _, a := range arcs {
				s.addPlace(a.Place, most)
			}
		}
		for _, p := range t.Resets {
			s.addPlace(p, most)
		}
	}
}

// addPlace adds a place to those of the group, and the transitions around it.
func (s *grower) addPlace(place, most int) {
	if !s.inside[place] {
		s.inside[place] = true
		s.places = append(s.places, int32(place))
		s.addAround(place, most)
	}
}

// addAround adds transitions around a place to the group, until it has the most.
func (s *grower) addAround(place, most int) {
	for _, t := range s.m.around(place) {
		if len(s.group) >= most {
			return
		}
		if s.cost++; !s.near[t] {
			s.near[t] = true
			s.group = append(s.group, t)
		}
	}
}

// around are the transitions that have arcs with a place.
func (m *Map) around(place int) []int32 {
	m.once.Do(func() {
		m.arounds = make([][]int32, len(m.net.Places))
		for t := range m.net.Transitions {
			at := &m.net.Transitions[t]
			for _, arcs := range [][]petri.Arc{at.In, at.Out, at.Inhibitors} {
				for _, a := range arcs {
					m.arounds[a.Place] = append(m.arounds[a.Place], int32(t))
				}
			}
			for _, p := range at.Resets {
				m.arounds[p] = append(m.arounds[p], int32(t))
			}
		}
	})
	return m.arounds[place]
}

// enabledNear draws an enabled transition of the group.
func (s *grower) enabledNear() (t int32, ok bool) {
	first, _ := bits.Mul64(s.draw.Uint64(), uint64(len(s.group)))
	for i := range s.group {
		t := s.group[(int(first)+i)%len(s.group)]
		if s.at[t] >= 0 {
			s.cost += 1 + i/8
			return t, true
		}
	}
	s.cost += 1 + len(s.group)/8
	return 0, false
}

// mark keeps the present marking. If there are maxMarks, the oldest but the first is forgotten.
func (s *grower) mark() {
	if s.marked == maxMarks {
		forgotten := s.marks[1]
		copy(s.marks[1:], s.marks[2:])
		s.marked--
		s.marks[s.marked] = forgotten
	}
	k := &s.marks[s.marked]
	k.fired, k.tokens = len(s.fired), k.tokens[:0]
	for _, p := range s.places {
		k.tokens = append(k.tokens, s.marking[p])
	}
	s.marked++
	s.cost += len(s.places) / 32
}

// compare compares the present marking with those that were kept.
func (s *grower) compare() *Growth {
	s.cost += s.marked * len(s.places) / 64
	for i := range s.marked {
		grown := -1
		for k, before := range s.marks[i].tokens {
			p := int(s.places[k])
			if s.marking[p] < before {
				grown = -1
				break
			}
			if s.marking[p] > before && grown < 0 {
				grown = p
			}
		}
		if from := s.marks[i].fired; grown >= 0 && s.adds(i, s.fired[from:]) {
			return &Growth{Place: grown, After: slices.Clone(s.fired[:from]),
				Cycle: slices.Clone(s.fired[from:])}
		}
	}
	return nil
}

// adds reports whether firings that lead from a marking of marks to the present one can be repeated
// for ever: places that gain tokens have no inhibitor and reset arcs with them. It is true of plain
// nets.
func (s *grower) adds(mark int, firings []int) bool {
	if s.m.resets == nil {
		return true
	}
	gains := map[int]bool{}
	for k, before := range s.marks[mark].tokens {
		p := int(s.places[k])
		gains[p] = s.marking[p] > before
	}
	s.cost += (len(s.places) + len(firings)) / 8
	return !slices.ContainsFunc(firings, func(t int) bool {
		return special(&s.m.net.Transitions[t], func(p int) bool { return gains[p] }) >= 0
	})
}

// maxShortening is how many firings are spent on leaving some out.
const maxShortening = 1 << 21

// shorten leaves out firings that are not needed. It tries long runs first: if a run ends where it
// began, it can be left out as a whole, and often none of its firings alone.
func (s *grower) shorten(g *Growth) {
	left := maxShortening
	for _, part := range []*[]int{&g.After, &g.Cycle} {
		for run := len(*part); run > 0; run = shorter(run) {
			for at := max(0, len(*part)-run); at >= 0 && run <= len(*part) && left > 0; at -= run {
				all, place := *part, g.Place
				*part = slices.Delete(slices.Clone(all), at, min(at+run, len(all)))
				left -= len(g.After) + len(g.Cycle) + len(s.m.net.Places)
				if g.Place = g.growing(s.m.net); g.Place < 0 {
					*part, g.Place = all, place
				}
			}
		}
	}
	g.turn(s.m.net)
}

// turn has the cycle begin as early as it can. A firing that ends both sequences may begin the
// cycle instead: the firings are the same. Before one that empties places these may have had other
// numbers of tokens.
func (g *Growth) turn(net *petri.Net) {
	for len(g.After) > 0 {
		t, rest := g.Cycle[len(g.Cycle)-1], g.Cycle[:len(g.Cycle)-1]
		if g.After[len(g.After)-1] != t || len(net.Transitions[t].Resets) > 0 {
			return
		}
		g.After, g.Cycle = g.After[:len(g.After)-1], append([]int{t}, rest...)
	}
}

// shorter is the next length of runs.
func shorter(run int) int {
	const each = 16 // up to this length
	if run > each {
		return max(each, run/2)
	}
	return run - 1
}

// growing is a place to which the cycle adds tokens, -1 if the sequences show no growth.
func (g *Growth) growing(net *petri.Net) int {
	before, after, err := g.fire(net)
	if err != nil {
		return -1
	}
	for p := range after {
		if after[p] > before[p] {
			return p
		}
	}
	return -1
}
