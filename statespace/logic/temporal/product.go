package temporal

import (
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic/ltl"
)

// product is the step of an automaton: from which of its states, with a state of the system, an
// accepting run begins. First the kernel is found, of states of the automaton that accepting runs
// may come to again and again: those are left from which transitions of every set are reached
// within the part of the automaton, and no other. Then leads is found: the kernel is reached.
type product struct {
	labels      []*value // by atom of the automaton
	transitions []transition
	states      int // of the automaton; the inner ones come first
	inner       int // so many are in parts with transitions of all sets
	start       int
	sets, own   int // sets are the automaton's, and then conditions of fairness, weak ones first
	conditions
	lanes int // sets that are looked at side by side

	// First bits. For each inner state: it is not in the kernel, and, for each lane, its set is
	// reached. For each state: there is no way on, the kernel is reached. For each strong
	// condition: an arc from the state of the system meets it.
	gone, reached, dead, leads, enabled int

	phase phase
	set   int // of the first lane
	kept  int // so many sets have dropped nothing, one after the other
}

type transition struct {
	ltl.Transition
	from  int
	inner bool // it is within a part with transitions of all sets
}

// take takes over an automaton. It reports false if there are too many sets.
func (p *product) take(a *ltl.Automaton) bool {
	p.states, p.own = len(a.States), a.Sets
	if p.own+p.weak+p.strong == 0 {
		p.own = 1 // a set of all transitions
	}
	if p.sets = p.own + p.weak + p.strong; p.sets > 64 {
		return false
	}
	part := parts(a)
	numbers := make([]int, p.states)
	for s := range numbers {
		if part[s] != 0 {
			numbers[s] = p.inner
			p.inner++
		}
	}
	for s, n := 0, p.inner; s < p.states; s++ {
		if part[s] == 0 {
			numbers[s] = n
			n++
		}
	}
	for s, ts := range a.States {
		for _, t := range ts {
			inner := part[s]>>t.To&1 != 0
			if t.To = numbers[t.To]; p.own > a.Sets {
				t.Sets = 1
			}
			p.transitions = append(p.transitions, transition{t, numbers[s], inner})
		}
	}
	p.start = numbers[0]
	p.lanes = min(p.sets, 64/max(p.inner, 1))
	return true
}

// parts gives each state of an automaton the states of its part: that lead there and back. It is 0
// where the part does not have transitions of all sets.
func parts(a *ltl.Automaton) []uint64 {
	to := make([]uint64, len(a.States)) // what is reached
	for s, ts := range a.States {
		for _, t := range ts {
			to[s] |= 1 << t.To
		}
	}
	for over := range to {
		for s := range to {
			if to[s]>>over&1 != 0 {
				to[s] |= to[over]
			}
		}
	}
	part := make([]uint64, len(to))
	for s := range to {
		sets := uint64(0)
		for u := range to {
			if to[s]>>u&1 == 0 || to[u]>>s&1 == 0 {
				continue
			}
			part[s] |= 1 << u
			for _, t := range a.States[u] {
				if to[t.To]>>s&1 != 0 {
					sets |= t.Sets
				}
			}
		}
		if sets != mask(a.Sets) {
			part[s] = 0
		}
	}
	return part
}

// phase is what a product does in a sweep.
type phase int

const (
	trimming phase = iota // drops what has no way on
	reaching              // looks what reaches sets
	seeding               // nothing; the kernel is known
	leading               // looks what leads to the kernel
)

// bitsOf reads up to 64 bits.
func bitsOf(words []uint64, first, n int) uint64 {
	word, shift := first/64, first%64
	bits := words[word] >> shift
	if shift+n > 64 {
		bits |= words[word+1] << (64 - shift)
	}
	return bits & (^uint64(0) >> (64 - n))
}

// setBits sets bits, of up to 64 from a first one on.
func setBits(words []uint64, first, n int, bits uint64) {
	word, shift := first/64, first%64
	words[word] |= bits << shift
	if shift+n > 64 {
		words[word+1] |= bits >> (64 - shift)
	}
}

