// Package statespace tests models of package check. It searches them in the most obvious way,
// with a Go map, and compares what package check finds on 1, 2 and 4 ranks.
package statespace

import (
	"maps"
	"slices"
	"testing"

	"github.com/farhash/farhash/check"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// ranks are the numbers of ranks that a model is checked on.
var ranks = []int{1, 2, 4}

// Space is what a search of all states has found.
type Space struct {
	States, Arcs, Depth, Deadlocks uint64
	// Steps is for each property that a state decides, and "deadlock", how many steps the first
	// such state is away: one that violates what holds always, or shows what holds sometimes.
	Steps map[string]int
}

// Search finds all states of a model, those that follow a violation too.
func Search[S comparable](m check.Model[S]) Space {
	space := Space{Steps: map[string]int{}}
	seen := map[S]bool{}
	var level, next []S
	reach := func(s S) {
		if m.Canonical != nil {
			s = m.Canonical(s)
		}
		if !seen[s] {
			seen[s] = true
			next = append(next, s)
		}
	}
	for _, s := range m.Init {
		reach(s)
	}
	for depth := 0; len(next) > 0; depth++ {
		level, next = next, nil
		space.Depth = uint64(depth)
		for _, s := range level {
			arcs := space.Arcs
			m.Next(s, func(_ string, s S) { space.Arcs++; reach(s) })
			if arcs == space.Arcs {
				space.Deadlocks++
				space.note("deadlock", depth)
			}
			for _, p := range m.Properties {
				if p.Holds(s) == (p.Kind == check.HoldsSometimes) {
					space.note(p.Name, depth)
				}
			}
		}
	}
	space.States = uint64(len(seen))
	return space
}

func (s *Space) note(name string, depth int) {
	if _, ok := s.Steps[name]; !ok {
		s.Steps[name] = depth
	}
}

// Holds makes sure that a model has so many states, and that all its properties are true.
func Holds[S comparable](t *testing.T, m check.Model[S], states uint64) {
	t.Helper()
	want := Search(m)
	if want.States != states {
		t.Errorf("%s: a naive search finds %+v, and should find %d states", m.Name, want, states)
	}
	for _, n := range ranks {
		r := run(t, n, m)
		got := Space{States: r.States, Arcs: r.Arcs, Depth: r.Depth, Deadlocks: r.Deadlocks}
		if got.States != want.States || got.Arcs != want.Arcs || got.Depth != want.Depth ||
			got.Deadlocks != want.Deadlocks || r.Violated() || !r.Complete {
			t.Errorf("%s, %d ranks: %+v, want %+v\n%s", m.Name, n, got, want, r.Report())
		}
		for _, p := range r.Properties {
			if p.Answer != check.True {
				t.Errorf("%s, %d ranks: %s is %v", m.Name, n, p.Name, p.Answer)
			}
		}
	}
}

// Fails makes sure that a model violates a property, or has a "deadlock", and that the path to it
// has so many steps, is one of the model, and is a shortest one.
func Fails[S comparable](t *testing.T, m check.Model[S], property string, steps int) {
	t.Helper()
	if want, ok := Search(m).Steps[property]; !ok || want != steps {
		t.Errorf("%s: a naive search finds that %q fails (%v) after %d steps, and it should be %d",
			m.Name, property, ok, want, steps)
	}
	for _, n := range ranks {
		r := run(t, n, m)
		if r.Shown != property || len(r.Path) != steps+1 || !isPath(m, r.Path) {
			t.Errorf("%s, %d ranks: want a path of %d steps to %q, got\n%s", m.Name, n, steps,
				property, r.Report())
		}
		if len(r.Path) == 0 {
			continue
		}
		last := r.Path[len(r.Path)-1].State
		for _, p := range m.Properties {
			if p.Name == property && p.Holds(last) {
				t.Errorf("%s, %d ranks: %q holds at the end of the path\n%s", m.Name, n, property,
					r.Report())
			}
		}
	}
}

// isPath reports whether the model can go this way.
func isPath[S comparable](m check.Model[S], path []check.Step[S]) bool {
	at := slices.Values(m.Init)
	for i, step := range path {
		if i > 0 {
			after := map[S]bool{}
			m.Next(path[i-1].State, func(_ string, s S) { after[s] = true })
			at = maps.Keys(after)
		}
		found := false
		for s := range at {
			if m.Canonical != nil {
				s = m.Canonical(s)
			}
			found = found || s == step.State
		}
		if !found {
			return false
		}
	}
	return true
}

func run[S any](t *testing.T, n int, m check.Model[S]) *check.Result[S] {
	t.Helper()
	var first *check.Result[S]
	err := local.Run(n, func(job rma.Job) error {
		r, err := check.Run(t.Context(), job, m, check.Options{Mem: 256 << 20})
		if job.Rank() == 0 {
			first = r
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}
