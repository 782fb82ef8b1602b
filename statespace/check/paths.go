package check

import (
	"context"
	"slices"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/logic/temporal"
)

// Properties along paths are answered by package temporal, after the search.

// pathAnswers are the answers to the properties along paths, in their order.
type pathAnswers []temporal.Answer

// afterwards is explore.Options.After; nil if nothing is asked of paths.
func (m *system[S]) afterwards(answers *pathAnswers) func(context.Context, *explore.States) error {
	var formulas []*logic.Formula
	for i, p := range m.Properties {
		if p.Kind.alongPaths() {
			formulas = append(formulas, formulaOf(p.Kind, i))
		}
	}
	if len(formulas) == 0 {
		return nil
	}
	return func(ctx context.Context, states *explore.States) (err error) {
		s := &pathStates[S]{expander: m.NewExpander().(*expander[S])}
		*answers, err = temporal.Solve(ctx, states, s, formulas)
		return err
	}
}

// formulaOf is the formula of a property along paths. Atoms 2*i and 2*i+1 are Holds and Then of
// property i.
func formulaOf(kind Kind, i int) *logic.Formula {
	holds, then := logic.Leaf(2*i), logic.Leaf(2*i+1)
	path := logic.Of(logic.Finally, holds)
	switch kind {
	case HoldsAgain:
		path = logic.Of(logic.Globally, path)
	case HoldsLeadsTo:
		never := logic.Of(logic.Not, logic.Of(logic.Finally, then))
		path = logic.Of(logic.Globally, logic.Of(logic.Not, logic.Of(logic.And, holds, never)))
	}
	return logic.Of(logic.Forall, path)
}

// pathStates evaluates properties and fairness of states.
type pathStates[S any] struct {
	*expander[S]
}

// See unpacks a state. One that does not unpack has failed in the search already.
func (s *pathStates[S]) See(state []uint64, _ int) {
	if err := s.packing.Decode(state, &s.Value); err != nil {
		panic(err)
	}
}

// Holds evaluates an atom: no other part of a formula of formulaOf looks at one state alone.
func (s *pathStates[S]) Holds(f *logic.Formula) bool {
	atom := f.Atom.(int)
	p := &s.Properties[atom/2]
	if atom%2 == 1 {
		return p.Then(s.Value)
	}
	return p.Holds(s.Value)
}

func (s *pathStates[S]) Conditions() (weak, strong int) {
	return len(s.Fair), len(s.StronglyFair)
}

// ExpandMarked has a bit for each fair action that an arc takes. What the search has verified of
// the state is not verified again.
func (e *expander[S]) ExpandMarked(state, out, marks []uint64) (_, _ []uint64, err error) {
	e.packed = append(e.packed[:0], state...)
	if err := e.packing.Decode(e.packed, &e.Value); err != nil {
		return nil, nil, e.wrong(err.Error())
	}
	e.out, e.err = out, nil
	e.Next(e.Value, func(action string, next S) {
		marks = append(marks, e.fairness(action))
		e.add(action, next)
	})
	if out, e.out = e.out, nil; e.err != nil {
		return nil, nil, e.wrong(e.err.Error())
	}
	return out, marks, nil
}

// fairness is which fair actions an action is, the weakly fair ones first.
func (m *system[S]) fairness(action string) (bits uint64) {
	for i, name := range m.Fair {
		if isOf(action, name) {
			bits |= 1 << i
		}
	}
	for i, name := range m.StronglyFair {
		if isOf(action, name) {
			bits |= 1 << (len(m.Fair) + i)
		}
	}
	return bits
}

// takePaths takes over what is known about properties along paths, and the path of each that is
// violated.
func (m *system[S]) takePaths(r *Result[S], answers pathAnswers) error {
	for i := range r.Properties {
		v := &r.Properties[i]
		if !v.Kind.alongPaths() || len(answers) == 0 {
			continue
		}
		a := answers[0]
		answers = answers[1:]
		if a.Verdict != logic.Unknown { // else a walk may know it
			v.Verdict = a.Verdict
		}
		if a.Verdict != logic.False {
			continue
		}
		if slices.ContainsFunc(r.Traces, func(t Trace[S]) bool { return t.Name == v.Name }) {
			continue // a walk has shown it
		}
		if err := m.showLasso(r, v.Name, a.Lasso); err != nil {
			return err
		}
	}
	return nil
}

// showLasso replays a lasso of a property on the model. If nothing else is violated it is what the
// result shows. Nil means that the path is not known.
func (m *system[S]) showLasso(r *Result[S], name string, l *temporal.Lasso) error {
	first := r.Shown == ""
	if first {
		r.Shown = name
	}
	if l == nil {
		return nil
	}
	path, err := m.path(l.Steps)
	if err != nil {
		return err
	}
	if first {
		r.Path, r.Back, r.pathEnds = path, l.Back, l.Back < 0
	}
	r.Traces = append(r.Traces, Trace[S]{Name: name, Violation: true, Path: path, Back: l.Back,
		ends: l.Back < 0})
	return nil
}