// clearBits clears bits, as setBits sets them.
func clearBits(words []uint64, first, n int, bits uint64) {
	word, shift := first/64, first%64
	words[word] &^= bits << shift
	if shift+n > 64 {
		words[word+1] &^= bits >> (64 - shift)
	}
}

// mask has so many bits.
func mask(n int) uint64 { return ^uint64(0) >> (64 - n) }

// kernel are the inner states that are left.
func (p *product) kernel(words []uint64) uint64 { return mask(p.inner) &^ p.bits(words, p.gone) }

// bits reads a bit for each inner state.
func (p *product) bits(words []uint64, first int) uint64 { return bitsOf(words, first, p.inner) }

// all is what the lanes have where each inner state has reached its sets.
func (p *product) all(inner uint64) (all uint64) {
	for lane := range p.lanes {
		all |= inner << (lane * p.inner)
	}
	return all
}

func (p *product) open(words []uint64) bool {
	switch p.phase {
	case trimming:
		return p.kernel(words) != 0
	case reaching:
		return p.all(p.kernel(words))&^bitsOf(words, p.reached, p.lanes*p.inner) != 0
	case leading:
		return p.astray(words) != 0
	}
	return false
}

// astray are the states that do not lead to the kernel yet, and may.
func (p *product) astray(words []uint64) uint64 {
	return mask(p.states) &^ bitsOf(words, p.leads, p.states) &^ bitsOf(words, p.dead, p.states)
}

func bitAt(words []uint64, bit int) bool { return words[bit/64]>>(bit%64)&1 != 0 }

func (p *product) settled(words []uint64) bool {
	return bitAt(words, p.leads+p.start) || bitAt(words, p.dead+p.start)
}

func (p *product) visit(at *explore.Visit) (changed bool) {
	if len(at.NextWords) > 0 {
		return p.look(at)
	}
	// It repeats, so what has changed may change more.
	at = &explore.Visit{Words: at.Words, NextWords: at.Words, Marks: []uint64{p.met()}}
	for p.look(at) {
		changed = true
	}
	return changed
}

// look changes the words of a state that has successors.
func (p *product) look(at *explore.Visit) bool {
	truth := p.truth(at.Words)
	if p.phase == leading {
		return p.lead(at, truth)
	}
	enabled := uint64(0)
	for _, marks := range at.Marks {
		enabled |= marks
	}
	if p.strong > 0 {
		setBits(at.Words, p.enabled, p.strong, enabled>>p.weak&mask(p.strong))
	}
	if p.phase == trimming {
		return p.trim(at, truth)
	}
	return p.reach(at, truth, enabled)
}

// met is the marks of an arc that meets all conditions.
func (c conditions) met() uint64 {
	if c.weak+c.strong == 0 {
		return 0
	}
	return mask(c.weak + c.strong)
}

// takes reports whether a transition may be taken where these labels are true.
func (t *transition) takes(truth uint64) bool { return t.True&^truth == 0 && t.False&truth == 0 }

// lead makes states lead to the kernel from which a transition leads to one that does.
func (p *product) lead(at *explore.Visit, truth uint64) bool {
	wanted, next, good := p.astray(at.Words), uint64(0), uint64(0)
	for all, width := at.NextWords, len(at.Words); len(all) > 0; all = all[width:] {
		next |= bitsOf(all, p.leads, p.states)
	}
	for i := range p.transitions {
		if t := &p.transitions[i]; next>>t.To&1 != 0 && t.takes(truth) {
			good |= wanted & (1 << t.from)
		}
	}
	setBits(at.Words, p.leads, p.states, good)
	return good != 0
}

// trim drops what has no way on. It reports whether the kernel has changed.
func (p *product) trim(at *explore.Visit, truth uint64) bool {
	left, alive := uint64(0), uint64(0) // in some successor
	for all, width := at.NextWords, len(at.Words); len(all) > 0; all = all[width:] {
		left |= p.kernel(all)
		alive |= mask(p.states) &^ bitsOf(all, p.dead, p.states)
	}
	inside, on := uint64(0), uint64(0)
	for i := range p.transitions {
		t := &p.transitions[i]
		if !t.takes(truth) {
			continue
		}
		if t.inner && left>>t.To&1 != 0 {
			inside |= 1 << t.from
		}
		if alive>>t.To&1 != 0 {
			on |= 1 << t.from
		}
	}
	dropped := p.kernel(at.Words) &^ inside
	setBits(at.Words, p.gone, p.inner, dropped)
	setBits(at.Words, p.dead, p.states, mask(p.states)&^on)
	return dropped != 0
}

