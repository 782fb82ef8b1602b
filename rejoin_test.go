package farhash

import (
	"fmt"
	"strings"
	"testing"
)

// A process that asks to rejoin where no rank can gets an error.
func TestRejoinRefused(t *testing.T) {
	for _, c := range []struct{ value, says string }{
		{"1", "only a rank of the engine rma/ucx joins again"}, {"yes", "neither 0 nor 1"},
	} {
		t.Setenv(RejoinVariable, c.value)
		if _, err := Join(t.Context()); !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s=%s: %v", RejoinVariable, c.value, err)
		}
	}
	t.Setenv(RejoinVariable, "0")
	if _, err := Join(t.Context(), Rejoin()); !strings.Contains(fmt.Sprint(err), "joins again") {
		t.Error(err)
	}
}
