package main

import (
	"bytes"
	"image"
	_ "image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBenchCacheUsage(t *testing.T) {
	for _, flags := range []string{
		"x", "--none", "-n 0", "-n 1,1", "-n=", "-n 100000", "--mode quick", "--mode=",
		"--mode fine,fine", "--keys odd", "--keys=", "--workload fill", "--workload=", "--batch 0",
		"--batch=", "--batch 8,8", "--ops 0", "--ops many", "--buckets 0", "--buckets 1GiB",
		"--key-space 0", "--key-bytes 0", "--key-bytes 7", "--value-bytes -1", "--value-bytes 7",
		"--value-bytes 200000", "--runs 0", "--runs 1001", "--json --benchfmt", "--plot x.pdf",
		"--plot no/such/folder/x.svg",
	} {
		args := append([]string{"bench", "cache"}, strings.Fields(flags)...)
		if code := runArgs(args...); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, exitUsage)
		}
	}
}

// TestBenchCache measures a little in all forms of output.
func TestBenchCache(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "x.png")
	args := []string{"bench", "cache", "--ops", "200", "--buckets", "4Ki", "--key-space", "100",
		"-n", "1,2", "--runs", "1", "--batch", "1,16", "--key-bytes", "16", "--plot", plot}
	text := execute(t, args...)
	for _, want := range []string{"lock-free", "coarse", "/ fine", "100.00%",
		"100 keys of 16 bytes, values of 104 bytes"} {
		if !strings.Contains(text.stdout.String(), want) {
			t.Errorf("exit code %d, %q is not in\n%s", text.code(), want, &text.stdout)
		}
	}
	if lines := strings.Count(text.stderr.String(), "\n"); lines != 2*3*2*2*3 ||
		!strings.HasPrefix(text.stderr.String(),
			"lock-free, uniform keys, write, one at a time, ranks 1: ") {
		t.Errorf("progress:\n%s", &text.stderr)
	}
	drawn, err := os.ReadFile(plot)
	if err != nil {
		t.Fatal(err)
	}
	if _, format, err := image.Decode(bytes.NewReader(drawn)); err != nil || format != "png" {
		t.Errorf("the plot is %s, %v", format, err)
	}
	quiet := execute(t, append(args, "--json", "-q", "--direct=false", "--mode", "fine",
		"--workload", "mixed")...)
	results := object(t, quiet)["results"].([]any)
	if len(results) != 8 || quiet.stderr.Len() > 0 {
		t.Errorf("%d results, want 8; said %q", len(results), &quiet.stderr)
	}
	for _, r := range results {
		is := r.(map[string]any)
		if is["reads"] != is["ranks"].(float64)*190 || is["wrong"] != 0.0 ||
			is["ratioToFine"] != 1.0 || is["ratioToCoarse"] != nil {
			t.Errorf("%v", is)
		}
	}
	if lines := execute(t, append(args, "--benchfmt", "-q")...); lines.code() != 0 ||
		strings.Count(lines.stdout.String(), "\nBenchmarkCache/mode=") != 72 {
		t.Errorf("exit code %d: %s", lines.code(), &lines.stdout)
	}
}

// TestBenchCacheLaunched: processes that a launcher has started are the ranks.
func TestBenchCacheLaunched(t *testing.T) {
	c := execute(t, "run", "-n", "3", "--", os.Args[0], "bench", "cache", "-n", "2", "--ops", "100",
		"--buckets", "1Ki", "--runs", "2", "--workload", "read", "--benchfmt")
	if n := strings.Count(c.stdout.String(), "/ranks=3-"); c.code() != 0 || n != 2*2*2*3 {
		t.Errorf("exit code %d, %d samples of 3 ranks: %s%s", c.code(), n, &c.stdout, &c.stderr)
	}
	if !strings.Contains(c.stderr.String(), "-n is ignored") {
		t.Errorf("nothing is said of -n: %s", &c.stderr)
	}
}
