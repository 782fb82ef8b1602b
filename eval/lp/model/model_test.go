package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/internal/calibrate"
)

func TestModelUsage(t *testing.T) {
	for flags, message := range map[string]string{
		"": "--load LOAD is missing", "--slot 8": "--load LOAD is missing",
		"x":        "takes no arguments",
		"--load 0": "and up to 0.99, not 0", "--load 1": "not 1;", "--load -0.5": "not -0.5;",
		"--load NaN": "not NaN", "--load x": "invalid argument", "--load 0.995": "up to 0.99",
		"--load 0.5 --slot 0": "at least 1 byte", "--load 0.5 --slot -8": "at least 1 byte",
		"--load 0.5 --slot 2000000000": "1073741824", "--load 0.5 --slot 1.5": "invalid argument",
		"--load 0.5 --latency-ns 0": "--latency-ns", "--load 0.5 --gbps -1": "--gbps",
		"--load 0.5 --mops 0": "--mops", "--load 0.5 --header NaN": "--header",
		"--load 0.5 --gbps Inf": "bandwidth", "--load 0.5 --latency-ns Inf": "latency",
		"--load 0.5 --latency-ns 1e308": "not 1e+308", "--load 0.5 --mops 1e-308": "not 1e-302",
		"--load 0.5 --header 1e308": "header", "--load 0.5 --gbps 1e308": "ns of a byte",
		"--load 0.5 --max-slots -1": "--max-slots", "--none": "unknown",
		"--load 0.5 --file x": "--file needs --calibrated",
	} {
		mustFail(t, true, message, strings.Fields(flags)...)
	}
	mustFail(t, false, "farhash calibrate makes it", "--load", "0.5", "--calibrated", "--file",
		"no/such")
}

// TestModelJSON has the keys that the help lists, and LP's figures.
func TestModelJSON(t *testing.T) {
	o := object(t, execute(t, "--load", "0.8", "--slot", "8", "--json"))
	if keys := keysOf(o); keys != "adaptive cap capped expected load slotBytes uncapped" {
		t.Errorf("keys %s", keys)
	}
	for key, want := range map[string]float64{"load": .8, "slotBytes": 8, "cap": 23,
		"uncapped": 96, "capped": 23} {
		if o[key] != want {
			t.Errorf("%s is %v, want %v", key, o[key], want)
		}
	}
	if a := o["adaptive"].([]any); len(a) != 4 || a[0] != 97.0 || a[3] != 155.0 {
		t.Errorf("adaptive is %v", a)
	}
	expected := o["expected"].(map[string]any)
	if keys := keysOf(expected); keys != "adaptive capped cuckooParallel cuckooSequential fixed "+
		"orderedAdaptive orderedCapped orderedFixed orderedUncapped uncapped" {
		t.Errorf("policies %s", keys)
	}
	for policy, want := range map[string][6]float64{
		"fixed":            {1.222, 313, 1602, 1.151, 295, 1509},
		"capped":           {1.392, 256, 1816, 1.268, 233, 1654},
		"uncapped":         {1.015, 780, 1372, 1.010, 776, 1365},
		"adaptive":         {1.014, 792, 1372, 1.010, 786, 1365},
		"orderedFixed":     {1, 256, 1310, 1, 256, 1310},
		"orderedCapped":    {1.012, 97, 1313, 1.008, 97, 1308},
		"orderedUncapped":  {1.012, 97, 1313, 1.008, 97, 1308},
		"orderedAdaptive":  {1.001, 136, 1303, 1.001, 136, 1302},
		"cuckooParallel":   {3, 96, 1321, 3, 96, 1321},
		"cuckooSequential": {2, 64, 2585, 3, 96, 3878},
	} {
		e := expected[policy].(map[string]any)
		if keys := keysOf(e); keys != "absent bytes ns requests sizes" {
			t.Errorf("%s has %s", policy, keys)
		}
		absent := e["absent"].(map[string]any)
		for i, v := range []any{e["requests"], e["bytes"], e["ns"], absent["requests"],
			absent["bytes"], absent["ns"]} {
			within := .5
			if i%3 == 0 {
				within = .0006
			}
			if d := v.(float64) - want[i]; d > within || d < -within {
				t.Errorf("%s: %v, want %v", policy, v, want[i])
			}
		}
	}
	sizes := expected["orderedAdaptive"].(map[string]any)["sizes"].([]any)
	if len(sizes) != 2 || sizes[0] != 17.0 || sizes[1] != 16.0 {
		t.Errorf("sizes of an ordered table: %v", sizes)
	}
}

