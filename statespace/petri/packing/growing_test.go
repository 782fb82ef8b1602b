package packing

import (
	"errors"
	"testing"

	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// Only sums that grow are answered by what shows that a net is unbounded; with another question the
// net is searched.
func TestGrowing(t *testing.T) {
	free, letter := petri.Arc{Place: 0, Weight: 1}, petri.Arc{Place: 1, Weight: 1}
	net := &petri.Net{Places: []petri.Place{{ID: "free", Name: "free", Initial: 1},
		{ID: "letters", Name: "letters"}},
		Transitions: []petri.Transition{{ID: "post", Name: "post", In: []petri.Arc{free},
			Out: []petri.Arc{free, letter}}}}
	sum := func(free, letters int64) property.Property {
		return property.Property{Kind: property.Bound, Sum: property.Sum{Constant: 3,
			Terms: []property.Term{{Place: 0, Weight: free}, {Place: 1, Weight: letters}}}}
	}
	never := property.Property{Kind: property.Sometimes, Formula: logic.Truth(false)}
	for _, c := range []struct {
		properties []property.Property
		ends       bool
	}{
		{nil, true},
		{[]property.Property{sum(0, 1)}, true},
		{[]property.Property{sum(5, 2), sum(1, 1)}, true},
		{[]property.Property{sum(5, 0)}, false},
		{[]property.Property{sum(0, 1), sum(1, 0)}, false},
		{[]property.Property{sum(0, 1), never}, false},
	} {
		for _, endless := range []bool{false, true} {
			search := NewSearch(net, c.properties...)
			search.Endless = endless
			job := local.Single()
			_, _, err := search.Run(t.Context(), job, explore.Options{MaxStates: 50})
			unbounded := (*UnboundedError)(nil)
			found := errors.As(err, &unbounded)
			if found != (c.ends && !endless) || err != nil && !found {
				t.Errorf("%+v, endless %v: %v", c.properties, endless, err)
			}
			if err := job.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
