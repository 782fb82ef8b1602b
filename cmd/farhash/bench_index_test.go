package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBenchIndexUsage(t *testing.T) {
	for _, flags := range []string{
		"x", "--none", "-n 0", "-n 1,1", "-n=", "-n 100000", "--impl quick", "--impl=",
		"--impl linear/fixed,linear/fixed", "--impl ordered/direct --direct=false", "--load 0",
		"--load 1", "--load=", "--load 0.5,0.5", "--batch 0", "--batch=", "--batch 8,8",
		"--records 1", "--records many", "--lookups 0", "--lookups=", "--key-bytes 3",
		"--key-bytes 0", "--key-bytes 65", "--value-bytes 0", "--value-bytes 3",
		"--value-bytes 5000", "--runs 0", "--runs 1001", "--json --benchfmt", "--plot x.pdf",
		"--plot no/such/folder/x.svg", "--table1 --table3", "--table1 -n 2", "--table3 --load 0.5",
		"--skew -n 2",
		"--table4 --impl linear/fixed", "--table1 --key-bytes 8", "--table1 --direct=false",
		"--table1 --records 10Gi",
	} {
		args := append([]string{"bench", "index"}, strings.Fields(flags)...)
		if code := runArgs(args...); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, exitUsage)
		}
	}
}

// TestBenchIndex measures a little.
func TestBenchIndex(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "x.svg")
	args := []string{"bench", "index", "--records", "1Ki", "--lookups", "100", "--batch", "1,16",
		"--runs", "1"}
	text := execute(t, append(args, "--plot", plot)...)
	for _, want := range []string{"ordered/direct", "cuckoo/sequential", "build",
		"1Ki records with keys of 4"} {
		if !strings.Contains(text.stdout.String(), want) {
			t.Errorf("exit code %d, %q is not in\n%s", text.code(), want, &text.stdout)
		}
	}
	if lines := strings.Count(text.stderr.String(), "\n"); lines != 2*(3+2*11) ||
		!strings.HasPrefix(text.stderr.String(), "ordered, load 0.8, ranks 1, building: ") {
		t.Errorf("progress:\n%s", &text.stderr)
	}
	if drawn, err := os.ReadFile(plot); err != nil || !strings.Contains(string(drawn), "<svg") {
		t.Errorf("the plot: %v", err)
	}
	quiet := execute(t, append(args, "-n", "3", "--json", "-q", "--direct=false", "--impl",
		"linear/model,ordered/guided")...)
	if results := object(t, quiet)["results"].([]any); len(results) != 2+2*2 ||
		quiet.stderr.Len() > 0 {
		t.Errorf("%d results, want 6; said %q", len(results), &quiet.stderr)
	}
}

// TestBenchIndexTables counts a little of each table of LP.
func TestBenchIndexTables(t *testing.T) {
	for table, rows := range map[string]int{"table1": 42, "table3": 30, "table4": 15,
		"skew": 20} {
		args := []string{"bench", "index", "--" + table, "--records", "1000", "--lookups", "100"}
		c := execute(t, append(args, "--json")...)
		o := object(t, c)
		counts := o["counts"].([]any)
		first := counts[0].(map[string]any)
		if o["table"] != table || len(counts) != rows || first["runs"] != 3.0 ||
			first["lookups"] != 300.0 || strings.Count(c.stderr.String(), "\n") != 3*rows {
			t.Errorf("%s: %d counts, the first is %v; said %s", table, len(counts), first,
				&c.stderr)
		}
	}
}

// TestBenchIndexLaunched: processes that a launcher has started are the ranks.
func TestBenchIndexLaunched(t *testing.T) {
	c := execute(t, "run", "-n", "3", "--", os.Args[0], "bench", "index", "-n", "2", "--records",
		"1000", "--lookups", "100", "--runs", "2", "--impl", "ordered/guided", "--benchfmt")
	if n := strings.Count(c.stdout.String(), "/ranks=3-"); c.code() != 0 || n != 2*3 {
		t.Errorf("exit code %d, %d samples of 3 ranks: %s%s", c.code(), n, &c.stdout, &c.stderr)
	}
	if !strings.Contains(c.stderr.String(), "-n is ignored") {
		t.Errorf("nothing is said of -n: %s", &c.stderr)
	}
	c = execute(t, "run", "-n", "2", "--", os.Args[0], "bench", "index", "--table4", "--records",
		"1000", "--lookups", "100", "--runs", "2", "--json", "-q")
	first := object(t, c)["counts"].([]any)[0].(map[string]any)
	if first["lookups"] != 400.0 || first["runs"] != 2.0 {
		t.Errorf("%v", first)
	}
}
