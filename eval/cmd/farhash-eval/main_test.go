package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/shared"
)

// TestMain is also what processes of the command shared run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == shared.WorkerName {
		main()
		return
	}
	os.Exit(m.Run())
}

// tiny are the flags with which an experiment takes little time.
var tiny = map[string]string{
	"op table1": "--buckets 4Ki --runs 2",
	"op set": "--buckets 4Ki --peer-elements 1Ki -n 1,2 " +
		"--workload fill,mixed,read,write,find",
	"op simulate":         "--hosts 2,3 --procs 1,2 --ops 200",
	"op simulated-table1": "--buckets 16Ki --latencies 100 --ops 20",
	"op schemes":          "--buckets 4Ki --loads 0.5,0.95 --runs 2",
	"lp table1":           "--records 200 --lookups 28 --runs 1",
	"lp table2":           "--records 200 --lookups 28 --runs 2",
	"lp table3":           "--records 200 --lookups 28 --runs 1",
	"lp hybrid":           "--records 200 --lookups 28 --runs 1",
	"lp two-sided":        "--load 0.5 --each 20",
	"lp reads":            "--records 200 --lookups 28 --runs 1",
	"lp figure6":          "--records 200 --lookups 28 --runs 1",
	"lp figure9":          "--records 200 --lookups 56 --runs 1",
	"lp figure10":         "--records 200 --lookups 28 --runs 1",
	"lp figure12":         "--records 200 --lookups 28 --runs 1",
	"lp figure13":         "",
	"net scale":           "--sizes 8,32",
	"lp gather":           "--load 0.5 --each 20",
	"net loss":            "--batches 2 --batch 20",
	"net reads":           "--records 4Ki --piece 1ms --runs 1",
	"lp cost":             "--load 0.5",
	"lp index":            "--records 1000 --lookups 100 --batch 1,16 --runs 1",
	"lp maps":             "--records 1000 --lookups 100 --turns 2",
	"md cache": "--buckets 1Ki --key-space 500 --ops 400 --batch 1,16 -n 1,2 " +
		"--value-bytes 8,99 --mode lock-free,fine,coarse,md-lock-free,md-fine,md-coarse",
	"md simulate": "--hosts 1,2 --procs 4 --buckets 67 --key-space 500 --us 400 --waiting-us 800 " +
		"--mode md-lock-free,md-fine,md-coarse,lock-free,fine,coarse --seeds 2",
	"md poet": "--hosts 1,2 --procs 4 --buckets 301 --key-space 500 --cells 20 " +
		"--waiting-cells 30 --seeds 2 --same-% 30 " +
		"--mode md-lock-free,md-fine,md-coarse,lock-free,fine,coarse",
	"ne table1":   "--slots 1Ki",
	"ne simulate": "--hosts 2 --slots 4Ki",
	"ne faults":   "--hosts 4 --seeds 2 --killed 0,2 --load 0.25",
	"ne ycsb":     "--records 500 --ops 300 --batch 1,16 -n 1,2 --impl kv,nessie",
	"ne grow":     "--records 500,3000 --runs 1",
	"ne xsync":    "--records 500 --ops 300 --goroutines 1,2 --runs 1",
}

// run is what the command prints, and its error.
func run(args ...string) (string, error) {
	root := newRoot()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}

// Every experiment runs, and what it measures can be read again, shown and drawn.
func TestExperiments(t *testing.T) {
	for _, p := range papers() {
		for _, e := range p.experiments {
			name := p.name + " " + e.Name
			if e.Hosts {
				continue // it needs more than this process
			}
			t.Run(strings.ReplaceAll(name, " ", "/"), func(t *testing.T) {
				flags, known := tiny[name]
				if !known {
					t.Fatal("say in tiny how it is run in little time")
				}
				args := append(strings.Fields(name), strings.Fields(flags)...)
				checkForms(t, append(args, "-q", "--benchfmt"))
			})
		}
	}
}

// Elements, of one length and of any, are measured beside the same peers as words.
func TestElements(t *testing.T) {
	const flags = "op set --impl scalar,xsync,gomap,limit --workload fill,find --buckets 4Ki -q " +
		"--runs 1 --benchfmt --element-bytes 40"
	t.Run("length", func(t *testing.T) { checkForms(t, strings.Fields(flags)) })
	t.Run("strings", func(t *testing.T) { checkForms(t, strings.Fields(flags+" --strings")) })
}

// The programs that remove repeated lines agree; what is not installed is shown as such.
func TestDedup(t *testing.T) {
	farhash := filepath.Join(t.TempDir(), "farhash")
	build := exec.Command("go", "build", "-o", farhash, "github.com/farhash/farhash/cmd/farhash")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := []string{"dedup", "--farhash", farhash, "--size", "20000", "--bytes", "12,200"}
	checkForms(t, append(args, "-q", "--benchfmt"))
	t.Setenv("PATH", t.TempDir())
	out, err := run(append(args, "-q", "--program", "farhash dedup,sort -u")...)
	if err != nil || strings.Count(out, "sort -u (not installed)") != 6 {
		t.Errorf("%v\n%s", err, out)
	}
}

