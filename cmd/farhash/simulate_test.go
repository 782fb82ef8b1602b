package main

import (
	"bytes"
	"image"
	_ "image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestSimulateUsage(t *testing.T) {
	for _, flags := range []string{
		"", "set x", "set --none", "set --hosts 0", "set --hosts 2,2", "set --procs 3,3",
		"set --hosts 65537", "set --hosts 10000 --procs 16", "set --hosts x", "set --procs=",
		"set --hosts=", "set --preset ethernet", "set --workload quick", "set --workload find",
		"set --load 0.99", "set --load -1", "set --chunk 12", "set --chunk -8", "set --chunks -1",
		"set --batch 0", "set --batch x", "set --ops 0", "set --ops -1", "set --seed -1",
		"set --latency-ns -1", "set --latency-ns NaN", "set --gbps 0", "set --mops -1",
		"set --mops 1e-308",
		"set --doubling-ns -1", "set --sharing-ns -1", "set --word-ns -1", "set --plot x.pdf",
		"set --plot no/such/folder/x.svg", "set --table1 --hosts 2", "set --table1 --load 0.5",
		"set --table1 --ops 7",
	} {
		args := append([]string{"simulate"}, strings.Fields(flags)...)
		if code := runArgs(args...); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, exitUsage)
		}
	}
}

// TestSimulateSet looks at the output in all forms, which is the same each time.
func TestSimulateSet(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "x.png")
	args := []string{"simulate", "set", "--hosts", "2,32", "--procs", "1,2", "--ops", "30",
		"--seed", "3", "--plot", plot}
	text, again := execute(t, args...), execute(t, args...)
	if text.code() != 0 || text.stdout.String() != again.stdout.String() {
		t.Errorf("exit code %d, %s\n%s", text.code(), &text.stdout, &again.stdout)
	}
	for _, want := range []string{"hosts", "8.51", "%*", "mixed, load 0, C=32, M=512", "seed 3"} {
		if !strings.Contains(text.stdout.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text.stdout)
		}
	}
	if lines := strings.Count(text.stderr.String(), "\n"); lines != 4 ||
		!strings.HasPrefix(text.stderr.String(), "2 hosts with 1 rank each: ") {
		t.Errorf("progress:\n%s", &text.stderr)
	}
	drawn, err := os.ReadFile(plot)
	if err != nil {
		t.Fatal(err)
	}
	if _, format, err := image.Decode(bytes.NewReader(drawn)); err != nil || format != "png" {
		t.Errorf("the plot is %s, %v", format, err)
	}
	quiet := execute(t, append(args, "--json", "-q")...)
	o := object(t, quiet)
	rates := o["throughput"].([]any)
	if quiet.stderr.Len() > 0 || len(rates) != 4 || o["seed"] != 3.0 || o["latency"] != nil {
		t.Errorf("%v, %s", o, &quiet.stderr)
	}
	last := rates[3].(map[string]any)
	if last["hosts"] != 32.0 || last["procs"] != 2.0 || last["paperMops"] != 16.09 ||
		last["mops"].(float64) < 10 || last["operations"] != 1920.0 || last["fitted"] != false {
		t.Errorf("%v", last)
	}
}

// TestSimulateOverrides: each flag that changes the preset gets to the cluster.
func TestSimulateOverrides(t *testing.T) {
	c := execute(t, "simulate", "set", "--preset", "edr", "--latency-ns", "5", "--gbps", "80",
		"--mops", "3", "--doubling-ns", "7", "--sharing-ns", "8", "--word-ns", "9", "--hosts", "2",
		"--procs", "1", "--ops", "5", "--json", "-q", "--workload", "find", "--load", "0.25",
		"--chunk", "16", "--chunks", "99", "--batch", "4")
	o := object(t, c)
	cluster := o["cluster"].(map[string]any)
	for key, want := range map[string]float64{"latencyNs": 5, "bytesPerNs": 10,
		"messagesPerSecond": 3e6, "doublingNs": 7, "sharingNs": 8, "wordNs": 9, "headerBytes": 30} {
		if cluster[key] != want {
			t.Errorf("%s is %v, want %v", key, cluster[key], want)
		}
	}
	for key, want := range map[string]any{"workload": "find", "load": 0.25, "chunk": 16.0,
		"chunks": 99.0, "batch": 4.0} {
		if o[key] != want {
			t.Errorf("%s is %v, want %v", key, o[key], want)
		}
	}
}

// TestSimulateInterrupted: what was simulated before is printed.
func TestSimulateInterrupted(t *testing.T) {
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		c := startUntil(t, "2 hosts with 4 ranks each: ", "simulate", "set", "--hosts", "2,1000",
			"--procs", "4", "--ops", "2000", "--workload", "find", "--load", "0.3", "--json")
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		c.finish()
		o := object(t, c)
		if rates := o["throughput"].([]any); c.code() != code || len(rates) != 1 ||
			!strings.Contains(c.stderr.String(), "INTERRUPTED") {
			t.Errorf("%v: exit code %d: %v\n%s", s, c.code(), o, &c.stderr)
		}
	}
}
