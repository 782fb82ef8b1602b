package rma_test

import (
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
)

func TestParseAccess(t *testing.T) {
	for a := rma.Auto; a <= rma.Shipped; a++ {
		if b, err := rma.ParseAccess(a.String()); b != a || err != nil {
			t.Errorf("%v is parsed as %v, %v", a, b, err)
		}
	}
	_, err := rma.ParseAccess("twosided")
	if err == nil || !strings.Contains(err.Error(), "twosided") {
		t.Errorf("an unknown name gives %v", err)
	}
}

func TestAccessCheck(t *testing.T) {
	for a := rma.Auto - 1; a <= rma.Shipped+1; a++ {
		known := a >= rma.Auto && a <= rma.Shipped
		if err := a.Check(); (err == nil) != known {
			t.Errorf("%v: %v", a, err)
		}
		if strings.HasPrefix(a.String(), "Access(") == known {
			t.Errorf("%d is called %v", int(a), a)
		}
	}
}

// A choice says what is done, and why.
func TestAccessChoice(t *testing.T) {
	costs := rma.AccessCosts{GetCosts: rma.GetCosts{Ns: 23456, EachNs: 6000},
		RequestNs: 60000, WordNs: 2.5}
	const why = ": a get takes 23.5 us and each of many 6.00 us, " +
		"a request 60.0 us and 2.50 ns a word"
	unasked := costs
	unasked.RequestNs = 0
	for _, c := range []struct {
		choice rma.AccessChoice
		want   string
	}{
		{rma.AccessChoice{},
			"direct: all memory is addressable, or the engine carries no requests"},
		{rma.AccessChoice{Trips: 1, MinBatch: math.MaxInt}, "direct: all memory is addressable"},
		{rma.AccessChoice{Access: rma.Shipped, MinBatch: 1}, "shipped, as asked"},
		{rma.AccessChoice{Access: rma.OneSided, MinBatch: math.MaxInt}, "one-sided, as asked"},
		{rma.AccessChoice{MinBatch: math.MaxInt, Costs: unasked},
			"one-sided: another rank has ended during the measurement"},
		{rma.AccessChoice{MinBatch: math.MaxInt, Costs: costs}, "one-sided" + why},
		{rma.AccessChoice{MinBatch: 1, Costs: costs}, "shipped" + why},
		{rma.AccessChoice{MinBatch: 7, Costs: costs},
			"shipped from 7 operations for a rank on" + why},
	} {
		if got := c.choice.String(); got != c.want {
			t.Errorf("%+v says %q, not %q", c.choice, got, c.want)
		}
	}
}
