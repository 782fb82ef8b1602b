package eval_test

import (
	"bytes"
	"encoding/json"
	"image"
	_ "image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/lp"
	"github.com/farhash/farhash/eval/md"
	"github.com/farhash/farhash/eval/ne"
	"github.com/farhash/farhash/eval/op"
)

// small has the flags with which an experiment takes a moment, by the name of its first view.
var small = map[string]string{
	"OPTable1":         "--buckets 64Ki",
	"Set":              "--buckets 64Ki --impl scalar,batch -n 1,2",
	"Simulated":        "--hosts 2 --procs 1,2 --ops 100",
	"SimulatedLatency": "--buckets 64Ki --latencies 100 --ops 10",
	"Cache":            "--buckets 1Ki --ops 200 --key-space 500 -n 1,2",
	"KVTrips":          "--slots 4Ki",
	"KV":               "--records 2000 --ops 500",
	"LPTable1":         "--records 1000 --lookups 100",
	"LPTable2":         "--records 1000 --lookups 100",
	"LPTable3":         "--records 1000 --lookups 100",
	"LPFigure6":        "--records 1000 --lookups 100",
	"LPFigure9":        "--records 1000 --lookups 400",
	"LPFigure10":       "--records 1000 --lookups 100",
	"LPFigure12":       "--records 1000 --lookups 100",
	"LPFigure13":       "",
	"LPCost":           "",
	"LPBuild":          "--records 1000 --lookups 100 --batch 1,16",
}

// TestExperiments runs each experiment, and shows and draws what it has written.
func TestExperiments(t *testing.T) {
	all := slices.Concat(op.Experiments(), lp.Experiments(), md.Experiments(), ne.Experiments())
	for _, e := range all {
		name := e.Views[0].Name
		t.Run(name, func(t *testing.T) {
			flags, ok := small[name]
			if !ok {
				t.Fatalf("small has no flags for %s", name)
			}
			if !e.Computed {
				flags += " --runs 1"
			}
			dir := t.TempDir()
			path, plot := filepath.Join(dir, "lines"), filepath.Join(dir, "x.png")
			lines := execute(t, experiment.Command(e), append(strings.Fields(flags), "-q",
				"--benchfmt")...)
			if err := os.WriteFile(path, lines, 0o600); err != nil {
				t.Fatal(err)
			}
			text := string(execute(t, experiment.Show(all), path, "--plot", plot))
			for _, view := range e.Views {
				if !strings.Contains(text, view.Title) {
					t.Errorf("%q is not shown", view.Title)
				}
			}
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("not all are numbers:\n%s", text)
			}
			var shown struct{ Cases []any }
			object := execute(t, experiment.Show(all), path, "--json")
			if err := json.Unmarshal(object, &shown); err != nil || len(shown.Cases) == 0 {
				t.Errorf("%d cases, %v:\n%s", len(shown.Cases), err, object)
			}
			drawn, err := os.ReadFile(plot)
			if err != nil {
				t.Fatal(err)
			}
			if _, format, err := image.DecodeConfig(bytes.NewReader(drawn)); format != "png" {
				t.Errorf("the plot is %q, %v", format, err)
			}
		})
	}
}

// execute runs a command and returns what it prints.
func execute(t *testing.T, cmd *cobra.Command, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.Bytes()
}
