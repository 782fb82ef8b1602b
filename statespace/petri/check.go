package petri

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Check verifies what every function of this project takes for granted of a
// net:
//
//   - ids are not empty and differ, over places and transitions together;
//   - names are not empty, except the name of the net;
//   - ids and names are text that XML can carry, without white space around;
//   - initial markings are 0 to MaxTokens;
//   - In, Out, Inhibitors and Resets are sorted by place, name a place once and
//     lead to places of the net; weights are 1 to MaxTokens. So are Final's.
func (n *Net) Check() error {
	if err := checkText(n.Name); err != nil {
		return fmt.Errorf("the name %s of the net %w", quote(n.Name), err)
	}
	ids := make(map[string]struct{}, len(n.Places)+len(n.Transitions))
	for i := range n.Places {
		p := &n.Places[i]
		if err := checkNode(ids, p.ID, p.Name); err != nil {
			return fmt.Errorf("place %d: %w", i, err)
		}
		if p.Initial < 0 || p.Initial > MaxTokens {
			return fmt.Errorf("place %s: the initial marking is %d; it must be 0 to %d",
				quote(p.ID), p.Initial, int64(MaxTokens))
		}
	}
	for i := range n.Transitions {
		t := &n.Transitions[i]
		if err := checkNode(ids, t.ID, t.Name); err != nil {
			return fmt.Errorf("transition %d: %w", i, err)
		}
		if err := n.checkArcs(t.In); err != nil {
			return fmt.Errorf("transition %s: In: %w", quote(t.ID), err)
		}
		if err := n.checkArcs(t.Out); err != nil {
			return fmt.Errorf("transition %s: Out: %w", quote(t.ID), err)
		}
		if err := n.checkArcs(t.Inhibitors); err != nil {
			return fmt.Errorf("transition %s: Inhibitors: %w", quote(t.ID), err)
		}
		if err := n.checkResets(t.Resets); err != nil {
			return fmt.Errorf("transition %s: Resets: %w", quote(t.ID), err)
		}
	}
	for _, marking := range n.Final {
		if err := n.checkArcs(marking); err != nil {
			return fmt.Errorf("final marking: %w", err)
		}
	}
	return nil
}

func checkNode(ids map[string]struct{}, id, name string) error {
	if id == "" {
		return fmt.Errorf("the id is empty; give it one of its own")
	}
	if err := checkText(id); err != nil {
		return fmt.Errorf("the id %s %w", quote(id), err)
	}
	if _, taken := ids[id]; taken {
		return fmt.Errorf("the id %s is taken by another node; ids must differ", quote(id))
	}
	ids[id] = struct{}{}
	if name == "" {
		return fmt.Errorf("the name of %s is empty; repeat the id where there is none", quote(id))
	}
	if err := checkText(name); err != nil {
		return fmt.Errorf("the name %s %w", quote(name), err)
	}
	return nil
}

// checkText returns what is wrong with an id or a name, as the end of a
// sentence about it.
func checkText(s string) error {
	if strings.Trim(s, xmlSpace) != s {
		return fmt.Errorf("has white space around it; trim it")
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("is not valid UTF-8")
	}
	for _, r := range s {
		if r < 0x20 && !strings.ContainsRune(xmlSpace, r) || r == 0xFFFE || r == 0xFFFF {
			return fmt.Errorf("holds %U, which XML cannot carry", r)
		}
	}
	return nil
}

func (n *Net) checkArcs(arcs []Arc) error {
	last := -1
	for _, a := range arcs {
		if a.Place < 0 || a.Place >= len(n.Places) {
			return fmt.Errorf("there is no place %d; the net has %d places", a.Place, len(n.Places))
		}
		if a.Place <= last {
			return fmt.Errorf("place %d follows place %d; sort the arcs by place and name a place "+
				"once", a.Place, last)
		}
		if a.Weight < 1 || a.Weight > MaxTokens {
			return fmt.Errorf("the arc of place %d has weight %d; it must be 1 to %d",
				a.Place, a.Weight, int64(MaxTokens))
		}
		last = a.Place
	}
	return nil
}

// checkResets verifies of places what checkArcs verifies of arcs.
func (n *Net) checkResets(places []int) error {
	arcs := make([]Arc, len(places))
	for i, place := range places {
		arcs[i] = Arc{place, 1}
	}
	return n.checkArcs(arcs)
}
