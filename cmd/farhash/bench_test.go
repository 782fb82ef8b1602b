package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// runArgs runs the command line and returns the exit code.
func runArgs(args ...string) int {
	root := newRoot()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	return report(cmd, err)
}

func TestBenchUsage(t *testing.T) {
	for _, flags := range []string{"x", "--none", "-n 0", "-n 70000", "--runs 0", "--batch 1",
		"--size 1KiB", "--size much", "--ops 0", "--ops 1GB", "--ops 2^40", "--json --benchfmt"} {
		args := append([]string{"bench"}, strings.Fields(flags)...)
		if code := runArgs(args...); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, exitUsage)
		}
	}
}

// All four tables are measured, in any form and on any ranks.
func TestBench(t *testing.T) {
	tiny := strings.Fields("bench -q --size 1MiB --ops 200 --runs 1 --batch 16")
	with := func(flag string) []string { return append(tiny[:len(tiny):len(tiny)], flag) }
	for _, args := range [][]string{tiny, with("--direct=false"), launched(t, "2", tiny...)} {
		c := execute(t, args...)
		for _, table := range []string{"set", "index", "cache", "kv"} {
			if c.code() != 0 || !strings.Contains(c.stdout.String(), "\n"+table+" ") {
				t.Errorf("%q: exit code %d, no %s:\n%s%s", args, c.code(), table, &c.stdout,
					&c.stderr)
			}
		}
	}
	c := execute(t, with("--json")...)
	var r struct{ Results []map[string]any }
	if err := json.Unmarshal(c.stdout.Bytes(), &r); err != nil || len(r.Results) != 16 {
		t.Errorf("%d results: %v", len(r.Results), err)
	}
	c = execute(t, with("--benchfmt")...)
	if n := strings.Count(c.stdout.String(), "\nBenchmarkFarhash/table="); n != 16 {
		t.Errorf("%d lines for benchstat:\n%s", n, &c.stdout)
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
