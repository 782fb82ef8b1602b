package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/report"
)

// maxNames is how many names of actions a rank counts by themselves, where Model.Actions has none.
// All others are otherActions.
const (
	maxNames     = 1 << 16
	otherActions = "(other actions)"
)

// covered is the actions that an expander counts.
type covered struct {
	names   []string          // by number, without Model.Actions
	numbers map[string]uint32 // the same by name
	at      bool              // what is emitted now is a successor that is counted
	list    []uint32          // actions of these
}

// add adds an action of the state at hand.
func (c *covered) add(number uint32) {
	if c.at {
		c.list = append(c.list, number)
	}
}

// number is the number of an action: of Model.Actions, or of those that were met.
func (e *expander[S]) number(action string) uint32 {
	if len(e.Actions) > 0 {
		i := e.listed(action)
		if i < 0 {
			e.err = e.wrong("the name " + e.unlisted(action) + "; list it there")
		}
		return uint32(max(i, 0))
	}
	c := &e.covered
	number, known := c.numbers[action]
	switch {
	case known || !e.covers:
		return number
	case len(c.names) == maxNames:
		return maxNames - 1
	case len(c.names) == maxNames-1:
		action = otherActions
	case c.numbers == nil:
		c.numbers = map[string]uint32{}
	}
	number = uint32(len(c.names))
	c.names, c.numbers[action] = append(c.names, action), number
	return number
}

var _ explore.Namer = (*expander[uint8])(nil)

// ActionNames are the names of the actions that are counted.
func (e *expander[S]) ActionNames() []string {
	if len(e.Actions) > 0 {
		return e.Actions
	}
	return e.covered.names
}

// ExpandNamed is Expand with the actions.
func (e *expander[S]) ExpandNamed(state, out []uint64, actions []uint32) (_ []uint64, _ []uint32,
	err error) {
	e.covered.list, e.covered.at = actions, true
	out, err = e.Expand(state, out)
	return out, e.covered.list, err
}

// sortActions brings actions into the order of Model.Actions, which they have, or of their names.
func (m *system[S]) sortActions(all []explore.Action) {
	if len(m.Actions) == 0 {
		slices.SortFunc(all, func(a, b explore.Action) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// coverage is what is known of the actions, as a table.
func (r *Result[S]) coverage() *report.Coverage {
	return &report.Coverage{Action: "action", Arcs: "transitions", States: "states",
		Partial: !r.Complete, Lost: len(r.Lost) > 0, Actions: report.ActionsOf(r.Coverage)}
}

func (r *Result[S]) reportCoverage(b *strings.Builder) {
	if r.covers {
		r.coverage().Write(b)
	}
}
