package check

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/core"
)

// Canonical may join states alone that lead to the same, up to Canonical, and have the same
// properties. An expander compares states as Next emits them with what Canonical returns for them:
// a sample of the states after those that it expands twice, and states along walks. Walks are of
// states as they are emitted. So they come to states that a Canonical which loses something keeps
// from the search, such as a count that it sets to 0 each time.

const (
	// sampleMost is how many states a sample has at most. When it is full, one half is forgotten,
	// and one in two is taken from then on.
	sampleMost = 1 << 12
	// A walk has so many steps. It begins at each of the first walksFirst states that an expander
	// expands, and less and less often afterwards: at about walksFirst*2/3 of twice as many.
	walkSteps  = 64
	walksFirst = 16
)

// What becomes of a state that is emitted, beside being packed.
const (
	searching = iota
	sampling  // it may belong to the sample
	comparing // it comes after one of two states that are compared
)

// sample is states as they came, other than Canonical returns for them. It is chosen by a hash, so
// that a state which is emitted often counts once.
type sample struct {
	mode  int
	mask  uint64
	known map[uint64]struct{} // hashes
	pairs []uint64            // to be compared: a state as it came, and what Canonical returned

	nextWalk int // it begins at the state with this number
	rng      *rand.Rand
	actions  []string // emitted while comparing
	step     []uint64 // one of the states emitted then, as it came; empty: there was none
}

// newSample is a sample that has pairs.
func newSample(pairs []uint64) sample {
	return sample{known: map[uint64]struct{}{}, pairs: slices.Clone(pairs), nextWalk: 1}
}

// take reports whether a state belongs to the sample and is not known yet.
func (s *sample) take(state []uint64) bool {
	hash := xxh3.Hash(core.BytesOf(state))
	if _, known := s.known[hash]; known || hash&s.mask != 0 {
		return false
	}
	for len(s.known) >= sampleMost {
		s.mask = s.mask<<1 | 1
		for hash := range s.known {
			if hash&s.mask != 0 {
				delete(s.known, hash)
			}
		}
	}
	s.known[hash] = struct{}{}
	return true
}

// canonical is what Canonical returns for a state that is emitted.
func (e *expander[S]) canonical(action string, next S) (S, error) {
	s := &e.sample
	if s.mode == searching {
		return e.Canonical(next), nil
	}
	came := e.came
	clear(came)
	fits := e.packing.Encode(&next, came) == nil // else what Canonical returns may fit
	if s.mode == comparing {
		s.actions = append(s.actions, action)
		if fits && s.rng.IntN(len(s.actions)) == 0 {
			s.step = append(s.step[:0], came...)
		}
		return e.Canonical(next), nil
	}
	c := e.Canonical(next)
	if fits && e.shares && !e.packsTo(&next, came) {
		changed := text(next)
		if err := e.packing.Decode(came, &e.Value); err != nil {
			return next, err
		}
		return next, e.changedInPlace("Canonical", changed)
	}
	if fits && !e.packsTo(&c, came) && s.take(came) {
		s.pairs = append(append(s.pairs, came...), e.repacked...)
	}
	return c, nil
}

// compareSample compares what the sample has, and takes a walk from a state if one is due. The
// state at hand is another one afterwards.
func (e *expander[S]) compareSample(state []uint64) error {
	s := &e.sample
	s.mode, s.rng = comparing, rand.New(rand.NewPCG(uint64(e.n), 0))
	defer func() { s.mode, s.pairs = searching, s.pairs[:0] }()
	for pair := range slices.Chunk(s.pairs, 2*e.words) {
		if _, err := e.comparePair(pair[:e.words], pair[e.words:]); err != nil {
			return err
		}
	}
	if e.n < s.nextWalk {
		return nil
	}
	s.nextWalk = e.n + 1 + e.n/walksFirst
	for range walkSteps {
		if err := e.at(state); err != nil {
			return err
		}
		c, joined := e.Canonical(e.Value), make([]uint64, e.words)
		if err := e.packing.Encode(&c, joined); err != nil {
			return e.wrong("Canonical: " + err.Error())
		}
		more, err := e.comparePair(state, joined)
		if err != nil || !more {
			return err
		}
		state = slices.Clone(s.step)
	}
	return nil
}

