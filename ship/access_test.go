package ship_test

import (
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/ship"
)

func TestParse(t *testing.T) {
	for a := ship.Auto; a <= ship.Shipped; a++ {
		if b, err := ship.Parse(a.String()); b != a || err != nil {
			t.Errorf("%v is parsed as %v, %v", a, b, err)
		}
	}
	if _, err := ship.Parse("twosided"); err == nil || !strings.Contains(err.Error(), "twosided") {
		t.Errorf("an unknown name gives %v", err)
	}
}

func TestCheck(t *testing.T) {
	for a := ship.Auto - 1; a <= ship.Shipped+1; a++ {
		known := a >= ship.Auto && a <= ship.Shipped
		if err := a.Check(); (err == nil) != known {
			t.Errorf("%v: %v", a, err)
		}
		if strings.HasPrefix(a.String(), "Access(") == known {
			t.Errorf("%d is called %v", int(a), a)
		}
	}
}

// A choice says what is done, and why.
func TestChoice(t *testing.T) {
	costs := ship.Costs{GetNs: 23456, GetEachNs: 6000, RequestNs: 60000, WordNs: 2.5}
	const why = ": a get takes 23.5 us and each of many 6.00 us, " +
		"a request 60.0 us and 2.50 ns a word"
	unasked := costs
	unasked.RequestNs = 0
	for _, c := range []struct {
		choice ship.Choice
		want   string
	}{
		{ship.Choice{}, "direct: all memory is addressable, or the engine carries no requests"},
		{ship.Choice{Trips: 1, MinBatch: math.MaxInt}, "direct: all memory is addressable"},
		{ship.Choice{Access: ship.Shipped, MinBatch: 1}, "shipped, as asked"},
		{ship.Choice{Access: ship.OneSided, MinBatch: math.MaxInt}, "one-sided, as asked"},
		{ship.Choice{MinBatch: math.MaxInt, Costs: unasked},
			"one-sided: another rank has ended during the measurement"},
		{ship.Choice{MinBatch: math.MaxInt, Costs: costs}, "one-sided" + why},
		{ship.Choice{MinBatch: 1, Costs: costs}, "shipped" + why},
		{ship.Choice{MinBatch: 7, Costs: costs}, "shipped from 7 operations for a rank on" + why},
	} {
		if got := c.choice.String(); got != c.want {
			t.Errorf("%+v says %q, not %q", c.choice, got, c.want)
		}
	}
}
