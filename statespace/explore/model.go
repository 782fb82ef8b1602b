package explore

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/dustin/go-humanize/english"

	"github.com/farhash/farhash/internal/plural"
)

// Model is a transition system whose states are packed into a fixed number of
// 64-bit words. A Model is read-only: many goroutines use it at once. A model that breaks
// the rules below, or panics, ends the search on all ranks, with an error that says what it did on
// the rank where it did.
type Model interface {
	// StateBits is the number of bits of a packed state, at least 1. States of
	// up to 63 bits occupy the low bits of one word.
	StateBits() int
	// StateWords is the number of words of a packed state: 1 up to 64 bits, and 512 at most.
	StateWords() int
	// Initial appends the packed initial states to out, at least one, and returns the extended
	// slice.
	Initial(out []uint64) []uint64
	// NewExpander returns an expander for one goroutine.
	NewExpander() Expander
	// Findings is how many findings an expander keeps: words for what it has seen in the
	// states that it expanded.
	Findings() int
	// Decided reports whether findings answer all that is asked of the model, so that the
	// search may end. It is asked with the largest of each finding over all ranks, whenever
	// one is no longer 0.
	Decided(findings []uint64) bool
}

// Padded is a Model whose states have lengths of their own: zeros fill up the words that a state
// does not need. As trees such states take memory and time for the words that they need alone.
type Padded interface {
	Model
	// Padded reports whether it is so.
	Padded() bool
}

// Expander computes successors. One goroutine uses it.
type Expander interface {
	// Expand appends to out one packed state (StateWords words) for each
	// transition that is enabled in state, and returns the extended slice. A
	// state reached by two transitions is appended twice. No appended state
	// means a deadlock. What out has already must stay, and none of the memory is the
	// expander's to keep. The same state always has the same successors, in the same order.
	// The error is *OverflowError when a successor does not fit the packing.
	Expand(state, out []uint64) ([]uint64, error)
	// Findings returns what the states expanded so far have shown. It is the same memory at
	// every call; Expand changes it, and only Expand. A finding begins at 0 and never falls. The
	// state whose expansion changes it from 0 is its witness, which Options.Trace can lead to.
	Findings() []uint64
	// Found is how many findings are not 0.
	Found() int
}

// Marker is what an Expander may be as well: it marks arcs for Options.After (Visit.Marks).
type Marker interface {
	Expander
	// ExpandMarked appends to out what Expand does, and to marks a word for each successor. Its
	// findings do not count.
	ExpandMarked(state, out, marks []uint64) (nextOut, nextMarks []uint64, err error)
}

// OverflowError says that a state does not fit the packing, which was made on
// a guess because the structure of the model bounds no better.
type OverflowError struct {
	Place string // the place that needs more bits
	Bits  int    // the bits that it has
}

// Error says which place needs more bits.
func (e *OverflowError) Error() string {
	if e.Place == "" {
		return "explore: a state does not fit the packing"
	}
	return fmt.Sprintf("explore: place %s has more tokens than %d %s", e.Place, e.Bits,
		english.PluralWord(e.Bits, "bit holds", "bits hold"))
}

// modelError says what a model did on this rank that its contract does not allow. The other ranks
// get a *rma.PeerError that says which rank it was, and which rule was broken.
type modelError struct {
	rank   int
	breach breach
	detail string // what it did, with the values
}

func (e *modelError) Error() string {
	return fmt.Sprintf("explore: on rank %d %v: %s", e.rank, e.breach, e.detail)
}

// breach is a rule of the contract that a model has broken.
type breach uint8

const (
	breachPanic breach = iota
	breachSizes
	breachInitial
	breachShorter
	breachChanged
	breachPart
	breachWide
	breachFindings
	breachActions
	breaches // how many there are
)

func (b breach) String() string {
	return "the model " + [breaches]string{
		breachPanic:    "panicked",
		breachSizes:    "has sizes that no search can work with",
		breachInitial:  "has an initial state that is none",
		breachShorter:  "returned from Expand less than it was given",
		breachChanged:  "changed in Expand what it was given",
		breachPart:     "returned from Expand a part of a state",
		breachWide:     "returned from Expand a state with bits beyond StateBits",
		breachFindings: "has a finding that fell",
		breachActions:  "named from ExpandNamed not each successor's action",
	}[b]
}

// maxStateWords is the length of the longest states.
const maxStateWords = 512

// maxFindings is how many findings a model has at most.
const maxFindings = 1 << 20

