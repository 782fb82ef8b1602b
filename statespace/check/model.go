package check

import (
	"fmt"
	"slices"
)

// Model is a system to check. Its functions are called by many goroutines at once.
type Model[S any] struct {
	Name string
	// Init are the initial states, at least one.
	Init []S
	// Next emits each state that s can change into, with the name of the action. It does not
	// change what s refers to.
	Next func(s S, emit func(action string, next S))
	// Properties are what is asked of the states.
	Properties []Property[S]
	// Deadlocks allows states that have no next one.
	Deadlocks bool
	// Canonical, if not nil, returns one of the states that are equal to s by symmetry, the same
	// for all of them, which it does not change. Only that one is stored. Two states are equal if
	// they have the same properties and lead to equal states; that is compared for a sample.
	Canonical func(s S) S
	// Fair are names of actions that are weakly fair: an action that can be taken at any time from
	// some moment on is taken again and again. Properties along paths count no other paths. As in
	// Actions, a name may be of several actions with parameters; it is taken if one of them is.
	// An action that leaves the state as it is counts as taken, other than in TLA+.
	Fair []string
	// StronglyFair are names of actions that are taken again and again if they can be taken again
	// and again, even if not at any time.
	StronglyFair []string
	// Actions, if there are any, are the names of all actions. An action that no state takes is a
	// warning, and a name that Next emits without being of one an error. A name is of an action if
	// it is the same, or goes on with parameters after a space or a parenthesis: "fill 3" and
	// "fill(3)" are of "fill".
	Actions []string
	// MaxBytes is the most that AppendBinary of S appends, if it has that method.
	MaxBytes int
}

// Property is a question about the reachable states.
type Property[S any] struct {
	Name  string
	Kind  Kind
	Holds func(s S) bool
	Then  func(s S) bool // of HoldsLeadsTo alone
}

// Kind is what a property asks.
type Kind int

// The kinds.
const (
	HoldsAlways    Kind = iota // in all reachable states
	HoldsSometimes             // in one at least

	// Along all paths that are fair. A path ends in a deadlock alone.
	HoldsEventually // in some state of each path
	HoldsAgain      // again and again, on each path
	HoldsLeadsTo    // each state in which it holds is, or is followed by, one in which Then holds
)

// alongPaths reports whether a kind is about paths.
func (k Kind) alongPaths() bool { return k >= HoldsEventually }

// String is the kind in a report.
func (k Kind) String() string {
	return [...]string{"always", "sometimes", "eventually", "again and again", "leads to"}[k]
}

// Always is the property that holds is true of all reachable states.
func Always[S any](name string, holds func(s S) bool) Property[S] {
	return Property[S]{Name: name, Kind: HoldsAlways, Holds: holds}
}

// Sometimes is the property that holds is true of a reachable state.
func Sometimes[S any](name string, holds func(s S) bool) Property[S] {
	return Property[S]{Name: name, Kind: HoldsSometimes, Holds: holds}
}

// Eventually is the property that each fair path has a state of which holds is true.
func Eventually[S any](name string, holds func(s S) bool) Property[S] {
	return Property[S]{Name: name, Kind: HoldsEventually, Holds: holds}
}

// AlwaysEventually is the property that holds is true again and again on each fair path.
func AlwaysEventually[S any](name string, holds func(s S) bool) Property[S] {
	return Property[S]{Name: name, Kind: HoldsAgain, Holds: holds}
}

// LeadsTo is the property that on each fair path a state of which holds is true is one of which
// then is true, or is followed by one.
func LeadsTo[S any](name string, holds, then func(s S) bool) Property[S] {
	return Property[S]{Name: name, Kind: HoldsLeadsTo, Holds: holds, Then: then}
}

// validate refuses what is no model.
func (m *Model[S]) validate() error {
	switch {
	case len(m.Init) == 0:
		return fmt.Errorf("check: model %s has no initial state; set Init", m.Name)
	case m.Next == nil:
		return fmt.Errorf("check: model %s has no Next", m.Name)
	}
	if err := m.validateActions(); err != nil {
		return err
	}
	for i, p := range m.Properties {
		same := func(q Property[S]) bool { return q.Name == p.Name }
		switch {
		case p.Name == "" || p.Name == deadlockName:
			return fmt.Errorf("check: property %d of model %s needs another name than %q", i,
				m.Name, p.Name)
		case p.Holds == nil || p.Kind < 0 || p.Kind > HoldsLeadsTo ||
			p.Kind == HoldsLeadsTo && p.Then == nil:
			return fmt.Errorf("check: property %q of model %s is not complete; use Always, "+
				"Sometimes, Eventually, AlwaysEventually or LeadsTo", p.Name, m.Name)
		case p.Kind.alongPaths() && m.Canonical != nil:
			return fmt.Errorf("check: property %q of model %s is along paths, and Canonical joins "+
				"states of different paths; leave Canonical out to ask for it", p.Name, m.Name)
		case slices.IndexFunc(m.Properties, same) < i:
			return fmt.Errorf("check: two properties of model %s are named %q", m.Name, p.Name)
		}
	}
	return nil
}

// How many actions may be fair, and how many there may be.
const (
	maxFair    = 32
	maxActions = 4096
)

// Error says what a model did that it must not do.
type Error struct {
	Model  string
	Detail string // what it did
	State  string // that was expanded, as text
	Action string // that was the last to be emitted; empty if there was none
}

func (e *Error) Error() string {
	text := fmt.Sprintf("check: model %s: %s\n  in state %s", e.Model, e.Detail, e.State)
	if e.Action != "" {
		text += "\n  at action " + e.Action
	}
	return text
}
