package core

import (
	"math"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
)

func costsOf(getNs, eachNs, requestNs, wordNs float64) rma.AccessCosts {
	return rma.AccessCosts{GetCosts: rma.GetCosts{Ns: getNs, EachNs: eachNs},
		RequestNs: requestNs, WordNs: wordNs}
}

// Where messages are dear few operations are worth a request; where they are cheap, none are.
func TestLeast(t *testing.T) {
	for _, c := range []struct {
		name      string
		costs     rma.AccessCosts
		trips     float64
		low, high int
	}{
		{"TCP", costsOf(23e3, 6e3, 60e3, 2), 1.5, 2, 10},
		{"InfiniBand", costsOf(2e3, 50, 12e3, .4), 1.5, math.MaxInt, math.MaxInt},
		{"requests as quick as gets", costsOf(20e3, 5e3, 20e3, 0), 2, 1, 1},
	} {
		if n := least(c.costs, c.trips); n < c.low || n > c.high {
			t.Errorf("%s: shipped from %d operations on", c.name, n)
		}
	}
}

// Messages that take long are measured once, and the first of them, which connect, do not count.
func TestMeterEnds(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		runs  int
	}{{2 * enough, 3}, {0, 7}} {
		var m meter
		runs := 0
		least := m.least(2, 5, func() error {
			if runs++; runs > 2 {
				time.Sleep(c.takes)
			}
			return nil
		})
		if runs != c.runs && (c.takes > 0 || runs < 3) || least < float64(c.takes) {
			t.Errorf("runs of %v: %d, want %d; the least is %.0f ns", c.takes, runs, c.runs, least)
		}
	}
}
