package check

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/codec"
	"github.com/farhash/farhash/statespace/explore"
)

const (
	// findingDeadlock is the finding of a deadlock; the findings of properties follow it.
	findingDeadlock   = 0
	findingProperties = 1

	// Of a model that has Canonical, or whose states have AppendBinary, notes follow these.
	noteCompared = 0 // states of the sample that were compared
	noteAlike    = 1 // number of a place that is nil in a state and empty in another; 0: none
	notes        = 2

	// An expander expands the first twiceFirst of its states twice, which is all of a small model,
	// then one of sampleEvery.
	twiceFirst  = 1 << 16
	sampleEvery = 256

	deadlockName = "deadlock"
)

// system is a model as package explore has it.
type system[S any] struct {
	*Model[S]
	packing packing[S]
	first   []uint64 // the initial states
	joined  []uint64 // pairs: an initial state as it came, and what Canonical returned
	places  *place   // slices and maps in states; nil: there are none
	covers  bool     // actions are counted
}

func newSystem[S any](m *Model[S]) (*system[S], error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	p, err := newPacking[S](m.MaxBytes)
	if err != nil {
		return nil, err
	}
	s := &system[S]{Model: m, packing: p}
	if s.shares() {
		s.places = placesOf(reflect.TypeFor[S]())
	}
	for _, state := range m.Init {
		words, err := s.pack(state)
		if err != nil {
			return nil, &Error{Model: m.Name, Detail: err.Error(), State: text(state) +
				", an initial one"}
		}
		s.first = append(s.first, words...)
		came := make([]uint64, len(words))
		fits := p.Encode(&state, came) == nil
		if m.Canonical != nil && fits && !slices.Equal(came, words) {
			s.joined = append(append(s.joined, came...), words...)
		}
		if fits && s.shares() {
			if err := s.keeps(state, came); err != nil {
				return nil, &Error{Model: m.Name, Detail: err.Error(), State: text(state) +
					", an initial one"}
			}
		}
	}
	return s, nil
}

// keeps is expander.kept of an initial state.
func (m *system[S]) keeps(s S, packed []uint64) (err error) {
	defer func() {
		if p := recover(); p != nil { // Next and properties panic again in the search, which tells
			err = nil
		}
	}()
	return m.NewExpander().(*expander[S]).kept(s, packed)
}

// pack packs the state that stands for s.
func (m *system[S]) pack(s S) (_ []uint64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v\n%s", p, debug.Stack())
		}
	}()
	if m.Canonical != nil {
		s = m.Canonical(s)
	}
	words := make([]uint64, m.StateWords())
	return words, m.packing.Encode(&s, words)
}

func (m *system[S]) StateBits() int                { return m.packing.Bits() }
func (m *system[S]) StateWords() int               { return codec.Words(m.packing.Bits()) }
func (m *system[S]) Initial(out []uint64) []uint64 { return append(out, m.first...) }

// shares reports whether the copy of a state may share its memory.
func (m *system[S]) shares() bool {
	_, yes := m.packing.(binaryCodec[S])
	return yes
}

// Padded: AppendBinary writes as much as a state needs.
func (m *system[S]) Padded() bool { return m.shares() }

// notes is the first note among the findings.
func (m *system[S]) notes() int {
	return findingProperties + len(m.Properties) + m.fair() + len(m.Actions)
}

func (m *system[S]) Findings() int {
	if m.Canonical == nil && !m.shares() {
		return m.notes()
	}
	return m.notes() + notes
}

// Decided: something is violated, or all that was to be found has been, and nothing else is
// asked.
func (m *system[S]) Decided(findings []uint64) bool {
	all := len(m.Properties) > 0 && m.Deadlocks
	for i, p := range m.Properties {
		found := findings[findingProperties+i] != 0
		if p.Kind != HoldsSometimes && found {
			return true
		}
		all = all && found
	}
	return all || findings[findingDeadlock] != 0
}

func (m *system[S]) NewExpander() explore.Expander {
	e := &expander[S]{system: m, words: m.StateWords(), findings: make([]uint64, m.Findings())}
	e.untaken, e.naming = 1<<m.fair()-1, m.covers || len(m.Actions) > 0
	e.emit, e.repacked, e.came = e.add, make([]uint64, e.words), make([]uint64, e.words)
	e.shares, e.sample = m.shares(), newSample(m.joined)
	for i := range m.Properties {
		if !m.Properties[i].Kind.alongPaths() {
			e.open = append(e.open, i)
		}
	}
	return e
}

// expander expands the states of a model.
type expander[S any] struct {
	*system[S]
	words    int
	emit     func(action string, next S)
	findings []uint64
	found    int
	open     []int  // properties that no state here has decided
	untaken  uint64 // fair actions that no state here has taken
	naming   bool   // all actions are noted, and not these alone
	noted    [takenMost]noted
	covered  covered
	shares   bool // the copy of a state that a function of the model gets may share its memory

	codec.Padded[S]                 // the state at hand
	next            codec.Padded[S] // what was emitted last
	packed          []uint64        // the words of the state at hand
	out             []uint64
	again           []uint64 // the same states, emitted again
	repacked        []uint64
	came            []uint64
	action          string
	err             error // of what was emitted
	n               int   // states expanded
	hashes          bool  // names of actions go into named
	named           uint64
	sample          sample
	alike           alike

	tour *tour[S] // nil before the first walk
}

func (e *expander[S]) Findings() []uint64 { return e.findings }
func (e *expander[S]) Found() int         { return e.found }

func (e *expander[S]) find(i int) {
	e.findings[i] = 1
	e.found++
}

// note changes a note.
func (e *expander[S]) note(i int, value uint64) {
	if i += e.notes(); e.findings[i] == 0 {
		e.found++
	}
	e.findings[i] = value
}

