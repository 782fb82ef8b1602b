package property

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/farhash/farhash/internal/nearest"
	"github.com/farhash/farhash/statespace/petri"
)

// names finds the places and transitions of a net by their ids.
type names struct{ places, transitions map[string]int }

func namesOf(net *petri.Net) *names {
	n := &names{make(map[string]int, len(net.Places)), make(map[string]int, len(net.Transitions))}
	for i := range net.Places {
		n.places[net.Places[i].ID] = i
	}
	for i := range net.Transitions {
		n.transitions[net.Transitions[i].ID] = i
	}
	return n
}

func (n *names) place(id string) (int, error) {
	if i, ok := n.places[id]; ok {
		return i, nil
	}
	if _, ok := n.transitions[id]; ok {
		return 0, fmt.Errorf("%q is a transition of the net and no place", id)
	}
	return 0, fmt.Errorf("the net has no place with the id %q%s", id, suggestion(id, n.places))
}

func (n *names) transition(id string) (int, error) {
	if i, ok := n.transitions[id]; ok {
		return i, nil
	}
	if _, ok := n.places[id]; ok {
		return 0, fmt.Errorf("%q is a place of the net and no transition", id)
	}
	return 0, fmt.Errorf("the net has no transition with the id %q%s", id,
		suggestion(id, n.transitions))
}

// matching are the numbers of the ids that match a pattern, in which each asterisk stands for any
// text.
func matching(pattern string, known map[string]int) (all []int) {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	for id, i := range known {
		rest, ok := strings.CutPrefix(id, first)
		for _, part := range parts[1 : len(parts)-1] {
			var found bool
			_, rest, found = strings.Cut(rest, part)
			ok = ok && found
		}
		if ok && strings.HasSuffix(rest, last) {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return all
}

// suggestion is what follows an id that is not known.
func suggestion(id string, known map[string]int) string {
	return nearest.Suggestion(id, slices.Values(slices.Sorted(maps.Keys(known))))
}

// add adds weight times the tokens of a place.
func (s *Sum) add(place int, weight int64) {
	at, ok := slices.BinarySearchFunc(s.Terms, place, func(t Term, place int) int {
		return t.Place - place
	})
	if !ok {
		s.Terms = slices.Insert(s.Terms, at, Term{Place: place})
	}
	s.Terms[at].Weight += weight
}
