package explore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/cmd/farhash/internal/bench"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/run"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/check"
)

func TestMain(m *testing.M) { try.Main(m, root, bePeak, beModel) }

// root is farhash with the commands that these tests run.
func root() *cobra.Command {
	return cli.Root(New(), NewSymbolic(), NewPetri(), run.New(), bench.NewCalibrate())
}

// beModel checks a model if the command line names one.
func beModel() {
	if len(os.Args) > 1 && strings.HasSuffix(os.Args[1], turns.Name) {
		unfair := turns
		unfair.Name, unfair.Fair = "unfair-"+turns.Name, nil
		check.Main(turns, unfair) // does not return
	}
}

// turns has three counters that run in circles, each by an action that is to be fair.
var turns = check.Model[[3]uint8]{Name: "turns", Init: [][3]uint8{{}}, Deadlocks: true,
	Fair: []string{"0 steps", "1 steps", "2 steps"},
	Next: func(s [3]uint8, emit func(string, [3]uint8)) {
		for i, action := range []string{"0 steps", "1 steps", "2 steps"} {
			next := s
			next[i] = (s[i] + 1) % turnLength
			emit(action, next)
		}
	},
	Properties: []check.Property[[3]uint8]{check.AlwaysEventually("comes round",
		func(s [3]uint8) bool { return s[0] == turnLength/2 })}}

const turnLength = 20

// startSearch starts the command and waits until its search has a plan.
func startSearch(t *testing.T, args ...string) *try.Command {
	t.Helper()
	return try.StartUntil(t, "plan: ", args...)
}

// family writes a net of a family by the command petri, and returns its file.
func family(t *testing.T, name, size string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".pnml")
	if c := try.Run(t, "petri", name, "-n", size, "-o", path); c.Code() != 0 {
		t.Fatalf("petri %s: %s", name, &c.Errors)
	}
	return path
}
