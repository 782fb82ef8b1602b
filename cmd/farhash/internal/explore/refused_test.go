package explore

import (
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// TestRefusedFlags: what makes no sense is wrong usage, says why, and neither starts nor writes
// anything.
func TestRefusedFlags(t *testing.T) {
	try.Refuses(t, [][2]string{
		{"--json takes its value with =: write --json=lines", "explore --json lines NET"},
		{"--json takes its value with =: write --json=lines", "explore NET --json lines"},
		{"--json takes its value with =: write --json=object", "explore --json object"},
		{"--walk must be 0 to 90 percent, not 91", "explore NET --walk 91"},
		{"--walk must be 0 to 90 percent, not -1", "explore NET --walk -1"},
		{"--walk must be 0 to 90 percent, not NaN", "explore NET --walk NaN"},
		{"--every must be positive, not 0s", "explore NET --checkpoint TEXT.check --every 0s"},
		{"it needs --checkpoint FILE", "explore NET --every 1m"},
		{`--max-net "0" is no size`, "explore NET --max-net 0"},
		{`--mem "9223372036854775808" is no`, "explore NET --mem 9223372036854775808"},
		{"--sometimes: ", "explore NET --sometimes tokens(x)=1"},
		{"--always: ", "explore NET --always tokens(x)=1"},
		{"--bound: ", "explore NET --bound tokens(x)"},
		{"--examination: ", "explore NET --examination Beauty"},
		{"two properties have the name always deadlock",
			"explore NET --always deadlock --always deadlock"},
		{"--engine symbolic and --max-states exclude",
			"explore NET --engine symbolic --max-states 2"},
		{"--engine symbolic and --order exclude", "explore NET --engine symbolic --order bfs"},
	})
}
