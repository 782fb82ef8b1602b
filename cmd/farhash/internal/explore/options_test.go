package explore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/explore"
)

// TestOptions: what the flags of explore ask a search for.
func TestOptions(t *testing.T) {
	for args, want := range map[string]func(o explore.Options) bool{
		"": func(o explore.Options) bool {
			return o.Walk == .1 && o.Mem == 0 && !o.MemWhole && len(o.Trace) == 0 && o.TraceEach &&
				o.Order == explore.BreadthFirst && o.CheckpointEvery == 10*time.Minute
		},
		"--walk 50": func(o explore.Options) bool { return o.Walk == .5 },
		"--trace deadlock --walk 50": func(o explore.Options) bool {
			return o.Walk == 0 && len(o.Trace) == 1 && o.Trace[0] == explore.Deadlock
		},
		"--trace witness --always deadlock": func(o explore.Options) bool {
			return o.Walk == .1 && len(o.Trace) == 0
		},
		"--mem 2GiB": func(o explore.Options) bool { return o.Mem == 2<<30 && o.MemWhole },
		"--max-depth 3 --max-states 9": func(o explore.Options) bool {
			return o.MaxDepth == 3 && o.MaxStates == 9
		},
		"--check --coverage --order any --encoding tree": func(o explore.Options) bool {
			return o.Check && o.Coverage && o.Order == explore.AnyOrder &&
				o.Encoding == explore.EncodingTree
		},
	} {
		var f exploreFlags
		cmd := New()
		cmd.ResetFlags()
		f.register(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if o, err := f.options("net"); err != nil || !want(o) {
			t.Errorf("%q: %+v, %v", args, o, err)
		}
	}
}

// TestOutputsSpareInputs: no flag writes what another one reads or writes.
func TestOutputsSpareInputs(t *testing.T) {
	dekker := try.Net(t, "dekker", 2)
	properties := try.File(t, "p.xml", "<property-set/>")
	formulas := try.File(t, "f.txt", "always deadlock\n")
	fresh := filepath.Join(t.TempDir(), "fresh.dot")
	for _, c := range []struct {
		says string
		args []string
	}{
		{"--html: " + formulas + " would replace ", []string{"--formulas", formulas, "--html",
			formulas}},
		{"--html: " + properties + " would replace ", []string{"--properties", properties,
			"--html", properties}},
		{"--itf: " + formulas + " would replace ", []string{"--formulas", formulas, "--itf",
			formulas, "--trace=deadlock"}},
		{"--itf: " + properties + " would replace ", []string{"--properties", properties, "--itf",
			properties, "--trace=deadlock"}},
		{"another flag names " + fresh, []string{"--export", fresh, "--itf", fresh,
			"--trace=deadlock"}},
	} {
		try.Refused(t, cli.ExitFailure, c.says, append([]string{"explore", dekker, "-q"},
			c.args...)...)
	}
	dot := filepath.Join(t.TempDir(), "p.dot")
	if err := os.Rename(properties, dot); err != nil {
		t.Fatal(err)
	}
	try.Refused(t, cli.ExitFailure, "--export: "+dot+" would replace "+dot, "explore", dekker, "-q",
		"--properties", dot, "--export", dot)
	for path, want := range map[string]string{formulas: "always deadlock\n",
		dot: "<property-set/>"} {
		if text, err := os.ReadFile(path); string(text) != want || err != nil {
			t.Errorf("%s has become %q, %v", path, text, err)
		}
	}
}
