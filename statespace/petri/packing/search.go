package packing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/petri/randomwalk"
)

// narrow and wide are the bits that places without a structural bound may get. A search begins with
// narrow ones, see begin, or the first wide ones, and continues with wider ones until it fits. All
// ranks widen alike.
var (
	narrow = []int{1, 2, 4}
	wide   = []int{8, 16, 32}
)

// Search explores a net. Ranks of one process share it, so that each packing is made
// once; it is safe for concurrent use.
type Search struct {
	net        *petri.Net
	properties []property.Property
	// Answered, if not nil, is called where explore.Options.Progress is, with the number of a
	// property, once each, when a search that runs has the answer. Set it before Run.
	Answered func(number int, a property.Answer)
	// Endless has Run search a net that is known to be unbounded, until memory is full or a limit
	// is reached. Without it that is an [UnboundedError], where it answers all properties
	// ([Growing]). Set it before Run.
	Endless bool
	// ShowPaths adds to Result.Traces a path for each formula of LTL that is false. Set it before
	// Run.
	ShowPaths bool

	mu        sync.Mutex
	structure *structure       // nil before the first packing
	packings  map[int]*Packing // by guess
	first     int              // the guess to begin with, 0 if that is not known
	answered  []bool           // by property; of the rank that shows progress
	walked    int              // firings that were spent on finding growth, at most
	growth    *randomwalk.Growth
}

// NewSearch returns a search of net that answers properties. With properties it ends when
// all are answered, without it finds all markings.
func NewSearch(net *petri.Net, properties ...property.Property) *Search {
	return &Search{net: net, properties: properties, packings: map[int]*Packing{}}
}

// packing is the net's packing with a guess.
func (s *Search) packing(guessBits int) (*Packing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.packings[guessBits]; p != nil {
		return p, nil
	}
	clear(s.packings) // ranks widen together, and a packing may be large
	p, err := s.pack(guessBits)
	if err == nil {
		s.packings[guessBits] = p
	}
	return p, err
}

func (s *Search) pack(guessBits int) (*Packing, error) {
	if s.structure == nil {
		s.structure = analyse(s.net)
	}
	return newPacking(s.structure, guessBits, s.properties)
}

// begin is the guess that a search begins with. Few words to a marking are worth more than a search
// that is begun again costs: of the guesses up to the first wide one it is the widest that takes no
// more words than the narrowest that random walks do not outgrow.
func (s *Search) begin() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first > 0 {
		return s.first, nil
	}
	fewest := 0
	for _, bits := range append(narrow[:len(narrow):len(narrow)], wide[0]) {
		p, err := s.pack(bits)
		if err != nil && s.first == 0 {
			return 0, err
		}
		if err != nil || fewest > 0 && p.setWords() > fewest {
			break
		}
		if fewest == 0 && bits < wide[0] && p.outgrown() {
			continue
		}
		s.first, fewest = bits, p.setWords()
		s.packings = map[int]*Packing{bits: p}
		if !p.guessed() {
			break
		}
	}
	return s.first, nil
}

// setWords is how many words a set takes for a marking: a word of a set has a bit fewer.
func (p *Packing) setWords() int { return max(p.words, p.bits/wordBits+1) }

// The length of random walks, and of all of them in words that an expander works on.
const (
	walkSteps = 1 << 8
	walkWords = 1 << 20
)

// outgrown reports whether random walks meet a marking that does not fit.
func (p *Packing) outgrown() bool {
	rng := rand.New(rand.NewPCG(1, 2)) // the same on all ranks
	e := p.NewExpander()
	state := slices.Clone(p.initial)
	var out []uint64
	steps := max(walkSteps, walkWords/(p.words+p.program.stride()))
	for step := 1; p.guessed() && step <= steps; step++ {
		var err error
		if out, err = e.Expand(state, out[:0]); err != nil {
			return true
		}
		if len(out) == 0 || step%walkSteps == 0 {
			copy(state, p.initial)
			continue
		}
		copy(state, out[rng.IntN(len(out)/p.words)*p.words:])
	}
	return false
}

// UnboundedError says that a net has markings without end.
type UnboundedError struct{ Growth *randomwalk.Growth }

func (e *UnboundedError) Error() string { return "packing: the net is unbounded" }

// The firings of random walks that look for growth: before a search, where a place has outgrown a
// byte, and where one has outgrown 16 bits.
const (
	firstWalks  = 1 << 15
	secondWalks = 1 << 20
	thirdWalks  = 1 << 23
)

// Growing reports whether all properties are sums of tokens that grow without end, as g shows. It
// is true if there are none.
func Growing(net *petri.Net, g *randomwalk.Growth, properties []property.Property) bool {
	gain := g.Gain(net)
	for _, p := range properties {
		if p.Kind != property.Bound || p.Sum.Value(gain) <= p.Sum.Constant {
			return false
		}
	}
	return true
}

// Growth shows that the net is unbounded. It is nil if that is not known.
func (s *Search) Growth() *randomwalk.Growth {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.growth
}

