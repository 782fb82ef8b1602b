//go:build ucx && cgo

package explore

import (
	"strings"
	"testing"
)

// TestUCXSpread: ranks on two hosts have one diagram together, and rank 0 prints the answer.
func TestUCXSpread(t *testing.T) {
	hosts := newHostPair(t, 2)
	for _, c := range []struct {
		args []string
		text string
	}{
		{[]string{"explore", family(t, "philosophers", "6"), "--engine", "symbolic"},
			"states   729\n"},
		{[]string{"symbolic", doubled(t, 5)}, "states   32\n"},
	} {
		hosts.start(append(c.args, "--spread", "-q", "--mem", "64MiB")...)
		hosts.finish(0, 0)
		if text := hosts.both[0].Out.String() + hosts.both[1].Out.String(); strings.Count(
			text, c.text) != 1 || !strings.Contains(text, " at most in each of 4 ranks\n") {
			t.Errorf("%q printed, not once %q", text, c.text)
		}
	}
}
