package petri_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
)

// A sequence is fired up to the first transition that is not enabled, which the error names.
func TestFireAll(t *testing.T) {
	n := &petri.Net{Places: []petri.Place{{ID: "p", Initial: 3}, {ID: "q"}},
		Transitions: []petri.Transition{
			{ID: "move", In: []petri.Arc{{Place: 0, Weight: 2}},
				Out: []petri.Arc{{Place: 1, Weight: 1}}},
			{ID: "back", In: []petri.Arc{{Place: 1, Weight: 1}},
				Out: []petri.Arc{{Place: 0, Weight: 1}}},
		}}
	m := n.Initial()
	if err := n.FireAll(m, []int{0, 1, 0}); err != nil || !slices.Equal(m, []int64{0, 1}) {
		t.Errorf("firing all led to %v, %v", m, err)
	}
	m = n.Initial()
	err := n.FireAll(m, []int{0, 0})
	if err == nil || !strings.Contains(err.Error(), "firing 2, of transition move") {
		t.Errorf("a transition without its tokens fired: %v, %v", m, err)
	}
}
