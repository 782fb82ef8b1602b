package bench

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

func TestBenchUsage(t *testing.T) {
	for _, flags := range []string{"x", "--none", "-n 0", "-n 70000", "--runs 0", "--batch 1",
		"--size 1KiB", "--size much", "--ops 0", "--ops 1GB", "--ops 2^40", "--json --benchfmt"} {
		args := append([]string{"bench"}, strings.Fields(flags)...)
		if code := try.Here(t, args...).Code; code != cli.ExitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, cli.ExitUsage)
		}
	}
}

// All four tables are measured, in any form and on any ranks.
func TestBench(t *testing.T) {
	tiny := strings.Fields("bench -q --size 1MiB --ops 200 --runs 1 --batch 16")
	with := func(flag string) []string { return append(tiny[:len(tiny):len(tiny)], flag) }
	for _, args := range [][]string{tiny, with("--direct=false"), try.Launched(t, "2", tiny...)} {
		c := try.Run(t, args...)
		for _, table := range []string{"set", "index", "cache", "kv"} {
			if c.Code() != 0 || !strings.Contains(c.Out.String(), "\n"+table+" ") {
				t.Errorf("%q: exit code %d, no %s:\n%s%s", args, c.Code(), table, &c.Out,
					&c.Errors)
			}
		}
	}
	c := try.Run(t, with("--json")...)
	var r struct{ Results []map[string]any }
	if err := json.Unmarshal(c.Out.Bytes(), &r); err != nil || len(r.Results) != 16 {
		t.Errorf("%d results: %v", len(r.Results), err)
	}
	c = try.Run(t, with("--benchfmt")...)
	if n := strings.Count(c.Out.String(), "\nBenchmarkFarhash/table="); n != 16 {
		t.Errorf("%d lines for benchstat:\n%s", n, &c.Out)
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]uint64{
		"128Mi": 1 << 27, "2^27": 1 << 27, "1000000": 1000000, "4k": 4000, "16Ki": 1 << 14,
		"": 0, "-1": 0, "0": 0, "2^": 0, "2^64": 0, "1MiB": 0, "x": 0,
	} {
		got, err := parseCount("--ops", text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseCount(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

// TestBenchForms: what was measured in part is marked, in the form that was asked for.
func TestBenchForms(t *testing.T) {
	results := []Result{{Table: "set", Operation: "find-or-put", Batch: 16, Mops: 2}}
	for _, c := range []struct {
		flags    benchFlags
		complete bool
		has      []string
	}{
		{benchFlags{direct: true}, true, []string{"goroutines of one process", "!one-sided",
			"!INCOMPLETE", "!BenchmarkFarhash"}},
		{benchFlags{}, false, []string{"goroutines of one process, one-sided operations only",
			"INCOMPLETE"}},
		{benchFlags{launched: true, launcher: "mpirun", direct: true}, true,
			[]string{"ranks started by mpirun"}},
		{benchFlags{direct: true, benchfmt: true}, true, []string{"goos: ", "!goroutines"}},
		{benchFlags{direct: true, json: true}, false, []string{`"complete":false`,
			`"reason":"interrupted"`}},
	} {
		path := try.File(t, "out", "")
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		stdout := os.Stdout
		os.Stdout = file
		err = c.flags.print(results, c.complete)
		os.Stdout = stdout
		text, readErr := os.ReadFile(path)
		if err := errors.Join(err, readErr, file.Close()); err != nil {
			t.Fatal(err)
		}
		try.Outcome{Out: string(text)}.Has(t, 0, c.has...)
	}
}

// TestBenchLimits: how much is measured at most, and at least.
func TestBenchLimits(t *testing.T) {
	right := benchFlags{ranks: 1, runs: 1, batch: 2, size: "1MiB", operations: "1"}
	for _, c := range []struct {
		says   string
		change func(f *benchFlags)
	}{
		{"", func(*benchFlags) {}}, {"", func(f *benchFlags) { f.runs, f.batch = 1000, 1<<20 }},
		{"", func(f *benchFlags) { f.size, f.operations = "64TiB", "2^28" }},
		{"--runs must be 1 to 1000, not 1001", func(f *benchFlags) { f.runs = 1001 }},
		{"--runs must be 1 to 1000, not 0", func(f *benchFlags) { f.runs = 0 }},
		{"--batch must be 2 to 1048576, not 1", func(f *benchFlags) { f.batch = 1 }},
		{"--batch must be 2 to 1048576, not 1048577", func(f *benchFlags) { f.batch = 1<<20 + 1 }},
		{"--ops must be 1 to 268435456", func(f *benchFlags) { f.operations = "268435457" }},
		{"--size must be 1.0 MiB to 64", func(f *benchFlags) { f.size = "1048575" }},
		{"--size must be 1.0 MiB to 64", func(f *benchFlags) { f.size = "65TiB" }},
		{"-n must be 1 to ", func(f *benchFlags) { f.ranks = 0 }},
		{"exclude each other", func(f *benchFlags) { f.json, f.benchfmt = true, true }},
	} {
		f := right
		c.change(&f)
		err := f.check()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", f, err, c.says)
		}
	}
	if size, err := (&benchFlags{}).tableSize(); err != nil || size > benchSize ||
		size < minBenchSize {
		t.Errorf("%d bytes by default, %v", size, err)
	}
	if f := right; f.check() != nil || f.cfg.SizeBytes != 1<<20 || f.cfg.Operations != 1 ||
		f.cfg.Batch != 2 || f.cfg.Runs != 1 {
		t.Errorf("%+v", f.cfg)
	}
}
