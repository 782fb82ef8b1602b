package petri

import "fmt"

// MaxTokens is the largest token count of a place and the largest arc weight
// that this package accepts.
const MaxTokens = 1 << 31

// Net is a place/transition net with its initial marking.
type Net struct {
	Name        string
	Places      []Place
	Transitions []Transition

	// Final are the markings in which a run should end, if the file names any: the places that
	// have tokens, with their numbers, like arcs. They change nothing that the net does.
	Final [][]Arc
}

// Place is one place of a net.
type Place struct {
	ID      string
	Name    string // the label, ID where the file gives none
	Initial int64  // tokens in the initial marking, 0 to MaxTokens
}

// Transition is one transition with its arcs.
//
// Invariant: In, Out, Inhibitors and Resets are sorted by place, and name a
// place once. Weights are 1 to MaxTokens.
type Transition struct {
	ID   string
	Name string // the label, ID where the file gives none
	In   []Arc  // consumes from
	Out  []Arc  // produces to

	Inhibitors []Arc // t is not enabled while a place has this weight or more
	Resets     []int // places that a firing empties, before it adds the tokens of Out
}

// Arc is the connection of a transition with a place.
type Arc struct {
	Place  int // index into Net.Places
	Weight int64
}

// Plain reports whether no transition has inhibitor or reset arcs. Then a
// marking with more tokens enables at least the same firings.
func (n *Net) Plain() bool {
	for i := range n.Transitions {
		if t := &n.Transitions[i]; len(t.Inhibitors)+len(t.Resets) > 0 {
			return false
		}
	}
	return true
}

// Initial returns the initial marking: tokens by place.
func (n *Net) Initial() []int64 {
	m := make([]int64, len(n.Places))
	for i, p := range n.Places {
		m[i] = p.Initial
	}
	return m
}

// Enabled reports whether t may fire in marking m.
func (t *Transition) Enabled(m []int64) bool {
	for _, a := range t.In {
		if m[a.Place] < a.Weight {
			return false
		}
	}
	for _, a := range t.Inhibitors {
		if m[a.Place] >= a.Weight {
			return false
		}
	}
	return true
}

// Fire moves the tokens of one firing of t in marking m, in place. The caller
// has made sure that t is enabled.
func (t *Transition) Fire(m []int64) {
	for _, a := range t.In {
		m[a.Place] -= a.Weight
	}
	for _, place := range t.Resets {
		m[place] = 0
	}
	for _, a := range t.Out {
		m[a.Place] += a.Weight
	}
}

// FireAll fires a sequence of transitions from marking m on, in place. It is an error if one of
// them is not enabled.
func (n *Net) FireAll(m []int64, sequence []int) error {
	for i, t := range sequence {
		if !n.Transitions[t].Enabled(m) {
			return fmt.Errorf("firing %d, of transition %s, is not possible", i+1,
				n.Transitions[t].ID)
		}
		n.Transitions[t].Fire(m)
	}
	return nil
}