// TestModelMachine: each flag gets to the model.
func TestModelMachine(t *testing.T) {
	base := []string{"--load", "0.5", "--slot", "10", "--latency-ns", "500",
		"--gbps", "80", "--mops", "20", "--header", "10", "--max-slots", "6"}
	o := object(t, execute(t, append(base, "--json")...))
	// 10 GB/s of messages of 10 bytes at 20 M * 10/20 a second.
	if o["cap"] != 100.0 || o["capped"] != 6.0 || o["uncapped"] != 6.0 {
		t.Errorf("%v", o)
	}
	fixed := o["expected"].(map[string]any)["fixed"].(map[string]any)
	requests, ns := fixed["requests"].(float64), fixed["ns"].(float64)
	bytes := fixed["bytes"].(float64)
	if math.Abs(ns-requests*(500+.1*60)) > 1e-6 || math.Abs(bytes-requests*60) > 1e-6 {
		t.Errorf("%v", fixed)
	}
	text := execute(t, base...)
	for _, want := range []string{"load 0.5, slots of 10 bytes, at most 6 of them in a read",
		"latency 500 ns (c), 0.1 ns per byte (alpha), 20 M reads/s (rho0),\n" +
			"bandwidth 10 GB/s (l), header 10 bytes",
		"room for 100 slots"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	changed := "changed by --latency-ns, --gbps, --mops, --header:"
	if !strings.Contains(text, changed) {
		t.Errorf("flags are not named:\n%s", text)
	}
}

// TestModelText examines what people see.
func TestModelText(t *testing.T) {
	for _, c := range []struct{ load, row, best string }{
		{"0.8", "linear adaptive 97 137 150 155 1.014 792 1372", "ordered, adaptive"},
		{"0.95", "linear adaptive 526 885 1016 1083 ... 1.138 5210 1885", "cuckoo, parallel"},
	} {
		text := execute(t, "--load", c.load)
		for _, want := range []string{c.row, "least ns for present keys: " + c.best,
			"LP 5.1, InfiniBand EDR", "room for 23 slots"} {
			words := strings.Join(strings.Fields(text), " ")
			if !strings.Contains(words, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
	for _, flags := range []string{"--load 0.01 --slot 1", "--load 0.5 --slot 1000000",
		"--load 0.97 --gbps 1000 --mops 1", "--load 0.3 --max-slots 1"} {
		c := execute(t, strings.Fields(flags)...)
		if strings.Contains(c, "NaN") {
			t.Errorf("%q: %s", flags, c)
		}
	}
}

// TestModelCalibrated: the model takes what is in the file, and flags win.
func TestModelCalibrated(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("HOME", home)
	mustFail(t, false, "farhash calibrate makes it", "--load", "0.5", "--calibrated")
	path, err := calibrate.DefaultPath()
	if err != nil {
		t.Fatal(err)
	}
	kept := calibrate.Result{Engine: "shm", Ranks: 2, LatencyNs: 500, ByteNs: .25,
		LinkBytesPerSecond: 10e9, MessagesPerSecond: 20e6, HeaderBytes: 10}
	if err := kept.Save(path); err != nil {
		t.Fatal(err)
	}
	base := []string{"--load", "0.5", "--slot", "10", "--calibrated"}
	for _, c := range []struct{ flag, value, want string }{
		{"", "", "\nlatency 500 ns (c), 0.25 ns per byte (alpha), 20 M reads/s (rho0),\n" +
			"bandwidth 10 GB/s (l), header 10 bytes"},
		{"--latency-ns", "7", "\nlatency 7 ns (c), 0.25 ns per byte (alpha), " +
			"20 M reads/s (rho0),\nbandwidth 10 GB/s (l), header 10"},
		{"--gbps", "8", "\nlatency 500 ns (c), 1 ns per byte (alpha), 20 M reads/s (rho0),\n" +
			"bandwidth 1 GB/s (l), header 10"},
		{"--mops", "3", "\nlatency 500 ns (c), 0.25 ns per byte (alpha), 3 M reads/s (rho0),\n" +
			"bandwidth 10 GB/s (l), header 10"},
		{"--header", "4", "\nlatency 500 ns (c), 0.25 ns per byte (alpha), 20 M reads/s (rho0),\n" +
			"bandwidth 10 GB/s (l), header 4"},
	} {
		args, source := base, "calibrated: shm with 2 ranks, "
		if c.flag != "" {
			args = append(base[:len(base):len(base)], c.flag, c.value)
			source = ", changed by " + c.flag
		}
		text := execute(t, args...)
		for _, want := range []string{c.want, source} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
	if o := object(t, execute(t, append(base, "--json")...)); o["cap"] != 100.0 {
		t.Errorf("%v", o)
	}
	damaged := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(damaged, []byte(`{"latencyNs": -1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	mustFail(t, false, "no measurement gives", append(base, "--file", damaged)...)
}

// keysOf are the keys of an object in order.
func keysOf(o map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(o)), " ")
}

// execute runs the command and returns what it prints.
func execute(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(args)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out
}

func run(args []string) (string, error) {
	var out bytes.Buffer
	cmd := Command()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func mustFail(t *testing.T, wrongUsage bool, message string, args ...string) {
	t.Helper()
	out, err := run(args)
	if err == nil || !strings.Contains(err.Error(), message) || out != "" ||
		errors.Is(err, experiment.ErrUsage) != wrongUsage {
		t.Errorf("%q: error %v, want %q\n%s", args, err, message, out)
	}
}

// object is what --json has printed.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}
