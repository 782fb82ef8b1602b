package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/internal/calibrate"
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
		try.Fails(t, cli.ExitUsage, message, append([]string{"calibrate"},
			strings.Fields(flags)...)...)
	}
	file := try.File(t, "x", "")
	try.Fails(t, cli.ExitFailure, "is a folder", "calibrate", "--file", t.TempDir())
	try.Fails(t, cli.ExitFailure, "not a directory", "calibrate", "--file",
		filepath.Join(file, "y", "z"))
}

// TestCalibrate measures here, keeps it, and has the model use it.
func TestCalibrate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "c.json")
	text := try.Run(t, "calibrate", "--mib", "1", "--file", file)
	for _, want := range []string{"engine local, 1 rank\n", "\nlatency ",
		"together (rho0)", "8192", "stored in " + file,
		"\nbytes         1         4        16        64\n    8  "} {
		if text.Code() != 0 || !strings.Contains(text.Out.String(), want) {
			t.Errorf("%q is not in\n%s%s", want, &text.Out, &text.Errors)
		}
	}
	printed := try.Object(t, try.Run(t, "calibrate", "-n", "2", "--mib", "1", "--file", file,
		"--json"))
	if keys := try.KeysOf(printed); keys != "byteNs engine headerBytes latencyNs "+
		"linkBytesPerSecond messagesPerSecond points ranks rates time" {
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
	job := try.Run(t, "run", "-n", "2", "--", os.Args[0], "calibrate", "-n", "3",
		"--mib", "1", "--file", file)
	if job.Code() != 0 || strings.Count(job.Out.String(), "engine shm, 2 ranks\n") != 1 ||
		!strings.Contains(job.Errors.String(), "-n is ignored") {
		t.Errorf("%d\n%s%s", job.Code(), &job.Out, &job.Errors)
	}
}

// TestCalibrateUCX measures requests as well, and reports the access that tables choose.
func TestCalibrateUCX(t *testing.T) {
	if !ucx.Built {
		t.Skip("built without UCX")
	}
	address := twohosts.FreeAddress(t)
	file := filepath.Join(t.TempDir(), "c.json")
	c := try.Run(t, "run", "-n", "2", "--rendezvous", address, "--", os.Args[0], "calibrate",
		"--mib", "1", "--file", file)
	for _, want := range []string{"engine ucx, 2 ranks\n", "\nshipped: requests ", "\n65536  ",
		"\ntables: "} {
		if c.Code() != 0 || !strings.Contains(c.Out.String(), want) {
			t.Errorf("%q is not in\n%s%s", want, &c.Out, &c.Errors)
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

// TestPrintShipped: requests are printed with their rates, as far as these were measured.
func TestPrintShipped(t *testing.T) {
	var text bytes.Buffer
	printShipped(&text, &calibrate.Shipped{LatencyNs: 500, ByteNs: .5, Auto: "ships",
		Points: []calibrate.Point{{Bytes: 8, Ns: 504}, {Bytes: 64, Ns: 532}},
		Rates:  []calibrate.Rate{{Bytes: 8, Flight: 4, PerSecond: 2e6}}})
	words := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{"500 ns for a request of no bytes, 0.5 ns for each",
		"each way 8 504 2000.0 16.0 64 532 tables: ships"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not in %q", want, words)
		}
	}
	text.Reset()
	printRates(&text, []calibrate.Rate{{Bytes: 8, Flight: 1, PerSecond: 1e3},
		{Bytes: 8, Flight: 4, PerSecond: 2e3}, {Bytes: 64, Flight: 1, PerSecond: 3e3},
		{Bytes: 64, Flight: 4, PerSecond: 4e3}})
	if words := strings.Join(strings.Fields(text.String()), " "); !strings.HasSuffix(words,
		"in flight bytes 1 4 8 1.0 2.0 64 3.0 4.0") {
		t.Errorf("%q", words)
	}
	if text.Reset(); true {
		printRates(&text, nil)
	}
	if text.Len() > 0 {
		t.Errorf("no rates are %q", &text)
	}
}

// TestCalibrateLimits: how much is measured at most, and at least.
func TestCalibrateLimits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	for says, f := range map[string]calibrateFlags{
		"":                                 {ranks: 64, mib: 1, limit: 1},
		"-n must be 1 to 64, not 65":       {ranks: 65, mib: 1, limit: 1},
		"-n must be 1 to 64, not 0":        {ranks: 0, mib: 1, limit: 1},
		"--mib must be 1 to 65536, not 0":  {ranks: 1, limit: 1},
		"--limit must be positive, not 0s": {ranks: 1, mib: 1},
		"--limit must be positive, not -1": {ranks: 1, mib: 1, limit: -1},
	} {
		f.file = file
		got, err := f.check()
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) ||
			err == nil && got != file {
			t.Errorf("%+v: %q, %v, want %q", f, got, err, says)
		}
	}
}

// TestCalibrateSpares: a file that no calibration has written is refused before anything is
// measured.
func TestCalibrateSpares(t *testing.T) {
	other := try.File(t, "other", "of a user\n")
	refused := calibrateFlags{ranks: 1, mib: 1, limit: 1, file: other}
	if _, err := refused.check(); err == nil ||
		!strings.Contains(err.Error(), "is no result of farhash calibrate") {
		t.Errorf("error %v", err)
	}
	if text, err := os.ReadFile(other); string(text) != "of a user\n" {
		t.Errorf("it has become %q, %v", text, err)
	}
	folder := filepath.Join(t.TempDir(), "new", "folder")
	f := calibrateFlags{ranks: 1, mib: 1, limit: time.Second, file: filepath.Join(folder, "c.json")}
	if _, err := f.check(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		t.Errorf("no folder was made before measuring: %v", err)
	}
}

// TestCalibratePrint: what was measured is printed, and what there was no time for.
func TestCalibratePrint(t *testing.T) {
	r := calibrate.Result{Engine: "local", Ranks: 2, LatencyNs: 500, ByteNs: .25,
		LinkBytesPerSecond: 10e9, MessagesPerSecond: 20e6,
		Points: []calibrate.Point{{Bytes: 8, Ns: 510}}}
	for _, c := range []struct {
		missing []string
		json    bool
		has     []string
	}{
		{nil, false, []string{"engine local, 2 ranks\n", "      500 ns ", "    20 million ",
			"    10 GB/s ", "    8     510                            502\n", "stored in c.json",
			"!not measured"}},
		{[]string{"rates"}, false, []string{"\nnot measured: rates: the link is slow"}},
		{[]string{"rates"}, true, []string{`"missing":["rates"]`, "!stored in"}},
	} {
		path := try.File(t, "out", "")
		out, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		r.Missing = c.missing
		stdout := os.Stdout
		os.Stdout = out
		err = (&calibrateFlags{json: c.json}).print(&r, "c.json")
		os.Stdout = stdout
		text, readErr := os.ReadFile(path)
		if err != nil || readErr != nil || out.Close() != nil {
			t.Fatal(err, readErr)
		}
		try.Outcome{Out: string(text)}.Has(t, 0, c.has...)
	}
}