// side is one of two states that are compared.
type side struct {
	holds   []bool
	next    []uint64 // what Canonical returns for the states after it
	actions []string
}

// seeSide makes a state the one at hand.
func (e *expander[S]) seeSide(state []uint64) (s side, err error) {
	e.action = ""
	if err := e.at(state); err != nil {
		return s, err
	}
	for i := range e.Properties {
		s.holds = append(s.holds, e.Properties[i].Holds(e.Value))
	}
	e.sample.actions, e.sample.step = nil, e.sample.step[:0]
	s.next, err = e.list(nil)
	s.actions = e.sample.actions
	return s, err
}

// lacks is the first state of other that s has not, -1 if there is none.
func (s side) lacks(other side, words int) int {
	has := map[string]bool{}
	for state := range slices.Chunk(s.next, words) {
		has[string(core.BytesOf(state))] = true
	}
	for i := range other.actions {
		if !has[string(core.BytesOf(other.next[i*words:][:words]))] {
			return i
		}
	}
	return -1
}

// comparePair makes sure that a state as it came and what Canonical returned for it are equal by
// what they lead to. more: sample.step is a state after the first.
func (e *expander[S]) comparePair(came, canonical []uint64) (more bool, err error) {
	if slices.Equal(came, canonical) {
		_, err := e.seeSide(came)
		return len(e.sample.step) > 0, err
	}
	there, err := e.seeSide(canonical)
	if err != nil {
		return false, err
	}
	here, err := e.seeSide(came)
	if err != nil {
		return false, err
	}
	differ := func(format string, args ...any) error {
		var joined S
		_ = e.packing.Decode(canonical, &joined) // it has been decoded before
		return e.wrong("Canonical returned " + text(joined) + " for this state, and the two are " +
			"not equal: " + fmt.Sprintf(format, args...) + "; have Canonical return one state " +
			"for all that are equal by symmetry, and for no others: it must not lose what Next " +
			"or a property depends on")
	}
	e.action = ""
	for i, holds := range here.holds {
		if holds != there.holds[i] {
			return false, differ("%q is %v here and %v there", e.Properties[i].Name, holds,
				!holds)
		}
	}
	alone, where := here, "here"
	i := there.lacks(here, e.words)
	if i < 0 {
		alone, where = there, "there"
		i = here.lacks(there, e.words)
	}
	if i < 0 {
		e.note(noteCompared, e.findings[e.notes()+noteCompared]+1)
		return len(e.sample.step) > 0, nil
	}
	for state := range slices.Chunk(slices.Concat(here.next, there.next), e.words) {
		if err := e.standsForItself(state); err != nil {
			return false, err
		}
	}
	if err := e.at(came); err != nil {
		return false, err
	}
	var next S
	if err := e.packing.Decode(alone.next[i*e.words:][:e.words], &next); err != nil {
		return false, e.wrong(err.Error())
	}
	return false, differ("action %q leads to %s, by Canonical, from %s alone", alone.actions[i],
		text(next), where)
}

// standsForItself makes sure that Canonical returns a state that it has returned.
func (e *expander[S]) standsForItself(state []uint64) error {
	if err := e.at(state); err != nil {
		return err
	}
	if s := e.Canonical(e.Value); !e.packsTo(&s, state) {
		return e.wrong("Canonical had returned this state, and returned another one for it: " +
			text(s) + "; have it return the same one for all that are equal by symmetry")
	}
	return nil
}

// changedInPlace is the error for the state at hand, which a function of the model has changed.
func (e *expander[S]) changedInPlace(who, changed string) error {
	return e.wrong(who + " changed this state in place, to " + changed +
		"; have it change a copy, such as slices.Clone or maps.Clone makes")
}
