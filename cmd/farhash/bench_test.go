package main

import "testing"

// runArgs runs the command line and returns the exit code.
func runArgs(args ...string) int {
	root := newRoot()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	return report(cmd, err)
}

func TestBenchUsage(t *testing.T) {
	for _, given := range [][]string{
		{"bench"}, {"bench", "map"}, {"bench", "set", "x"}, {"bench", "set", "--none"},
		{"bench", "set", "-n", "0"}, {"bench", "set", "-n", "1,1"}, {"bench", "set", "--runs", "0"},
		{"bench", "set", "--impl", "quick"}, {"bench", "set", "--workload", "none"},
		{"bench", "set", "--keys", "even"}, {"bench", "set", "--buckets", "many"},
		{"bench", "set", "--buckets", "1GiB"}, {"bench", "set", "--from", "0.6"},
		{"bench", "set", "--to", "2"}, {"bench", "set", "--chunk", "3"},
		{"bench", "set", "--batch", "0"}, {"bench", "set", "--plot", "x.pdf"},
		{"bench", "set", "--plot", "no/such/folder/x.svg"},
		{"bench", "set", "--json", "--benchfmt"},
		{"bench", "set", "--impl", ""}, {"bench", "set", "--workload", ""},
		{"bench", "set", "--element-bytes", "7"}, {"bench", "set", "--element-bytes", "4097"},
		{"bench", "set", "--element-bytes", "16", "--impl", "cas-loop"},
		{"bench", "set", "--table1", "--element-bytes", "16"},
		{"bench", "set", "--table1", "--to", "0.9"}, {"bench", "set", "--table1", "--buckets", "8"},
	} {
		if code := runArgs(given...); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", given, code, exitUsage)
		}
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]uint64{
		"128Mi": 1 << 27, "2^27": 1 << 27, "1000000": 1000000, "4k": 4000, "16Ki": 1 << 14,
		"": 0, "-1": 0, "0": 0, "2^": 0, "2^64": 0, "1MiB": 0, "x": 0,
	} {
		got, err := parseCount("--buckets", text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseCount(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}
