package randomwalk

import (
	"math"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// Goal is a formula, or a sum that is to be large. It is read-only.
type Goal struct {
	net     *petri.Net
	formula *logic.Formula
	large   *property.AtMost // its left side is what the sum on the right is to be; nil: a formula
}

// Goal is a formula to walk to. In its sums the place after all places of the net is the number
// of transitions that are enabled.
func (m *Map) Goal(f *logic.Formula) *Goal { return &Goal{net: m.net, formula: f} }

// Largest is a sum to make large, up to a value.
func (m *Map) Largest(sum property.Sum, most int64) *Goal {
	if most == math.MaxInt64 {
		most = 0 // any number: distances are compared
	}
	return &Goal{large: &property.AtMost{Left: property.Sum{Constant: most}, Right: sum}}
}

// Fire is the goal that a transition is enabled.
func (m *Map) Fire(transition int) *Goal {
	return m.Goal(logic.Leaf(property.Enabled{transition}))
}

// Distance is how far a marking is from the goal: 0 if it is there. marking has the number of
// enabled transitions after all places.
func (g *Goal) Distance(marking []int64) int64 {
	if g.large != nil {
		return excess(g.large, marking)
	}
	yes, _ := g.distances(g.formula, marking)
	return yes
}

// excess is how much more the left sum of a comparison is than the right one.
func excess(a *property.AtMost, marking []int64) int64 {
	return a.Left.Value(marking) - a.Right.Value(marking)
}

// far is more than any distance of one part: sums of parts stop there.
const far = math.MaxInt64 / 4

// distances are how far a marking is from making a formula true, and from making it false.
// Exactly one of them is 0.
func (g *Goal) distances(f *logic.Formula, marking []int64) (yes, no int64) {
	switch atom := f.Atom.(type) {
	case *property.AtMost:
		excess := excess(atom, marking)
		return max(0, excess), max(0, 1-excess)
	case property.Stuck:
		enabled := marking[len(g.net.Places)]
		return enabled, max(0, 1-enabled)
	case property.Enabled:
		yes = far
		for _, t := range atom {
			missing, least := lacks(&g.net.Transitions[t], marking)
			if yes = min(yes, missing); missing == 0 {
				no = min(far, no+least)
			}
		}
		return yes, no
	}
	switch f.Op {
	case logic.Not:
		no, yes = g.distances(f.Args[0], marking)
		return yes, no
	case logic.Iff:
		y, x := g.distances(f.Args[0], marking)
		v, u := g.distances(f.Args[1], marking)
		return min(far, y+v, x+u), min(far, y+u, x+v)
	case logic.And:
		yes, no = 0, far
		for _, arg := range f.Args {
			y, x := g.distances(arg, marking)
			yes, no = min(far, yes+y), min(no, x)
		}
		return yes, no
	}
	yes, no = far, 0 // of Or
	for _, arg := range f.Args {
		y, x := g.distances(arg, marking)
		yes, no = min(yes, y), min(far, no+x)
	}
	return yes, no
}

// lacks is how many tokens a transition lacks or has too many of, and by how few more or fewer it
// is disabled.
func lacks(t *petri.Transition, marking []int64) (missing, least int64) {
	least = far
	for _, a := range t.In {
		have := marking[a.Place] - a.Weight
		missing += max(0, -have)
		least = min(least, have+1)
	}
	for _, a := range t.Inhibitors {
		room := a.Weight - marking[a.Place]
		missing += max(0, 1-room)
		least = min(least, room)
	}
	return missing, least
}
