package explore

import (
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// With --exit-code the exit code says whether a property is false, by all engines, forms and ranks.
func TestExitCodeOfFalse(t *testing.T) {
	net := try.Net(t, "philosophers", 4)
	for _, engine := range engines {
		for _, form := range []string{"--json=false", "--json", "--mcc"} {
			for _, c := range []struct {
				code int
				args []string
			}{
				{0, []string{"--always", "not deadlock"}},
				{0, []string{"--exit-code", "--sometimes", "deadlock"}},
				{cli.ExitFalse, []string{"--exit-code", "--always", "not deadlock"}},
				{cli.ExitFalse, []string{"--exit-code", "--ctl", "AG not deadlock",
					"--sometimes", "deadlock"}},
				{0, []string{"--exit-code", "--sometimes", "deadlock", "--bound",
					"tokens(Fork_1)"}},
			} {
				args := append([]string{"explore", net, "--engine", engine, "-q", form}, c.args...)
				if run := try.Run(t, args...); run.Code() != c.code {
					t.Errorf("%q: exit code %d, want %d: %v", args, run.Code(), c.code, run.Err)
				}
			}
		}
		args := []string{"explore", net, "--engine", engine, "-q", "--exit-code", "--always",
			"not deadlock"}
		if run := try.Run(t, try.Launched(t, "2", args...)...); run.Code() != cli.ExitFalse {
			t.Errorf("%s, two processes: exit code %d: %v", engine, run.Code(), run.Err)
		}
	}
}

// One false answer is enough, even if others are unknown. Without a question the flag is refused.
func TestExitCodeOfIncomplete(t *testing.T) {
	net := try.Net(t, "philosophers", 6)
	args := []string{"explore", net, "--engine", "explicit", "-q", "--walk", "0", "--max-depth",
		"2", "--always", "tokens(Fork_1) = 1", "--sometimes", "deadlock"}
	try.Here(t, args...).Has(t, cli.ExitIncomplete, "false")
	try.Here(t, append(args, "--exit-code")...).Has(t, cli.ExitFalse, "false")
	try.Here(t, "explore", net, "--exit-code").Has(t, cli.ExitUsage, "--exit-code needs a property")
}
