package packing

import (
	"fmt"
	"sync"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// defaultGuessBits is what a place without a bound gets if Options do not say.
const defaultGuessBits = 8

// Options control how a net is packed.
type Options struct {
	// GuessBits is the number of bits for a place that no invariant bounds: 1
	// to 32, and 8 if it is 0. With 32 bits a place holds up to 2^31 tokens.
	GuessBits int
	// Properties are what searches of the packing answer.
	Properties []property.Property
}

// Packing is a net whose markings are packed into 64-bit words. It implements
// explore.Model. It is read-only: many goroutines use it at once.
type Packing struct {
	net       *petri.Net
	s         *structure
	guess     int
	width     []int       // by place: bits if stored
	limit     []int64     // by place: most tokens it may have
	implied   []*relation // by place: nil if not implied
	fields    []field
	where     []position // by place
	bits      int
	words     int
	initial   []uint64
	program   *program
	questions questions
	tour      func() *tour    // made for the first walk: many searches have none
	ids       func() []string // of the transitions, made once they are asked for
}

// position says what a token in a place adds to the packed marking. A place
// that is constant or implied adds nothing and has field -1.
type position struct {
	field int
	word  int
	step  uint64
}

var _ explore.Model = (*Packing)(nil)

// New analyses a net and lays out its packed markings.
func New(net *petri.Net, opts Options) (*Packing, error) {
	guess := opts.GuessBits
	if guess == 0 {
		guess = defaultGuessBits
	}
	if guess < 1 || guess > maxGuessBits {
		return nil, fmt.Errorf("guess of %d bits for a place without a bound: use 1 to %d",
			guess, maxGuessBits)
	}
	return newPacking(analyse(net), guess, opts.Properties)
}

// newPacking lays out the packed markings of a net that has been analysed.
func newPacking(s *structure, guess int, asked []property.Property) (*Packing, error) {
	net := s.net
	p := &Packing{net: net, guess: guess, s: s}
	if err := p.setWidths(guess); err != nil {
		return nil, err
	}
	p.implied = chooseBasis(p.s, p.width, &budget{basisBudget})
	for i, r := range p.implied {
		if r != nil && p.s.bound[i] == unbounded {
			p.limit[i] = petri.MaxTokens // it takes no bits that would limit it
		}
	}
	p.setFields()
	if err := p.placeFields(); err != nil {
		return nil, err
	}
	p.locate()
	p.initial = make([]uint64, p.words)
	if err := p.pack(p.s.initial, p.initial); err != nil {
		return nil, fmt.Errorf("packing the initial marking of net %s: %w", net.Name, err)
	}
	if err := p.ask(asked); err != nil {
		return nil, err
	}
	p.program = compile(p)
	p.tour, p.ids = sync.OnceValue(p.makeTour), sync.OnceValue(p.makeIDs)
	return p, nil
}

// locate fills where.
func (p *Packing) locate() {
	p.where = make([]position, len(p.net.Places))
	for i := range p.where {
		p.where[i].field = -1
	}
	for i := range p.fields {
		f := &p.fields[i]
		for code, place := range f.places {
			p.where[place] = position{i, f.word, uint64(code+1) << f.shift}
		}
	}
}

// StateBits returns the number of bits of a packed marking that carry
// information, at least 1.
func (p *Packing) StateBits() int { return p.bits }

// StateWords returns the number of 64-bit words of a packed marking.
func (p *Packing) StateWords() int { return p.words }

// Initial appends the packed initial marking to out.
func (p *Packing) Initial(out []uint64) []uint64 { return append(out, p.initial...) }

// guessed reports whether some place has only a guessed width that a larger
// Options.GuessBits would widen. Then a retry may help after an
// *explore.OverflowError.
func (p *Packing) guessed() bool { return p.guess < maxGuessBits && p.Open() >= 0 }

// Open is the first place for whose tokens no bound is known by structure, -1 if there is none:
// then the net is bounded.
func (p *Packing) Open() int {
	for i, bound := range p.s.bound {
		if bound == unbounded && p.where[i].field >= 0 {
			return i
		}
	}
	return -1
}

// pack packs a marking, given as tokens by place, into state. The error says
// which place holds more than the packing has room for, or that the marking
// violates an invariant of the net, so that it cannot be reached.
func (p *Packing) pack(marking []int64, state []uint64) error {
	if len(marking) != len(p.where) || len(state) != p.words {
		return fmt.Errorf("packing %d places into %d words: want %d places and %d words",
			len(marking), len(state), len(p.where), p.words)
	}
	clear(state)
	taken := make([]bool, len(p.fields))
	for i, tokens := range marking {
		if tokens < 0 || tokens > p.limit[i] {
			return p.overflow(i, tokens)
		}
		w := p.where[i]
		if tokens == 0 || w.field < 0 {
			continue
		}
		if taken[w.field] {
			return p.unreachable(i, tokens)
		}
		taken[w.field] = true
		state[w.word] += uint64(tokens) * w.step
	}
	check := make([]int64, len(marking))
	p.unpack(state, check)
	for i := range check {
		if check[i] != marking[i] {
			return p.unreachable(i, marking[i])
		}
	}
	return nil
}

// overflow returns the error for a count that a place cannot hold.
func (p *Packing) overflow(place int, tokens int64) error {
	id := p.net.Places[place].ID
	switch {
	case tokens < 0 || p.s.bound[place] != unbounded:
		return p.unreachable(place, tokens)
	case tokens > petri.MaxTokens:
		return fmt.Errorf("more than 2^31 tokens in place %s of net %s: "+
			"the net may be unbounded, check its arcs or bound the place", id, p.net.Name)
	default:
		return &explore.OverflowError{Place: id, Bits: p.width[place]}
	}
}

// unreachable returns the error for a marking that contradicts an invariant.
func (p *Packing) unreachable(place int, tokens int64) error {
	return fmt.Errorf("%d tokens in place %s of net %s contradict its invariants: "+
		"pack only markings that can be reached", tokens, p.net.Places[place].ID, p.net.Name)
}

// unpack stores the tokens by place of a packed marking into marking.
func (p *Packing) unpack(state []uint64, marking []int64) {
	copy(marking, p.s.initial) // constant places
	for i := range p.fields {
		f := &p.fields[i]
		value := f.value(state)
		if !f.group {
			marking[f.places[0]] = int64(value)
			continue
		}
		for _, place := range f.places {
			marking[place] = 0
		}
		// A code beyond the last place is in no packed marking.
		if value > 0 && value <= uint64(len(f.places)) {
			marking[f.places[value-1]] = 1
		}
	}
	for i, r := range p.implied {
		if r != nil {
			marking[i] = r.value(marking)
		}
	}
}

// value computes the implied place. Intermediate results may wrap around, the
// last one does not: it is at most maxDivisor * petri.MaxTokens.
func (r *relation) value(marking []int64) int64 {
	sum := r.constant
	for _, t := range r.terms {
		sum += t.coef * marking[t.index]
	}
	if r.divisor == 1 {
		return sum
	}
	return sum / r.divisor
}
