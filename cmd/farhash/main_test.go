package main

import (
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

func TestMain(m *testing.M) { try.Main(m, newRoot, main) }

// TestUsageNamesTheCommand: after wrong usage the help of that command is named, and after other
// failures none.
func TestUsageNamesTheCommand(t *testing.T) {
	try.Here(t, "bench", "--runs", "0").Has(t, cli.ExitUsage,
		"\nRun 'farhash bench --help' for usage.\n")
	try.Here(t, "nonsense").Has(t, cli.ExitUsage, "\nRun 'farhash --help' for usage.\n")
	try.Here(t, "explore", "no/such").Has(t, cli.ExitFailure, "farhash: ", "!for usage")
	try.Here(t, "explore", "no/such", "--json", "--mcc").Has(t, cli.ExitUsage, "exclude each other")
}

// TestCompletion: shells are told that a command takes no files.
func TestCompletion(t *testing.T) {
	if o := try.Here(t, "__complete", "bench", ""); o.Out != ":4\n" {
		t.Errorf("%q", o.Out)
	}
}

// TestHelpIsFolded: lines of help have 105 columns at most.
func TestHelpIsFolded(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		o := try.Here(t, cmd.Name(), "--help")
		for line := range strings.Lines(o.Out) {
			if len(line) > 106 || o.Code != 0 {
				t.Errorf("%s, exit code %d: %q", cmd.Name(), o.Code, line)
			}
		}
	}
}
