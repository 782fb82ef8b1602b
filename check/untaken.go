package check

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

// Each fair action has a finding, which says that it was taken. It comes after the findings of
// properties.

// fair is the number of fair actions.
func (m *system[S]) fair() int { return len(m.Fair) + len(m.StronglyFair) }

// takenMost is how many names of actions an expander remembers that it has noted.
const takenMost = 64

// take notes that an action is taken. Names are mostly constants: one that was noted is known
// by where it is, and not compared. It is kept, so nothing else can be there.
func (e *expander[S]) take(action string) {
	at := unsafe.StringData(action)
	noted := &e.noted[uint32(uintptr(unsafe.Pointer(at)))*0x9e3779b1>>26%takenMost]
	if at != nil && at == unsafe.StringData(*noted) && len(action) == len(*noted) {
		return
	}
	*noted = action
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