// lookForGrowth looks for growth in a net for whose places no bounds are known, before a search
// with so many bits for these. It finds the same on all ranks. When ctx is done it finds nothing.
func (s *Search) lookForGrowth(ctx context.Context, p *Packing, guessBits int) error {
	if p.Open() < 0 {
		return nil
	}
	firings := firstWalks
	switch {
	case guessBits > wide[1]:
		firings = thirdWalks
	case guessBits > wide[0]:
		firings = secondWalks
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.growth == nil && s.walked < firings {
		g := randomwalk.New(s.net, p.s.live).Growth(ctx, firings)
		if g != nil {
			if err := g.Check(s.net); err != nil {
				return fmt.Errorf("packing: a fault: what shows that the net is unbounded: %w", err)
			}
		}
		s.growth, s.walked = g, firings
	}
	if s.growth == nil || s.Endless || !Growing(s.net, s.growth, s.properties) {
		return nil
	}
	return &UnboundedError{s.growth}
}

// FindGrowth looks for growth in a net for whose places no bounds are known by structure. It is nil
// if there is none, or none that random walks find.
func FindGrowth(ctx context.Context, net *petri.Net) (*randomwalk.Growth, error) {
	s := &Search{net: net, packings: map[int]*Packing{}, Endless: true}
	p, err := s.packing(wide[0])
	if err == nil {
		err = s.lookForGrowth(ctx, p, wide[1])
	}
	return s.growth, err
}

// Run explores all reachable markings on the ranks of job. A search that outgrows a
// guessed packing is begun again with a wider one. Options.Live is filled in, and ModelID, so that
// a checkpoint is resumed with the packing that it was made with. Collective; the packing
// returned is the one that fit.
func (s *Search) Run(ctx context.Context, job rma.Job, opts explore.Options) (
	*explore.Result, *Packing, error) {
	bits, err := s.begin()
	if err != nil {
		return nil, nil, err
	}
	for {
		p, err := s.packing(bits)
		if err != nil {
			return nil, nil, err
		}
		if err := s.lookForGrowth(ctx, p, bits); err != nil {
			return nil, p, err
		}
		if opts.ModelID, err = p.identity(s, bits); err != nil {
			return nil, nil, err
		}
		opts.Live = p.live()
		var paths pathAnswers
		opts.After = p.afterwards(&paths, s.ShowPaths)
		res, err := explore.Run(ctx, job, p, s.answering(p, opts))
		if err == nil {
			p.note(res, paths)
		}
		var overflow *explore.OverflowError
		var other *explore.OtherModelError
		again := errors.As(err, &overflow) || errors.As(err, &other)
		wider := slices.IndexFunc(wide, func(more int) bool { return more > bits })
		if !again || !p.guessed() || wider < 0 {
			return res, p, err
		}
		if overflow != nil {
			opts.Resume = "" // its states do not fit the wider packing
		}
		bits = wide[wider]
	}
}

// answering has Answered called with the progress of a search.
func (s *Search) answering(p *Packing, opts explore.Options) explore.Options {
	progress := opts.Progress
	if s.Answered == nil || progress == nil || len(s.properties) == 0 {
		return opts
	}
	if s.answered == nil {
		s.answered = make([]bool, len(s.properties))
	}
	opts.Progress = func(shot explore.Snapshot) {
		p.decided(shot, func(number int, a property.Answer) {
			if !s.answered[number] {
				s.answered[number] = true
				s.Answered(number, a)
			}
		})
		progress(shot)
	}
	return opts
}

// identity is a text that differs between nets, between packings of a net and between questions.
func (p *Packing) identity(s *Search, guessBits int) (string, error) {
	h := xxh3.New()
	if err := petri.Write(h, s.net); err != nil {
		return "", err
	}
	if !p.guessed() {
		guessBits = 0
	}
	id := fmt.Sprintf("net %016x, %d bits, guess %d", h.Sum64(), p.bits, guessBits)
	if len(s.properties) > 0 { // a checkpoint has what was found out about them
		h.Reset()
		if err := json.NewEncoder(h).Encode(s.properties); err != nil {
			return "", err
		}
		id += fmt.Sprintf("%s%016x", Asked, h.Sum64())
	}
	return id, nil
}

// Asked begins what differs in the ModelID of searches of one net for different questions.
const Asked = ", asked "

// errUnlikeNet means that a trace is not one of the net's.
var errUnlikeNet = errors.New("packing: a step of the trace is no firing of the net; " +
	"this is a bug of farhash")

// Firings are the transitions of a trace. Each is fired on the net itself: a trace that is none
// of the net is an error.
func (p *Packing) Firings(trace []explore.Step) ([]int, error) {
	if len(trace) == 0 {
		return nil, nil
	}
	marking := p.net.Initial()
	state := make([]uint64, p.words)
	firings := make([]int, 0, len(trace)-1)
	for i, step := range trace {
		if i > 0 {
			t := p.successor(marking, step.Action)
			if t < 0 {
				return nil, errUnlikeNet
			}
			p.net.Transitions[t].Fire(marking)
			firings = append(firings, t)
		}
		if err := p.pack(marking, state); err != nil || !slices.Equal(state, step.State) {
			return nil, errors.Join(errUnlikeNet, err)
		}
	}
	return firings, nil
}

// Path are the transitions of a path, as Firings has them. One that repeats must end with the
// marking that it leads back to.
func (p *Packing) Path(path explore.Trace) ([]int, error) {
	steps := path.Steps
	if path.Back > 0 && !slices.Equal(steps[len(steps)-1].State, steps[path.Back-1].State) {
		return nil, errUnlikeNet
	}
	return p.Firings(steps)
}

// Marking has the tokens of a packed marking, by place.
func (p *Packing) Marking(state []uint64) []int64 {
	marking := make([]int64, len(p.net.Places))
	for place := range marking {
		marking[place] = p.tokens(state, place)
	}
	return marking
}

// successor is the transition that gives the successor of that number in the order of Expand; -1
// if there is none.
func (p *Packing) successor(marking []int64, number int) int {
	for i := range p.program.slots {
		t := p.program.slots[i].transition
		if t < 0 || !p.net.Transitions[t].Enabled(marking) {
			continue
		}
		if number == 0 {
			return t
		}
		number--
	}
	return -1
}
