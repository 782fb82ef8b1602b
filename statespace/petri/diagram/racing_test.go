package diagram

import (
	"slices"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/symbolic"
)

// TestRacing: Saturation takes the chosen order from the other end, unless one is given, and for
// Kanban that is an order of magnitude.
func TestRacing(t *testing.T) {
	net, err := petri.Family("kanban", 20)
	must(t, err)
	chosen := Choose(net)
	back := chosen.racing(symbolic.Saturation)
	if again := back.reversed(); again.Name != chosen.Name || back.Name == chosen.Name ||
		!slices.Equal(again.Places, chosen.Places) || slices.Equal(back.Places, chosen.Places) {
		t.Errorf("%v; reversed %v; and again %v", chosen, back, again)
	}
	want := map[symbolic.Strategy]string{symbolic.Saturation: back.Name,
		symbolic.Loops: chosen.Name}
	res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes})
	must(t, err)
	if want[res.Strategy] != res.Order {
		t.Errorf("%s has the order %s", res.Strategy, res.Order)
	}
	res, err = Explore(t.Context(), net, Options{MaxBytes: testBytes, Order: chosen})
	must(t, err)
	if res.Order != chosen.Name {
		t.Errorf("%s has the order %s, but another is given", res.Strategy, res.Order)
	}
	calls := map[string]uint64{}
	for _, o := range []Order{chosen, back} {
		res, err := Explore(t.Context(), net, Options{MaxBytes: testBytes, Order: o,
			Strategy: symbolic.Saturation})
		must(t, err)
		calls[o.Name] = res.Stats.Lookups
	}
	if calls[back.Name]*10 > calls[chosen.Name] {
		t.Errorf("calls by order: %v", calls)
	}
	for rank, order := range []string{back.Name, chosen.Name} {
		res, err := exploreNth(t.Context(), net, Options{MaxBytes: testBytes}, rank, nil)
		must(t, err)
		if res.Order != order || want[res.Strategy] != order {
			t.Errorf("rank %d: %s, %s", rank, res.Strategy, res.Order)
		}
	}
}