// admit takes over what the model says of itself, and refuses what breaks the contract.
func (s *search) admit(model Model) (err error) {
	defer s.recoverPanic(&err)
	if model == nil {
		return s.broken(breachSizes, "it is nil; give Run a model")
	}
	bits, words := model.StateBits(), model.StateWords()
	switch {
	case words < 1 || words > maxStateWords:
		return s.broken(breachSizes, "StateWords is %d; a state has 1 to %d words", words,
			maxStateWords)
	case bits < 1 || bits > 64*words:
		return s.broken(breachSizes, "StateBits is %d; where StateWords is %d it is 1 to %d", bits,
			words, 64*words)
	case bits <= 64 && words > 1:
		return s.broken(breachSizes, "StateBits is %d and StateWords %d; up to 64 bits are "+
			"one word", bits, words)
	}
	s.model, s.bits, s.words, s.initial = model, bits, words, model.Initial(nil)
	if p, ok := model.(Padded); ok {
		s.padded = p.Padded()
	}
	if len(s.initial) == 0 || len(s.initial)%words != 0 {
		return s.broken(breachInitial, "Initial appended %s; append at least one state of %s",
			plural.Of(len(s.initial), "word"), plural.Of(words, "word"))
	}
	if i := s.tooWide(s.initial); i >= 0 {
		return s.broken(breachInitial, "%#x has bits beyond the %d of StateBits", s.initial[i],
			bits)
	}
	if s.expander = model.NewExpander(); s.expander == nil {
		return s.broken(breachSizes, "NewExpander returned nil")
	}
	if s.findings = model.Findings(); s.findings < 0 || s.findings > maxFindings {
		return s.broken(breachSizes, "Findings is %d; a model has 0 to %d", s.findings,
			maxFindings)
	}
	if s.live = s.expander.Findings(); len(s.live) != s.findings {
		return s.broken(breachSizes, "the expander has %s, and Model.Findings is %d",
			plural.Of(len(s.live), "finding"), s.findings)
	}
	return nil
}

// tooWide returns the first of states that has bits beyond StateBits, -1 if none has. Where a
// state has several words, which bits count is the model's affair.
func (s *search) tooWide(states []uint64) int {
	if s.words > 1 {
		return -1
	}
	all, rest := uint64(0), states
	for ; len(rest) >= 8; rest = rest[8:] { // each time all are right
		w := (*[8]uint64)(rest)
		all |= w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]
	}
	for _, word := range rest {
		all |= word
	}
	if all>>s.bits == 0 {
		return -1
	}
	return slices.IndexFunc(states, func(word uint64) bool { return word>>s.bits != 0 })
}

// broken is the error of a model that has broken a rule on this rank.
func (s *search) broken(b breach, format string, args ...any) error {
	return &modelError{s.job.Rank(), b, fmt.Sprintf(format, args...)}
}

// recoverPanic makes a panic of the model an error, so that the other ranks get one too. It is
// deferred where nothing but the model runs.
func (s *search) recoverPanic(err *error) {
	if p := recover(); p != nil {
		*err = s.broken(breachPanic, "%v\n%s", p, debug.Stack())
	}
}

// anotherExpander has the model make an expander whose findings nobody reads.
func (s *search) anotherExpander() (e Expander, err error) {
	defer s.recoverPanic(&err)
	return s.model.NewExpander(), nil
}

// successors has the model count the successors of an initial state, as far as they fit its
// packing.
func (s *search) successors() (n int, err error) {
	defer s.recoverPanic(&err)
	out, _ := s.model.NewExpander().Expand(slices.Clone(s.initial[:s.words]), nil)
	return len(out) / s.words, nil
}

// decided asks the model whether findings answer everything.
func (s *search) decided(all []uint64) (yes bool, err error) {
	defer s.recoverPanic(&err)
	return len(all) > 0 && s.model.Decided(all), nil
}

// What may stand where the number of a finding is wanted.
const (
	Deadlock = -1 // a state without successors
	Stranded = -2 // a state from which a finding of Options.Live is not reached
)

// A witness is a state that has shown something: two words of a rank's segment, its level + 1
// (0: there is none) and its name. The witness of a deadlock comes first, then the findings.
const witnessWords = 2

// findings is what the expander of a rank has seen in the states that were gathered.
type findings struct {
	live   []uint64 // the expander's
	last   []uint64 // live as the last batch left it
	n      int      // that are not 0
	unseen []int    // the others
}

// witness is a state that has shown something first here.
type witness struct {
	finding int // or Deadlock
	name    uint64
	length  int // of the walk with this name that has met it; 0: it is the name of a state
}

func newFindings(live []uint64) findings {
	f := findings{live: live, last: slices.Clone(live)}
	for i := range live {
		f.unseen = append(f.unseen, i)
	}
	return f
}

// look appends to fresh the findings that a state with this name has shown first.
func (f *findings) look(fresh []witness, name uint64) []witness {
	f.unseen = slices.DeleteFunc(f.unseen, func(i int) bool {
		if f.live[i] == 0 {
			return false
		}
		fresh = append(fresh, witness{finding: i, name: name})
		return true
	})
	f.n = len(f.live) - len(f.unseen)
	return fresh
}

// fell returns the first finding that is less than after the batch before, -1 if there is none.
func (f *findings) fell() int {
	for i, word := range f.live {
		if word < f.last[i] {
			return i
		}
	}
	copy(f.last, f.live)
	return -1
}
