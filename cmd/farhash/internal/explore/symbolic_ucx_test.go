//go:build ucx && cgo

package explore

import (
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
)

// TestUCXSymbolic: ranks on two hosts race with orders and strategies. One of them prints the
// answer; where memory is full for all, one says so.
func TestUCXSymbolic(t *testing.T) {
	t.Setenv("GOMAXPROCS", "4") // both hosts are this machine, and all four ranks are to search
	hosts := newHostPair(t, 2)
	for _, c := range []struct {
		args []string
		text string
		code int
	}{
		{[]string{"explore", family(t, "philosophers", "40"), "--engine", "symbolic", "-q"},
			"states                   12157665459056928801\n", 0},
		{[]string{"explore", family(t, "rwmutex", "60"), "--engine", "symbolic", "-q",
			"--mem", "4MiB"}, "INCOMPLETE: memory full: ", cli.ExitIncomplete},
	} {
		hosts.start(c.args...)
		hosts.finish(c.code, c.code)
		if text := hosts.both[0].Out.String() + hosts.both[1].Out.String(); strings.Count(
			text, c.text) != 1 {
			t.Errorf("%q printed, not once %q", text, c.text)
		}
	}
}