// A program that answers otherwise than farhash has failed, and so has the experiment where farhash
// answers otherwise than the first program.
func TestDedupDisagrees(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{"farhash": "head -n 9 \"$3\"",
		"sort": "head -n 8 \"$2\""} {
		text := "#!/bin/sh\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	args := []string{"dedup", "-q", "--farhash", filepath.Join(dir, "farhash"), "--size", "20000",
		"--bytes", "12", "--repeats", "10", "--program"}
	if out, err := run(append(args, "farhash dedup,sort -u")...); err != nil ||
		!strings.Contains(out, "sort -u (failed)") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := run(append(args, "sort -u,farhash dedup")...); err == nil ||
		!strings.Contains(err.Error(), "farhash dedup has written 9 other lines than the 8") {
		t.Error(err)
	}
}

// Processes share each store that is there; what is not installed is left out.
func TestShared(t *testing.T) {
	args := []string{"shared", "-n", "1,2", "--records", "1000", "--seconds", "0.01", "--runs", "1",
		"--folder", t.TempDir(), "--disk", t.TempDir()}
	checkForms(t, append(args, "-q", "--benchfmt"))
	t.Setenv("PATH", t.TempDir())
	out, err := run(append(args, "-q", "--store", "farhash,redis,memcached,bbolt")...)
	if err != nil || strings.Contains(out, "edis") || !strings.Contains(out, "bbolt") {
		t.Errorf("%v\n%s", err, out)
	}
}

func checkForms(t *testing.T, args []string) {
	t.Helper()
	lines, err := run(args...)
	if err != nil || !strings.Contains(lines, "\nBenchmark") {
		t.Fatalf("%v\n%s", err, lines)
	}
	dir := t.TempDir()
	saved, plot := filepath.Join(dir, "saved"), filepath.Join(dir, "plot.svg")
	if err := os.WriteFile(saved, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := run("show", saved, "--plot", plot)
	if err != nil || strings.Contains(text, "NaN") || len(text) < 100 {
		t.Errorf("%v\n%s", err, text)
	}
	if drawn, err := os.ReadFile(plot); err != nil || !bytes.Contains(drawn, []byte("<svg")) {
		t.Errorf("the plot: %v, %d bytes", err, len(drawn))
	}
	object, err := run("show", saved, "--json")
	var cases struct{ Cases []map[string]any }
	if err == nil {
		err = json.Unmarshal([]byte(object), &cases)
	}
	if err != nil || len(cases.Cases) == 0 {
		t.Errorf("%d cases: %v", len(cases.Cases), err)
	}
}

// What farhash bench prints can be shown.
func TestShowBench(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.txt")
	lines := "cpu: x\nBenchmarkFarhash/table=set/op=get/batch=1/ranks=2-2 8 2 ns/op 5 Mop/s " +
		"0.1 of-limit\n"
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := run("show", path); err != nil || !strings.Contains(text, "5.000") {
		t.Errorf("%v\n%s", err, text)
	}
}

// The tables of a page are written from the output beside it.
func TestPage(t *testing.T) {
	docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
	if err != nil {
		t.Fatal(err)
	}
	right, err := os.ReadFile(filepath.Join(docs, "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "papers.md")
	wrong := bytes.Replace(right, []byte("| 1.036 | 1.0 |"), []byte("| 1.0 | 1.036 |"), 1)
	if bytes.Equal(wrong, right) {
		t.Fatal("the page has another table")
	}
	err = errors.Join(os.WriteFile(path, wrong, 0o600),
		os.Symlink(filepath.Join(docs, "figures"), filepath.Join(dir, "figures")))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run("page", path); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, right) {
		t.Errorf("the page is not as it was, error %v", err)
	}
}

// What makes no sense is wrong usage, and nothing is measured.
func TestUsage(t *testing.T) {
	for _, args := range []string{
		"op table1 x", "op table1 --runs 0", "op table1 --keys none", "op table1 --buckets 1",
		"op set -n 0", "op set -n 1,1", "op set --impl x", "op set --impl batch,batch",
		"op set --from 1", "op set --buckets 1GB", "op set --chunk 9", "op set --json --benchfmt",
		"op set --plot x.pdf", "op simulate --preset x", "op simulate --gbps 0",
		"op simulate --latency-ns NaN", "op schemes --buckets 1000", "op schemes --loads 1",
		"op schemes --scheme x", "md cache --mode x", "md cache --key-bytes 1",
		"lp table4 --records 63", "lp figure8 --lookups 0", "lp figure13 --runs 3",
		"lp cost --load 1", "lp index --impl cuckoo-direct --direct=false", "lp all --load 0.5",
		"all x", "md cache --batch 0", "md cache --value-bytes 7", "md cache --redis x",
		"md poet --hits-% 101", "md poet --same-% NaN", "md poet --procs 1",
		"ne table1 --slots 1", "ne ycsb --impl redis",
		"ne ycsb --redis nowhere", "ne ycsb --nessie-load 0.6",
		"net hosts --new 2", "net scale --sizes 1", "net loss --lose 1", "show",
		"shared -n 0", "shared --batch 0", "shared --store x", "shared --seconds 0",
		"dedup --bytes 7", "dedup --repeats 100", "dedup --size 0", "dedup --program x",
	} {
		if out, err := run(strings.Fields(args)...); !errors.Is(err, experiment.ErrUsage) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
	for _, args := range []string{"x", "op x"} {
		if _, err := run(strings.Fields(args)...); !errors.Is(err, experiment.ErrUsage) ||
			!strings.Contains(err.Error(), `unknown command "x" for "farhash-eval`) {
			t.Errorf("%s: %v", args, err)
		}
	}
	if _, err := run("show", filepath.Join(t.TempDir(), "none")); err == nil ||
		errors.Is(err, experiment.ErrUsage) {
		t.Errorf("a file that is not there: error %v", err)
	}
}
