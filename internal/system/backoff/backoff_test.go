package backoff_test

import (
	"testing"

	"github.com/farhash/farhash/internal/system/backoff"
)

// The first pauses are short and let nobody wait; then each one sleeps.
func TestBackoff(t *testing.T) {
	var b backoff.Backoff
	for round := range 2 {
		pauses := 0
		for !b.Pause() {
			pauses++
		}
		if pauses < 32 || pauses > 1000 {
			t.Errorf("round %d: slept after %d pauses", round, pauses)
		}
		for range 10 {
			if !b.Pause() {
				t.Errorf("round %d: did not sleep again", round)
			}
		}
		b.Reset()
	}
}
