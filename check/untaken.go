package check

import (
	"fmt"
	"slices"
	"strings"
)

// Each fair action has a finding, which says that it was taken. It comes after the findings of
// properties.

// fair is the number of fair actions.
func (m *system[S]) fair() int { return len(m.Fair) + len(m.StronglyFair) }

// take notes that an action is taken.
func (e *expander[S]) take(action string) {
	fresh := e.fairness(action) & e.untaken
	e.untaken &^= fresh
	for i := range e.fair() {
		if fresh>>i&1 != 0 {
			e.find(findingProperties + len(e.Properties) + i)
		}
	}
}

// untakenActions are the fair actions that no state took.
func (m *system[S]) untakenActions(findings []uint64) (names []string) {
	for i, name := range slices.Concat(m.Fair, m.StronglyFair) {
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
		fmt.Fprintf(&b, "WARNING: no state takes the action %q, which is to be fair; is it a "+
			"whole name that Next emits?\n", name)
	}
	return b.String()
}
