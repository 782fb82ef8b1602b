package check

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/internal/codec"
)

const (
	// findingDeadlock is the finding of a deadlock; the findings of properties follow it.
	findingDeadlock   = 0
	findingProperties = 1

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
	for _, state := range m.Init {
		words, err := s.pack(state)
		if err != nil {
			return nil, &Error{Model: m.Name, Detail: err.Error(), State: text(state) +
				", an initial one"}
		}
		s.first = append(s.first, words...)
	}
	return s, nil
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
func (m *system[S]) Findings() int                 { return findingProperties + len(m.Properties) }

// Decided: something is violated, or all that was to be found has been, and nothing else is
// asked.
func (m *system[S]) Decided(findings []uint64) bool {
	all := len(m.Properties) > 0 && m.Deadlocks
	for i, p := range m.Properties {
		found := findings[findingProperties+i] != 0
		if p.Kind == HoldsAlways && found {
			return true
		}
		all = all && found
	}
	return all || findings[findingDeadlock] != 0
}

func (m *system[S]) NewExpander() explore.Expander {
	e := &expander[S]{system: m, words: m.StateWords(), findings: make([]uint64, m.Findings())}
	e.emit, e.repacked = e.add, make([]uint64, e.words)
	_, e.shares = m.packing.(binaryCodec[S])
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
	open     []int // properties that no state here has decided
	shares   bool  // the copy of a state that a function of the model gets may share its memory

	codec.Padded[S]                 // the state at hand
	next            codec.Padded[S] // what was emitted last
	packed          []uint64        // the words of the state at hand
	out             []uint64
	again           []uint64 // the same states, emitted again
	repacked        []uint64
	action          string
	err             error // of what was emitted
	n               int   // states expanded
}

func (e *expander[S]) Findings() []uint64 { return e.findings }
func (e *expander[S]) Found() int         { return e.found }

func (e *expander[S]) find(i int) {
	e.findings[i] = 1
	e.found++
}

// add packs what the model emits.
func (e *expander[S]) add(action string, next S) {
	if e.err != nil {
		return
	}
	e.action = action
	if e.Canonical != nil {
		next = e.Canonical(next)
	}
	n := len(e.out)
	e.out = slices.Grow(e.out, e.words)[:n+e.words]
	e.next.Value = next
	e.err = e.packing.EncodeNext(&e.next, &e.Padded, e.packed, e.out[n:])
}

// Expand appends the states after one, and checks it.
func (e *expander[S]) Expand(state, out []uint64) (_ []uint64, err error) {
	e.action = ""
	defer func() {
		if p := recover(); p != nil {
			err = e.wrong(fmt.Sprintf("it panicked: %v\n%s", p, debug.Stack()))
		}
	}()
	e.packed = append(e.packed[:0], state...) // a state that keeps its bytes may change these
	if err := e.packing.Decode(e.packed, &e.Value); err != nil {
		return nil, e.wrong(err.Error())
	}
	given := len(out)
	if out, err = e.list(out); err != nil {
		return nil, err
	}
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
	if e.n++; e.n <= twiceFirst || e.n%sampleEvery == 0 {
		if err := e.repeat(state, out[given:]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// list appends what the model emits for the state at hand.
func (e *expander[S]) list(out []uint64) ([]uint64, error) {
	e.out, e.err = out, nil
	e.Next(e.Value, e.emit)
	out, e.out = e.out, nil
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
	if !e.packsTo(&e.Value, packed) {
		return e.wrong("AppendBinary, after UnmarshalBinary of what it had appended for this " +
			"state, appended something else; have them keep all of it, in a fixed order")
	}
	return e.wrong("Next, Canonical or Holds changed this state in place, to " + changed +
		"; have it change a copy, such as slices.Clone or maps.Clone makes")
}

// packsTo reports whether a state packs to these words.
func (e *expander[S]) packsTo(s *S, packed []uint64) bool {
	clear(e.repacked)
	return e.packing.Encode(s, e.repacked) == nil && slices.Equal(e.repacked, packed)
}

// repeat makes sure that the model emits the same again, and that the state at hand, which
// Canonical has returned, stands for itself.
func (e *expander[S]) repeat(packed, out []uint64) (err error) {
	if e.again, err = e.list(e.again[:0]); err != nil {
		return err
	}
	if !slices.Equal(e.again, out) {
		return e.wrong("Next emitted other states, or in another order, when it was called again " +
			"with the same state; have Next and AppendBinary depend on nothing else")
	}
	if e.Canonical == nil {
		return nil
	}
	if s := e.Canonical(e.Value); !e.packsTo(&s, packed) {
		return e.wrong("Canonical had returned this state, and returned another one for it: " +
			text(s) + "; have it return the same one for all that are equal by symmetry")
	}
	return nil
}

// wrong is the error for what the model did at the state at hand.
func (e *expander[S]) wrong(detail string) error {
	return &Error{Model: e.Name, Detail: detail, State: text(e.Value), Action: e.action}
}

// text is a state as text.
func text(s any) string { return fmt.Sprintf("%+v", s) }
