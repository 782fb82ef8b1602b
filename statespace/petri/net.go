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
}

// Place is one place of a net.
type Place struct {
	ID      string
	Name    string // the label, ID where the file gives none
	Initial int64  // tokens in the initial marking, 0 to MaxTokens
}

// Transition is one transition with the arcs that it consumes from and
// produces to.
//
// Invariant: In and Out are sorted by place, name a place once, and carry
// weights of 1 to MaxTokens.
type Transition struct {
	ID   string
	Name string // the label, ID where the file gives none
	In   []Arc
	Out  []Arc
}

// Arc is the connection of a transition with a place.
type Arc struct {
	Place  int // index into Net.Places
	Weight int64
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
	return true
}

// Fire moves the tokens of one firing of t in marking m, in place. The caller
// has made sure that t is enabled.
func (t *Transition) Fire(m []int64) {
	for _, a := range t.In {
		m[a.Place] -= a.Weight
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
