package check

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/farhash/farhash/internal/core"
)

// A state with AppendBinary is stored as what that appends. If it leaves out a field, the search
// never sees what the field would have led to, and its answers are of another model. So an expander
// compares states as Next emits them with what UnmarshalBinary makes of them.

// keptFirst is how many of the first states that an expander expands have all their next states
// compared; then it is those of one of sampleEvery.
const keptFirst = 1 << 12

// compares reports whether the states after the state at hand are compared.
func (e *expander[S]) compares() bool {
	return e.shares && e.sample.mode == sampling && (e.n <= keptFirst || e.n%sampleEvery == 0)
}

// kept makes sure that a state is the same to the model after it was packed and unpacked: it may
// print otherwise, such as a list in another order, if it has the same properties and leads to the
// same states.
func (e *expander[S]) kept(s S, packed []uint64) error {
	var back S
	if err := e.packing.Decode(slices.Clone(packed), &back); err != nil {
		return fmt.Errorf("UnmarshalBinary, of what AppendBinary had appended for the next state "+
			"%s: %w", text(s), err)
	}
	if reflect.DeepEqual(s, back) {
		return nil
	}
	lost := func(format string, args ...any) error {
		return fmt.Errorf("AppendBinary and UnmarshalBinary do not keep all of the state %s: they "+
			"make %s of it, and %s; have them keep what Next or a property depends on",
			text(s), text(back), fmt.Sprintf(format, args...))
	}
	for i := range e.Properties {
		p := &e.Properties[i]
		if p.Holds(s) != p.Holds(back) || p.Then != nil && p.Then(s) != p.Then(back) {
			return lost("%q is not the same", p.Name)
		}
	}
	before, after := e.nextOf(s), e.nextOf(back)
	for packed := range before {
		if !after[packed] {
			return lost("Next emits other states after it")
		}
	}
	if len(before) != len(after) {
		return lost("Next emits other states after it")
	}
	return nil
}

// nextOf is the set of the states that Next emits after a state, packed.
func (e *expander[S]) nextOf(s S) map[string]bool {
	all := map[string]bool{}
	e.Next(s, func(_ string, next S) {
		words := make([]uint64, e.words)
		if e.Canonical != nil {
			next = e.Canonical(next)
		}
		if e.packing.Encode(&next, words) == nil { // else the search says so
			all[string(core.BytesOf(words))] = true
		}
	})
	return all
}
