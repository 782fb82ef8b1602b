package randomwalk

import (
	"math"

	"github.com/farhash/farhash/statespace/petri/property"
)

// Goal is a formula, or a sum that is to be large. It is read-only.
type Goal struct {
	root  node
	bound bool // the root is a sum
}

// node is a part of a formula.
type node struct {
	op       property.Op
	args     []node
	constant int64
	terms    []term  // of AtMost: left - right
	needs    []needs // of Enabled: by transition
}

// term is the tokens of a place times a weight.
type term struct {
	place  int
	weight int64
}

// needs is what a transition needs to be enabled.
type needs []term

// Goal is a formula to walk to. In its sums the place after all places of the net is the number
// of transitions that are enabled.
func (m *Map) Goal(f *property.Formula) *Goal { return &Goal{root: m.compile(f)} }

// Largest is a sum to make large, up to a value.
func (m *Map) Largest(sum property.Sum, most int64) *Goal {
	if most == math.MaxInt64 {
		most = 0 // any number: distances are compared
	}
	return &Goal{root: compare(property.Sum{Constant: most}, sum), bound: true}
}

// Fire is the goal that a transition is enabled.
func (m *Map) Fire(transition int) *Goal {
	return m.Goal(&property.Formula{Op: property.Enabled, Transitions: []int{transition}})
}

func (m *Map) compile(f *property.Formula) node {
	n := node{op: f.Op}
	switch f.Op {
	case property.AtMost:
		n = compare(f.Left, f.Right)
	case property.Stuck:
		n = compare(property.Sum{Terms: []property.Term{{Place: len(m.net.Places), Weight: 1}}},
			property.Sum{})
	case property.Enabled:
		for _, t := range f.Transitions {
			var all needs
			for _, a := range m.net.Transitions[t].In {
				all = append(all, term{a.Place, a.Weight})
			}
			n.needs = append(n.needs, all)
		}
	}
	for _, arg := range f.Args {
		n.args = append(n.args, m.compile(arg))
	}
	return n
}

// compare is left <= right.
func compare(left, right property.Sum) node {
	n := node{op: property.AtMost, constant: left.Constant - right.Constant}
	for _, t := range left.Terms {
		n.terms = append(n.terms, term{t.Place, t.Weight})
	}
	for _, t := range right.Terms {
		n.terms = append(n.terms, term{t.Place, -t.Weight})
	}
	return n
}

// Distance is how far a marking is from the goal: 0 if it is there. marking has the number of
// enabled transitions after all places.
func (g *Goal) Distance(marking []int64) int64 {
	if g.bound {
		return g.root.excess(marking)
	}
	yes, _ := g.root.distances(marking)
	return yes
}

// far is more than any distance of one part: sums of parts stop there.
const far = math.MaxInt64 / 4

// distances are how far a marking is from making the formula true, and from making it false.
// Exactly one of them is 0.
func (n *node) distances(marking []int64) (yes, no int64) {
	switch n.op {
	case property.AtMost:
		excess := n.excess(marking)
		return max(0, excess), max(0, 1-excess)
	case property.Not:
		no, yes = n.args[0].distances(marking)
		return yes, no
	case property.And:
		yes, no = 0, far
		for i := range n.args {
			y, x := n.args[i].distances(marking)
			yes, no = min(far, yes+y), min(no, x)
		}
		return yes, no
	case property.Or:
		yes, no = far, 0
		for i := range n.args {
			y, x := n.args[i].distances(marking)
			yes, no = min(yes, y), min(far, no+x)
		}
		return yes, no
	case property.Iff:
		y, x := n.args[0].distances(marking)
		v, u := n.args[1].distances(marking)
		return min(far, y+v, x+u), min(far, y+u, x+v)
	default: // Enabled
		yes = far
		for _, all := range n.needs {
			missing, least := all.missing(marking)
			if yes = min(yes, missing); missing == 0 {
				no = min(far, no+least)
			}
		}
		return yes, no
	}
}

// excess is how much more the left sum of a comparison is than the right one.
func (n *node) excess(marking []int64) int64 {
	sum := n.constant
	for _, t := range n.terms {
		sum += t.weight * marking[t.place]
	}
	return sum
}

// missing is how many tokens a transition lacks, and the fewest whose loss disables it.
func (n needs) missing(marking []int64) (missing, least int64) {
	least = far
	for _, t := range n {
		have := marking[t.place] - t.weight
		missing += max(0, -have)
		least = min(least, have+1)
	}
	return missing, least
}