// reach looks from where sets are reached.
func (p *product) reach(at *explore.Visit, truth, enabled uint64) (fresh bool) {
	n, inner := p.lanes*p.inner, p.all(p.kernel(at.Words))
	before := bitsOf(at.Words, p.reached, n)
	left, reached := uint64(0), uint64(0) // in some successor; for each lane, its set is reached
	for k, all := 0, at.NextWords; len(all) > 0; k, all = k+1, all[len(at.Words):] {
		kernel := p.kernel(all)
		if kernel == 0 {
			continue
		}
		left |= kernel
		if reached |= p.all(kernel) & bitsOf(all, p.reached, n); p.sets > p.own {
			reached |= p.all(kernel) & p.fair(at.Marks[k], enabled)
		}
	}
	now := before
	for i := range p.transitions {
		t := &p.transitions[i]
		if !t.inner || !t.takes(truth) {
			continue
		}
		for lane := range p.lanes {
			set := (p.set + lane) % p.sets
			if set < p.own && t.Sets>>set&1 != 0 && left>>t.To&1 != 0 ||
				reached>>(lane*p.inner+t.To)&1 != 0 {
				now |= 1 << (lane*p.inner + t.from)
			}
		}
	}
	now &= inner
	setBits(at.Words, p.reached, n, now)
	return now&^before != 0
}

// fair has all inner states for each lane whose set has an arc with these marks, from a state where
// some actions can be taken.
func (p *product) fair(marks, enabled uint64) (all uint64) {
	met := (marks | ^enabled&mask(p.weak)) << p.own
	for lane := range p.lanes {
		if met>>((p.set+lane)%p.sets)&1 != 0 {
			all |= mask(p.inner) << (lane * p.inner)
		}
	}
	return all
}

// truth is which labels are true.
func (p *product) truth(words []uint64) (truth uint64) {
	for i, v := range p.labels {
		if holds(v, words) {
			truth |= 1 << i
		}
	}
	return truth
}

func (p *product) swept(changed bool) (done bool, each func([]uint64) bool) {
	switch {
	case p.phase == seeding:
		return false, p.seed
	case changed:
		return false, nil
	case p.phase == leading:
		return true, nil
	case p.phase == trimming:
		p.phase = reaching
		return false, nil
	}
	return false, p.drop
}

// drop drops what has not reached a set. That an arc meets a strong condition is needed only where
// one can be taken.
func (p *product) drop(words []uint64) bool {
	kernel, reached := p.kernel(words), bitsOf(words, p.reached, p.lanes*p.inner)
	missed := uint64(0)
	for lane := range p.lanes {
		strong := (p.set+lane)%p.sets - p.own - p.weak
		if strong < 0 || bitAt(words, p.enabled+strong) {
			missed |= kernel &^ (reached >> (lane * p.inner))
		}
	}
	setBits(words, p.gone, p.inner, missed)
	clearBits(words, p.reached, p.lanes*p.inner, mask(p.lanes*p.inner))
	return missed != 0
}

// seed has the kernel lead to itself. It reports whether there is any.
func (p *product) seed(words []uint64) bool {
	kernel := p.kernel(words)
	setBits(words, p.leads, p.inner, kernel)
	return kernel != 0
}

func (p *product) applied(changed bool) (done bool) {
	switch p.phase {
	case seeding:
		p.phase = leading
		return !changed
	case trimming:
		return false
	}
	p.set = (p.set + p.lanes) % p.sets
	if p.kept++; changed {
		p.kept, p.phase = 0, trimming
	}
	if p.kept*p.lanes >= p.sets {
		p.phase = seeding
	}
	return false
}
