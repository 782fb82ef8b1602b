package temporal

import (
	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/ltl"
)

// product is the step of an automaton: from which of its states, with a state of the system, an
// accepting run begins. A state of the system has two bits for each of the automaton: that there is
// no such run, and, while transitions of a set are searched for, that one is reached.
type product struct {
	labels        []*value // by atom of the automaton
	transitions   []transition
	states, sets  int // sets are the automaton's, and then the conditions of fairness
	own           int // of the automaton
	gone, reached int // first bits

	reaching bool // else states with no way on are dropped
	set      int  // whose transitions are searched for, now or next
	kept     int  // so many sets have dropped nothing, one after the other
}

type transition struct {
	ltl.Transition
	from int
}

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

// left are the states of the automaton that are not gone.
func (p *product) left(words []uint64) uint64 {
	return ^bitsOf(words, p.gone, p.states) & (^uint64(0) >> (64 - p.states))
}

// wanted are the states of the automaton that may still change.
func (p *product) wanted(words []uint64) uint64 {
	left := p.left(words)
	if p.reaching {
		left &^= bitsOf(words, p.reached, p.states)
	}
	return left
}

func (p *product) open(words []uint64) bool    { return p.wanted(words) != 0 }
func (p *product) settled(words []uint64) bool { return words[p.gone/64]>>(p.gone%64)&1 != 0 }

func (p *product) visit(at *explore.Visit, met []uint64) bool {
	next := at.NextWords
	if len(next) == 0 {
		next = at.Words // it repeats
	}
	left, reached := uint64(0), uint64(0) // in some successor
	fair := uint64(0)                     // and where the arc meets the condition
	for i, width := 0, len(at.Words); len(next) > 0; i, next = i+1, next[width:] {
		left |= p.left(next)
		if !p.reaching {
			continue
		}
		reached |= bitsOf(next, p.reached, p.states)
		if p.set >= p.own && (len(at.NextWords) == 0 || met[i]>>(p.set-p.own)&1 != 0) {
			fair |= p.left(next)
		}
	}
	truth := p.truth(at.Words)
	wanted, good := p.wanted(at.Words), uint64(0)
	for i := range p.transitions {
		t := &p.transitions[i]
		from, to := uint64(1)<<t.from, uint64(1)<<t.To
		if wanted&from == 0 || t.True&^truth != 0 || t.False&truth != 0 {
			continue
		}
		on := left&to != 0
		if p.reaching {
			on = reached&to != 0 || p.set < p.own && t.Sets>>p.set&1 != 0 && on || fair&to != 0
		}
		if on {
			good |= from
		}
	}
	if p.reaching {
		setBits(at.Words, p.reached, p.states, good)
		return good != 0
	}
	setBits(at.Words, p.gone, p.states, wanted&^good)
	return wanted&^good != 0
}

// truth is which labels are true.
func (p *product) truth(words []uint64) (truth uint64) {
	for i, v := range p.labels {
		if v.holds(words) {
			truth |= 1 << i
		}
	}
	return truth
}

func (p *product) swept(changed bool) (done bool, each func([]uint64) bool) {
	switch {
	case changed:
		return false, nil
	case p.reaching:
		return false, p.drop
	}
	p.reaching = true
	return p.sets == 0, nil
}

// drop drops what has not reached the set.
func (p *product) drop(words []uint64) bool {
	left, reached := p.left(words), bitsOf(words, p.reached, p.states)
	setBits(words, p.gone, p.states, left&^reached)
	clearBits(words, p.reached, p.states, reached)
	return left&^reached != 0
}

func (p *product) applied(changed bool) (done bool) {
	p.set = (p.set + 1) % p.sets
	if p.kept++; changed {
		p.kept, p.reaching = 0, false
	}
	return p.kept == p.sets
}
