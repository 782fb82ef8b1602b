package cli

import "testing"

// TestRate: a search of no time has no rate.
func TestRate(t *testing.T) {
	for want, seconds := range map[string]float64{"2 kB/s": 0.5, "- B/s": 0} {
		if got := Rate(1000, seconds, "B/s"); got != want {
			t.Errorf("%v s: %q, want %q", seconds, got, want)
		}
	}
}
