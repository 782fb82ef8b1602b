package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/calibrate"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma/ucx"
)

func TestCalibrateUsage(t *testing.T) {
	for flags, message := range map[string]string{
		"x": "takes no arguments", "-n 0": "-n must be", "-n 65": "-n must be",
		"-n x":       "must be a whole number",
		"--limit 0s": "--limit must be", "--limit x": "--limit",
		"--mib 0": "--mib must be", "--mib 65537": "--mib must be",
		"--none": "unknown",
	} {
		mustFail(t, exitUsage, message, append([]string{"calibrate"}, strings.Fields(flags)...)...)
	}
	file := writeFile(t, "x", "")
	mustFail(t, exitFailure, "is a folder", "calibrate", "--file", t.TempDir())
	mustFail(t, exitFailure, "not a directory", "calibrate", "--file",
		filepath.Join(file, "y", "z"))
}

// TestCalibrate measures here, keeps it, and has the model use it.
func TestCalibrate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "c.json")
	text := execute(t, "calibrate", "--mib", "1", "--file", file)
	for _, want := range []string{"engine local, 1 rank\n", "\nlatency ",
		"together (rho0)", "8192", "stored in " + file,
		"\nbytes         1         4        16        64\n    8  "} {
		if text.code() != 0 || !strings.Contains(text.stdout.String(), want) {
			t.Errorf("%q is not in\n%s%s", want, &text.stdout, &text.stderr)
		}
	}
	printed := object(t, execute(t, "calibrate", "-n", "2", "--mib", "1", "--file", file,
		"--json"))
	if keys := keysOf(printed); keys != "byteNs engine headerBytes latencyNs linkBytesPerSecond "+
		"messagesPerSecond points ranks rates time" {
		t.Errorf("keys %s", keys)
	}
	kept, err := calibrate.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if kept.LatencyNs != printed["latencyNs"] || kept.Ranks != 2 || kept.Engine != "local" ||
		kept.Time.IsZero() {
		t.Errorf("%+v is kept, %v printed", kept, printed)
	}
	job := execute(t, "run", "-n", "2", "--", os.Args[0], "calibrate", "-n", "3",
		"--mib", "1", "--file", file)
	if job.code() != 0 || strings.Count(job.stdout.String(), "engine shm, 2 ranks\n") != 1 ||
		!strings.Contains(job.stderr.String(), "-n is ignored") {
		t.Errorf("%d\n%s%s", job.code(), &job.stdout, &job.stderr)
	}
}

// TestCalibrateUCX measures requests as well, and reports the access that tables choose.
func TestCalibrateUCX(t *testing.T) {
	if !ucx.Built {
		t.Skip("built without UCX")
	}
	address := twohosts.FreeAddress(t)
	file := filepath.Join(t.TempDir(), "c.json")
	c := execute(t, "run", "-n", "2", "--rendezvous", address, "--", os.Args[0], "calibrate",
		"--mib", "1", "--file", file)
	for _, want := range []string{"engine ucx, 2 ranks\n", "\nshipped: requests ", "\n65536  ",
		"\ntables: "} {
		if c.code() != 0 || !strings.Contains(c.stdout.String(), want) {
			t.Errorf("%q is not in\n%s%s", want, &c.stdout, &c.stderr)
		}
	}
	kept, err := calibrate.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if s := kept.Shipped; s == nil || len(s.Points) != 4 || len(s.Rates) != 4 || s.Auto == "" {
		t.Errorf("%+v", s)
	}
}

// TestModelCalibrated: the model takes what is in the file, and flags win.
func TestModelCalibrated(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("HOME", home)
	mustFail(t, exitFailure, "farhash calibrate makes it", "model", "--load", "0.5", "--calibrated")
	path, err := calibrate.DefaultPath()
	if err != nil {
		t.Fatal(err)
	}
	kept := calibrate.Result{Engine: "shm", Ranks: 2, LatencyNs: 500, ByteNs: .25,
		LinkBytesPerSecond: 10e9, MessagesPerSecond: 20e6, HeaderBytes: 10}
	if err := kept.Save(path); err != nil {
		t.Fatal(err)
	}
	base := []string{"model", "--load", "0.5", "--slot", "10", "--calibrated"}
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
			if text.code() != 0 || !strings.Contains(text.stdout.String(), want) {
				t.Errorf("%q is not in\n%s%s", want, &text.stdout, &text.stderr)
			}
		}
	}
	asked := execute(t, append(base, "--json")...)
	o := object(t, asked)
	if o["cap"] != 100.0 || !strings.Contains(asked.stderr.String(), "calibrated: shm") {
		t.Errorf("%v, %s", o, &asked.stderr)
	}
	damaged := writeFile(t, "c.json", `{"latencyNs": -1}`)
	mustFail(t, exitFailure, "no measurement gives", append(base, "--file", damaged)...)
}
