package check

import "github.com/farhash/farhash/statespace/explore"

// Refusal is why a Model with such states is refused.
func Refusal[S any]() error {
	_, err := newPacking[S](1)
	return err
}

// WalkOn has rank 0 of a search walk until it has found a violation along a path, for so many
// steps. The result has what it has found.
func WalkOn[S any](m Model[S], steps int) (*Result[S], error) {
	s, err := newSystem(&m)
	if err != nil {
		return nil, err
	}
	e := s.NewExpander().(*expander[S])
	res := &explore.Result{Findings: e.Findings(), Walks: map[int]explore.Walk{}}
	known := make([]uint64, s.Findings())
	for more, at := true, (explore.Walk{}); more && e.Found() == 0 && steps > 0; steps -= 64 {
		at, more = e.Walk(0, known, 64)
		for i, word := range res.Findings {
			if word != 0 {
				res.Walks[i] = at
			}
		}
	}
	r := &Result[S]{Result: res, Properties: s.answers(res), Back: -1}
	return r, s.takeWalks(r)
}
