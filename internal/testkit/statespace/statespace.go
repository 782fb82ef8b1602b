// Package statespace tests models of package check. It searches them in the most obvious way,
// with a Go map, and compares what package check finds on 1, 2 and 4 ranks: with the states stored
// whole, and with fingerprints of them. It also compares them with models of SPIN.
package statespace

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/check"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
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

// Holds makes sure that a model has so many states, and that all its properties are true. Of a
// large model only make nightly does.
func Holds[S comparable](t *testing.T, m check.Model[S], states uint64) {
	t.Helper()
	if states > uint64(replay.Often(70_000, math.MaxInt)) {
		return
	}
	want := Search(m)
	if want.States != states {
		t.Errorf("%s: a naive search finds %+v, and should find %d states", m.Name, want, states)
	}
	for _, n := range ranks {
		holds(t, n, m, want, check.Options{})
		if states < maxStates || n == 2 { // else it takes long
			holds(t, n, widened(m), want, fingerprints)
		}
	}
}

// holds compares what a check of a model finds.
func holds[S any](t *testing.T, n int, m check.Model[S], want Space, opts check.Options) {
	t.Helper()
	r := run(t, n, m, opts)
	got := Space{States: r.States, Arcs: r.Arcs, Depth: r.Depth, Deadlocks: r.Deadlocks}
	if got.States != want.States || got.Arcs != want.Arcs || got.Depth != want.Depth ||
		got.Deadlocks != want.Deadlocks || r.Violated() || !r.Complete {
		t.Errorf("%s, %d ranks: %+v, want %+v\n%s", m.Name, n, got, want, r.Report())
	}
	for _, p := range r.Properties {
		uncertain := opts.Encoding != "" && p.Kind == check.HoldsAlways
		if p.Verdict != logic.True || (p.Missed > 0) != uncertain {
			t.Errorf("%s, %d ranks: %s is %v, missed %g", m.Name, n, p.Name, p.Verdict, p.Missed)
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
		fails(t, n, m, property, steps, check.Options{})
		fails(t, n, widened(m), property, steps, fingerprints)
	}
}

// fails examines the path that a check of a model finds.
func fails[S comparable](t *testing.T, n int, m check.Model[S], property string, steps int,
	opts check.Options) {
	t.Helper()
	r := run(t, n, m, opts)
	if r.Shown != property || len(r.Path) != steps+1 || !isPath(m, r.Path) {
		t.Errorf("%s, %d ranks: want a path of %d steps to %q, got\n%s", m.Name, n, steps,
			property, r.Report())
	}
	if len(r.Path) == 0 {
		return
	}
	last := r.Path[len(r.Path)-1].State
	for _, p := range m.Properties {
		if p.Name == property && p.Holds(last) {
			t.Errorf("%s, %d ranks: %q holds at the end of the path\n%s", m.Name, n, property,
				r.Report())
		}
	}
}

// maxStates is up to which size a model is checked with fingerprints on all numbers of ranks.
const maxStates = 20_000

// fingerprints are the options to keep a hash of each state.
var fingerprints = check.Options{Encoding: explore.EncodingFingerprint}

// wide is a state of more than 63 bits, so that a hash of it can be kept.
type wide[S any] struct {
	State S
	More  [2]uint64
}

// widened is a model with wide states.
func widened[S any](m check.Model[S]) check.Model[wide[S]] {
	widen := func(s S) wide[S] { return wide[S]{State: s, More: [2]uint64{1, 1 << 63}} }
	w := check.Model[wide[S]]{Name: m.Name + ", wide", Deadlocks: m.Deadlocks,
		Next: func(s wide[S], emit func(string, wide[S])) {
			m.Next(s.State, func(action string, next S) { emit(action, widen(next)) })
		}}
	for _, s := range m.Init {
		w.Init = append(w.Init, widen(s))
	}
	for _, p := range m.Properties {
		w.Properties = append(w.Properties, check.Property[wide[S]]{Name: p.Name, Kind: p.Kind,
			Holds: func(s wide[S]) bool { return p.Holds(s.State) }})
	}
	if m.Canonical != nil {
		w.Canonical = func(s wide[S]) wide[S] { return widen(m.Canonical(s.State)) }
	}
	return w
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

func run[S any](t *testing.T, n int, m check.Model[S], opts check.Options) *check.Result[S] {
	t.Helper()
	opts.Mem = 256 << 20
	var first *check.Result[S]
	err := local.Run(n, func(job rma.Job) error {
		r, err := check.Run(t.Context(), job, m, opts)
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
