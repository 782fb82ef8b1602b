package check

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/farhash/farhash/internal/nearest"
)

// Each fair action has a finding, which says that it was taken, and so has each of Model.Actions.
// They come after the findings of properties.

// fair is the number of fair actions.
func (m *system[S]) fair() int { return len(m.Fair) + len(m.StronglyFair) }

// takenMost is how many names of actions an expander remembers that it has noted.
const takenMost = 64

// noted is an action that an expander has noted.
type noted struct {
	name   string
	number uint32 // for coverage
}

// take notes that an action is taken. It reports whether the name is of one. Names are mostly
// constants: one that was noted is known by where it is, and not compared. It is kept, so nothing
// else can be there.
func (e *expander[S]) take(action string) bool {
	at := unsafe.StringData(action)
	to := &e.noted[uint32(uintptr(unsafe.Pointer(at)))*0x9e3779b1>>26%takenMost]
	if at != nil && at == unsafe.StringData(to.name) && len(action) == len(to.name) {
		e.covered.add(to.number)
		return true
	}
	fresh := e.fairness(action) & e.untaken
	e.untaken &^= fresh
	first := findingProperties + len(e.Properties)
	for i := range e.fair() {
		if fresh>>i&1 != 0 {
			e.find(first + i)
		}
	}
	number := e.number(action)
	if e.err != nil {
		return false
	}
	if i := first + e.fair() + int(number); len(e.Actions) > 0 && e.findings[i] == 0 {
		e.find(i)
	}
	*to = noted{action, number}
	e.covered.add(number)
	return true
}

// isOf reports whether an action has a name: it is the same, or goes on with parameters after a
// space or a parenthesis.
func isOf(action, name string) bool {
	rest, begins := strings.CutPrefix(action, name)
	return begins && (rest == "" || rest[0] == ' ' || rest[0] == '(')
}

// notShown is names without those of actions that a path takes: walks see states that the search
// has not come to.
func (r *Result[S]) notShown(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(r.Traces, func(t Trace[S]) bool {
			return slices.ContainsFunc(t.Path, func(s Step[S]) bool { return isOf(s.Action, name) })
		})
	})
}

// listed is which of Model.Actions a name is of; -1 if of none. The longest one counts.
func (m *Model[S]) listed(name string) int {
	at, length := -1, -1
	for i, action := range m.Actions {
		if len(action) > length && isOf(name, action) {
			at, length = i, len(action)
		}
	}
	return at
}

// unlisted says that a name is of none of Model.Actions.
func (m *Model[S]) unlisted(name string) string {
	bare, _, _ := strings.Cut(name, " ")
	bare, _, _ = strings.Cut(bare, "(")
	return fmt.Sprintf("%q is none of Model.Actions%s", name,
		nearest.Suggestion(bare, slices.Values(m.Actions)))
}

// validateActions refuses lists of actions that are none.
func (m *Model[S]) validateActions() error {
	fair := slices.Concat(m.Fair, m.StronglyFair)
	switch {
	case len(fair) > maxFair:
		return fmt.Errorf("check: model %s has %d fair actions; %d is the most", m.Name, len(fair),
			maxFair)
	case len(m.Actions) > maxActions:
		return fmt.Errorf("check: model %s has %d actions; %d is the most: an action is listed "+
			"once, without its parameters", m.Name, len(m.Actions), maxActions)
	}
	for i, name := range m.Actions {
		if name == "" || slices.Index(m.Actions, name) < i {
			return fmt.Errorf("check: action %d of model %s is %q; name each action once", i,
				m.Name, name)
		}
	}
	for _, name := range fair {
		if len(m.Actions) > 0 && m.listed(name) < 0 {
			return fmt.Errorf("check: model %s: the fair action %s", m.Name, m.unlisted(name))
		}
	}
	return nil
}

// untakenOf are the actions that no state took, of the fair ones and perhaps Model.Actions.
func (m *system[S]) untakenOf(actions []string, findings []uint64) (names []string) {
	for i, name := range actions {
		if findings[findingProperties+len(m.Properties)+i] == 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// warnings are what a report warns of, each a line.
func (r *Result[S]) warnings() string {
	var b strings.Builder
	if r.Alike != "" {
		fmt.Fprintf(&b, "WARNING: %s is nil in some states and empty in others, and AppendBinary "+
			"tells these apart: what prints alike is two states. Have Next keep to one of them\n",
			r.Alike)
	}
	for _, name := range r.Untaken {
		what := "which is in Model.Actions"
		if slices.Contains(r.fair, name) {
			what = "which is to be fair; is it a name that Next emits?"
		}
		states := "no state"
		if !r.Complete {
			states = "no state that was searched until then"
		}
		fmt.Fprintf(&b, "WARNING: %s takes the action %q, %s\n", states, name, what)
	}
	return b.String()
}
