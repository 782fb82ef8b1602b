package main

import (
	"bytes"
	"image"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestBenchKVUsage(t *testing.T) {
	for _, flags := range []string{
		"x", "--none", "-n 0", "-n 1,1", "-n=", "-n 100000", "--workload e", "--workload=",
		"--workload a,a", "--batch 0", "--batch=", "--batch 8,8", "--ops 0", "--ops many",
		"--records 0", "--records 1GiB", "--key-bytes 0", "--key-bytes 7", "--value-bytes -1",
		"--value-bytes 7", "--value-bytes 70000", "--runs 0", "--runs 1001", "--json --benchfmt",
		"--plot x.pdf", "--plot no/such/folder/x.svg", "--slots 4Ki", "--table1 -n 2",
		"--table1 --workload a", "--table1 --batch 1", "--table1 --records 5", "--table1 --ops 5",
		"--table1 --key-bytes 8", "--table1 --value-bytes 8", "--table1 --direct=false",
		"--table1 --slots 8", "--redis=", "--redis localhost", "--redis unix:",
		"--redis :1", "--table1 --redis start",
		"--impl=", "--impl redis", "--impl x", "--table1 --slots none",
	} {
		args := append([]string{"bench", "kv"}, strings.Fields(flags)...)
		if code := runArgs(args...); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, exitUsage)
		}
	}
}

// TestBenchKVTable1 counts a little in all forms of output.
func TestBenchKVTable1(t *testing.T) {
	args := []string{"bench", "kv", "--table1", "--slots", "1Ki", "--runs", "2"}
	text := execute(t, args...)
	for _, want := range []string{"8+8 bytes, slots with copies", "put, new", "13.3",
		"note: 8+8 bytes, slots with copies, load 0.75: get 1.0"} {
		if !strings.Contains(text.stdout.String(), want) {
			t.Errorf("exit code %d, %q is not in\n%s", text.code(), want, &text.stdout)
		}
	}
	if lines := strings.Count(text.stderr.String(), "\n"); lines != 2*3*5 {
		t.Errorf("progress:\n%s", &text.stderr)
	}
	counts := object(t, execute(t, append(args, "--json", "-q")...))["table1"].([]any)
	if first := counts[0].(map[string]any); len(counts) != 15 || first["rounds"] != 2.0 ||
		first["paperPutNew"] != 2.5 {
		t.Errorf("%d counts, %v", len(counts), first)
	}
	lines := execute(t, append(args, "--benchfmt", "-q")...)
	if strings.Count(lines.stdout.String(), "\nBenchmarkKVCount/key=8") != 2*15 {
		t.Errorf("%s", &lines.stdout)
	}
}

// TestBenchKV measures a little in all forms of output.
func TestBenchKV(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "x.png")
	args := []string{"bench", "kv", "--ops", "200", "--records", "300", "-n", "1,2", "--runs", "1",
		"--batch", "1,16", "--plot", plot}
	text := execute(t, args...)
	for _, want := range []string{"read p50", "300 records, keys of 8 bytes, values of 100 bytes"} {
		if !strings.Contains(text.stdout.String(), want) {
			t.Errorf("exit code %d, %q is not in\n%s", text.code(), want, &text.stdout)
		}
	}
	if lines := strings.Count(text.stderr.String(), "\n"); lines != 6*2*2 ||
		!strings.HasPrefix(text.stderr.String(), "workload load, kv, batch 1, ranks 1: ") {
		t.Errorf("progress:\n%s", &text.stderr)
	}
	drawn, err := os.ReadFile(plot)
	if err != nil {
		t.Fatal(err)
	}
	if _, format, err := image.Decode(bytes.NewReader(drawn)); err != nil || format != "png" {
		t.Errorf("the plot is %s, %v", format, err)
	}
	quiet := execute(t, append(args, "--json", "-q", "--direct=false", "--workload", "c,b")...)
	results := object(t, quiet)["results"].([]any)
	if len(results) != 8 || quiet.stderr.Len() > 0 {
		t.Errorf("%d results, want 8; said %q", len(results), &quiet.stderr)
	}
	for _, r := range results {
		is := r.(map[string]any)
		readOnly := is["workload"] == "c"
		if is["wrong"] != 0.0 || is["reads"] == nil || (is["writes"] == nil) != readOnly {
			t.Errorf("%v", is)
		}
	}
	if lines := execute(t, append(args, "--benchfmt", "-q")...); lines.code() != 0 ||
		strings.Count(lines.stdout.String(), "\nBenchmarkKV/impl=kv/workload=") != 24 {
		t.Errorf("exit code %d: %s", lines.code(), &lines.stdout)
	}
}

// TestBenchKVLaunched: processes that a launcher has started are the ranks.
func TestBenchKVLaunched(t *testing.T) {
	c := execute(t, "run", "-n", "3", "--", os.Args[0], "bench", "kv", "-n", "2", "--ops", "100",
		"--records", "200", "--runs", "2", "--workload", "a,d", "--benchfmt")
	if n := strings.Count(c.stdout.String(), "/ranks=3-"); c.code() != 0 || n != 2*2*2 {
		t.Errorf("exit code %d, %d samples of 3 ranks: %s%s", c.code(), n, &c.stdout, &c.stderr)
	}
	if !strings.Contains(c.stderr.String(), "-n is ignored") {
		t.Errorf("nothing is said of -n: %s", &c.stderr)
	}
	c = execute(t, "run", "-n", "2", "--", os.Args[0], "bench", "kv", "--table1", "--slots", "2Ki",
		"--runs", "1", "--benchfmt", "-q")
	if n := strings.Count(c.stdout.String(), "BenchmarkKVCount"); c.code() != 0 || n != 15 {
		t.Errorf("exit code %d, %d counts: %s%s", c.code(), n, &c.stdout, &c.stderr)
	}
}

// TestBenchKVRedis measures a server beside the map, inside this process and from several.
func TestBenchKVRedis(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no Redis: ", err)
	}
	args := []string{"bench", "kv", "--redis", "start", "--ops", "200", "--records", "300",
		"--runs", "1", "--workload", "b,f"}
	text := execute(t, append(args, "-n", "1", "--plot", filepath.Join(t.TempDir(), "x.svg"))...)
	for _, want := range []string{"/ Redis", "  redis  ", "clients of one server"} {
		if text.code() != 0 || !strings.Contains(text.stdout.String(), want) {
			t.Errorf("exit code %d, %q is not in\n%s%s", text.code(), want, &text.stdout,
				&text.stderr)
		}
	}
	c := execute(t, append([]string{"run", "-n", "2", "--", os.Args[0]},
		append(args, "--json", "-q")...)...)
	results := object(t, c)["results"].([]any)
	if c.code() != 0 || len(results) != 2*2*2 {
		t.Errorf("exit code %d, %d results: %s", c.code(), len(results), &c.stderr)
	}
	for _, r := range results {
		is := r.(map[string]any)
		if is["wrong"] != 0.0 || (is["ratioToRedis"] == nil) != (is["impl"] == "redis") {
			t.Errorf("%v", is)
		}
	}
	c = execute(t, append(args, "--redis", "unix:/none")...)
	if c.code() != 1 || !strings.Contains(c.stderr.String(), "no Redis answers") {
		t.Errorf("exit code %d: %s", c.code(), &c.stderr)
	}
}