// add packs what the model emits.
func (e *expander[S]) add(action string, next S) {
	if e.err != nil {
		return
	}
	e.action = action
	if e.hashes {
		e.named = xxh3.HashStringSeed(action, e.named)
	}
	if (e.untaken != 0 || e.naming) && !e.take(action) {
		return
	}
	if e.Canonical != nil {
		if clear(e.came); e.compares() && e.packing.Encode(&next, e.came) == nil {
			if e.err = e.kept(next, e.came); e.err != nil {
				return
			}
		}
		if next, e.err = e.canonical(action, next); e.err != nil {
			return
		}
	}
	n := len(e.out)
	e.out = slices.Grow(e.out, e.words)[:n+e.words]
	e.next.Value = next
	e.err = e.packing.EncodeNext(&e.next, &e.Padded, e.packed, e.out[n:])
	if e.err == nil && e.compares() {
		e.err = e.kept(next, e.out[n:])
	}
}

// Expand appends the states after one, and checks it.
func (e *expander[S]) Expand(state, out []uint64) (_ []uint64, err error) {
	e.action = ""
	defer func() {
		if p := recover(); p != nil {
			err = e.wrong(fmt.Sprintf("it panicked: %v\n%s", p, debug.Stack()))
		}
	}()
	if err := e.at(state); err != nil {
		return nil, err
	}
	given := len(out)
	e.n++
	e.hashes, e.named = e.n <= twiceFirst || e.n%sampleEvery == 0, 0
	if out, err = e.list(out); err != nil {
		return nil, err
	}
	e.covered.at = false
	if len(e.open) > 0 {
		e.examine()
	}
	if len(out) == given && !e.Deadlocks && e.findings[findingDeadlock] == 0 {
		e.find(findingDeadlock)
	}
	if e.shares {
		if err := e.unchanged(state); err != nil {
			return nil, err
		}
	}
	if e.hashes {
		if err := e.repeat(state, out[given:]); err != nil {
			return nil, err
		}
	}
	return out, e.sampled(state)
}

// at makes a state the one at hand.
func (e *expander[S]) at(state []uint64) error {
	e.packed = append(e.packed[:0], state...) // a state that keeps its bytes may change these
	if err := e.packing.Decode(e.packed, &e.Value); err != nil {
		return e.wrong(err.Error())
	}
	return nil
}

// sampled compares what the sample has, and now and then looks for states that print alike.
func (e *expander[S]) sampled(state []uint64) error {
	if e.places != nil && !e.alike.told && (e.n <= sampleMost || e.n%sampleEvery == 0) {
		if err := e.lookAlike(state); err != nil {
			return e.wrong(err.Error())
		}
	}
	if e.Canonical == nil {
		return nil
	}
	return e.compareSample(state)
}

// list appends what the model emits for the state at hand.
func (e *expander[S]) list(out []uint64) ([]uint64, error) {
	e.out, e.err = out, nil
	e.Next(e.Value, e.emit)
	out, e.out = e.out, nil
	if wrong := (*Error)(nil); errors.As(e.err, &wrong) {
		return nil, wrong
	}
	if e.err != nil {
		return nil, e.wrong(e.err.Error())
	}
	return out, nil
}

// examine asks the open properties of the state at hand.
func (e *expander[S]) examine() {
	e.open = slices.DeleteFunc(e.open, func(i int) bool {
		p := &e.Properties[i]
		if p.Holds(e.Value) != (p.Kind == HoldsSometimes) {
			return false
		}
		e.find(findingProperties + i)
		return true
	})
}

// unchanged makes sure that the state at hand still packs to what it was unpacked from.
func (e *expander[S]) unchanged(packed []uint64) error {
	if e.packsTo(&e.Value, packed) {
		return nil
	}
	changed := text(e.Value)
	if err := e.packing.Decode(packed, &e.Value); err != nil {
		return e.wrong(err.Error())
	}
	for range packings { // an order that is drawn may be the same a few times
		if !e.packsTo(&e.Value, packed) {
			return e.wrong("AppendBinary, after UnmarshalBinary of what it had appended for this " +
				"state, appended something else; have them keep all of it, in a fixed order")
		}
	}
	return e.changedInPlace("Next, Canonical or Holds", changed)
}

// packings is how often a state is packed to find out that its packing is not always the same.
const packings = 64

// packsTo reports whether a state packs to these words.
func (e *expander[S]) packsTo(s *S, packed []uint64) bool {
	clear(e.repacked)
	return e.packing.Encode(s, e.repacked) == nil && slices.Equal(e.repacked, packed)
}

// repeat makes sure that the model emits the same again, and that the state at hand, which
// Canonical has returned, stands for itself.
func (e *expander[S]) repeat(packed, out []uint64) (err error) {
	e.sample.mode = sampling
	named := e.named
	e.named = 0
	if e.again, err = e.list(e.again[:0]); err != nil {
		return err
	}
	e.sample.mode, e.hashes = searching, false
	if !slices.Equal(e.again, out) {
		return e.wrong("Next emitted other states, or in another order, when it was called again " +
			"with the same state; have Next and AppendBinary depend on nothing else")
	}
	if e.named != named {
		return e.wrong("Next gave actions other names when it was called again with the same " +
			"state; have names depend on nothing else")
	}
	if e.Canonical == nil {
		return nil
	}
	return e.standsForItself(packed)
}

// wrong is the error for what the model did at the state at hand.
func (e *expander[S]) wrong(detail string) error {
	return &Error{Model: e.Name, Detail: detail, State: text(e.Value), Action: e.action}
}

// text is a state as text.
func text(s any) string { return fmt.Sprintf("%+v", s) }
