package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
		"--plot no/such/folder/x.svg", "--table 1 --figure 7", "--table 1 -n 2",
		"--table 3 --load 0.5",
		"--figure 7 -n 2", "--all --table 1", "--all --batch 1", "--table 0", "--table 5",
		"--figure 5", "--figure 14", "--table 4 --impl linear/fixed", "--table 1 --key-bytes 8",
		"--table 1 --direct=false", "--table 1 --records 10Gi", "--figure 7 --lookups 10Gi",
		"--table 1,2",
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
	for table, rows := range map[string]int{"1": 42, "3": 30, "4": 15} {
		args := []string{"bench", "index", "--table", table, "--records", "1000", "--lookups",
			"100"}
		c := execute(t, append(args, "--json")...)
		o := object(t, c)
		counts := o["counts"].([]any)
		first := counts[0].(map[string]any)
		if o["table"] != "table"+table || len(counts) != rows || first["runs"] != 3.0 ||
			first["lookups"] != 300.0 || strings.Count(c.stderr.String(), "\n") != 3*rows {
			t.Errorf("%s: %d counts, the first is %v; said %s", table, len(counts), first,
				&c.stderr)
		}
	}
}

// TestBenchIndexTrial does a little of LP Table 2, and all of Fig. 13.
func TestBenchIndexTrial(t *testing.T) {
	c := execute(t, "bench", "index", "--table", "2", "--records", "1000", "--lookups", "100",
		"--runs", "2", "--json")
	o := object(t, c)
	rates := o["rates"].([]any)
	first := rates[0].(map[string]any)
	if o["trial"] != "table2" || len(rates) != 9 ||
		first["here"].(map[string]any)["runs"] != 2.0 ||
		first["paper"].(map[string]any)["mops"] != 50.8 ||
		strings.Count(c.stderr.String(), "simulated ") != 9 ||
		strings.Count(c.stderr.String(), "here ") != 18 {
		t.Errorf("%d rates, the first is %v; said %s", len(rates), first, &c.stderr)
	}
	plot := filepath.Join(t.TempDir(), "x.png")
	text := execute(t, "bench", "index", "--figure", "13", "--plot", plot)
	if text.code() != 0 || strings.Count(text.stdout.String(), "LP Fig. 13") != 1 {
		t.Errorf("exit code %d:\n%s", text.code(), &text.stdout)
	}
	if _, err := os.Stat(plot); err != nil {
		t.Error(err)
	}
}

// TestBenchIndexAll: --all has every experiment once, each with a plot of its own.
func TestBenchIndexAll(t *testing.T) {
	asked := map[string]bool{}
	for table := 1; table <= 4; table++ {
		asked[(&indexPaper{table: table}).names()[0]] = true
	}
	for figure := 6; figure <= 13; figure++ {
		asked[(&indexPaper{figure: figure}).names()[0]] = true
	}
	all := (&indexPaper{all: true}).names()
	if len(all) != len(asked) {
		t.Errorf("%v, want %v", all, asked)
	}
	var f indexFlags
	f.paper.all, f.plot = true, filepath.Join(t.TempDir(), "x.svg")
	if _, _, err := f.experiments(); err != nil {
		t.Fatal(err)
	}
	is := f.paper.done
	kinds := map[string]bool{}
	for i, name := range is.names {
		if !asked[name] {
			t.Errorf("%s cannot be asked for", name)
		}
		kinds[fmt.Sprintf("%T", is.reports[i]())] = true
	}
	if len(kinds) != 3 {
		t.Errorf("reports are %v", kinds)
	}
	// Of the figure that is computed there is a report without a run.
	is.names, is.reports = []string{"figure13", "again"}, []func() benchReport{
		is.reports[len(all)-1], is.reports[len(all)-1]}
	var text, object bytes.Buffer
	if err := errors.Join(is.report().WriteText(&text), is.WriteJSON(&object),
		is.WriteBenchfmt(&text), f.paper.draw()); err != nil {
		t.Fatal(err)
	}
	var o map[string]struct{ Hints []any }
	if err := json.Unmarshal(object.Bytes(), &o); err != nil || len(o["again"].Hints) != 2 ||
		strings.Count(text.String(), "LP Fig. 13") != 2 {
		t.Errorf("%v: %s\n%s", err, &object, &text)
	}
	for _, name := range is.names {
		path := strings.TrimSuffix(f.paper.plot, ".svg") + "-" + name + ".svg"
		if drawn, err := os.ReadFile(path); err != nil || !strings.Contains(string(drawn), "<svg") {
			t.Errorf("%s: %v", path, err)
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
	c = execute(t, "run", "-n", "2", "--", os.Args[0], "bench", "index", "--table", "4",
		"--records", "1000", "--lookups", "100", "--runs", "2", "--json", "-q")
	first := object(t, c)["counts"].([]any)[0].(map[string]any)
	if first["lookups"] != 400.0 || first["runs"] != 2.0 {
		t.Errorf("%v", first)
	}
}
