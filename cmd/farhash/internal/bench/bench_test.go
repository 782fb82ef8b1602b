package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// Every table is measured in every case, its answers are right, and all forms of the report
// have them, over addressable memory and over queues.
func TestRun(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		var results []Result
		cfg := Config{SizeBytes: 1 << 20, Operations: 500, Batch: 64, Runs: 2}
		if hidden {
			cfg.Operations = 0
		}
		err := local.RunWith(local.Options{Hidden: hidden}, 2, func(job rma.Job) error {
			all, err := Run(context.Background(), job, cfg)
			if job.Rank() == 0 {
				results = all
			}
			return err
		})
		if err != nil {
			t.Fatalf("hidden %v: %v", hidden, err)
		}
		const cases = 2 + 1 + 2 + 3
		if len(results) != 2*cases {
			t.Fatalf("hidden %v: %d results, want %d", hidden, len(results), 2*cases)
		}
		for _, is := range results {
			if !(is.MopsMin > 0 && is.Mops >= is.MopsMin && is.MopsMax >= is.Mops) ||
				!(is.LimitMops > 0 && is.OfLimit > 0) || is.Ranks != 2 || is.Runs != 2 ||
				is.Operations != operations(&is, cfg.Operations) {
				t.Errorf("hidden %v: %+v makes no sense", hidden, is)
			}
		}
		checkForms(t, NewReport("farhash bench", "goroutines", results))
	}
}

// operations is how many a run has on two ranks with 1 MiB. In a smaller cache
// puts that are in flight together would replace too many pairs of each other.
func operations(is *Result, perRank int) int {
	if perRank == 0 {
		perRank = map[string]int{"set": 1 << 19 / 64, "index": 1 << 19 / 64,
			"cache": 1 << 19 / 192 / 4, "kv": 1 << 19 / 256 / 3}[is.Table]
	}
	return 2 * perRank
}

// The text says how many runs the medians are of, and whether they differ too much.
func TestReportRuns(t *testing.T) {
	results := []Result{{Operation: "get", Batch: 1, Runs: 2, MopsMin: 1, MopsMax: 1.2},
		{Operation: "get", Batch: 9, Runs: 1, MopsMin: 1, MopsMax: 1}}
	r := NewReport("farhash bench", "goroutines", results)
	r.Complete, r.Reason = false, "interrupted"
	for _, want := range []string{"medians of 1 to 2 runs.",
		"INCOMPLETE: interrupted\nThe medians are of the 1 to 2 runs before that."} {
		if text := textOf(t, r); !strings.Contains(text, want) || strings.Contains(text, "Noisy") {
			t.Errorf("%q, and not Noisy, is wanted in\n%s", want, text)
		}
	}
	results[0].MopsMax = 1.3
	if text := textOf(t, r); !strings.Contains(text, "Noisy: in 1 of 2 cases") {
		t.Errorf("it is not noisy:\n%s", text)
	}
}

// The forms of a report as a whole.
func TestReportForms(t *testing.T) {
	r := &Report{CPU: "some CPU", Cores: 4, OS: "linux", Arch: "amd64", Go: "go1",
		Command: "farhash bench", Engine: "goroutines", Complete: true, Results: []Result{
			{Table: "set", Operation: "find, new", Batch: 1, Ranks: 2, Runs: 2, Mops: 4,
				MopsMin: 4, MopsMax: 5, LimitMops: 40, OfLimit: .1, Operations: 8,
				rates: []float64{4, 5}, shares: []float64{.1, .125}},
			{Table: "set", Operation: "find, new", Batch: 9, Ranks: 2, Runs: 2, Mops: 10,
				MopsMin: 8, MopsMax: 10, LimitMops: 20, OfLimit: .5, Operations: 8,
				rates: []float64{8}, shares: []float64{.4}},
			{Table: "kv", Operation: "put", Batch: 1, Ranks: 2, Runs: 2, Mops: .0123,
				LimitMops: 1, OfLimit: .01}}}
	const text = `some CPU, 4 cores, go1 linux/amd64
farhash bench
goroutines

table  operation  ranks  one at a time  batches  limit  of the limit
set    find, new  2      4.00           10.0     20.0   0.50
kv     put        2      0.012          0.012    1.00   0.01
`
	if got := textOf(t, r); !strings.HasPrefix(got, text) || strings.Contains(got, "Noisy") ||
		strings.Contains(got, "INCOMPLETE") {
		t.Errorf("%s", got)
	}
	r.Complete, r.Reason = false, "interrupted"
	want := strings.ReplaceAll(`goos: linux
goarch: amd64
pkg: github.com/farhash/farhash
cpu: some CPU
incomplete: interrupted
T/batch=1/ranks=2-N	8	250 ns/op	4 Mop/s	0.1 of-limit
T/batch=1/ranks=2-N	8	200 ns/op	5 Mop/s	0.125 of-limit
T/batch=9/ranks=2-N	8	125 ns/op	8 Mop/s	0.4 of-limit
`, "-N\t", fmt.Sprintf("-%d\t", runtime.GOMAXPROCS(0)))
	want = strings.ReplaceAll(want, "T/", "BenchmarkFarhash/table=set/op=find,new/")
	var lines bytes.Buffer
	if err := r.WriteBenchfmt(&lines); err != nil || lines.String() != want {
		t.Errorf("%v\n%swant\n%s", err, &lines, want)
	}
}

// TestRate: three digits.
func TestRate(t *testing.T) {
	for mops, want := range map[float64]string{.00123: "0.0012", .0999: "0.1", .1: "0.10",
		9.99: "9.99", 10: "10.0", 99.94: "99.9", 100: "100", 12345: "12345"} {
		if got := rate(mops); got != want {
			t.Errorf("%v is %s, want %s", mops, got, want)
		}
	}
}

// TestMedian: of an even number the mean of the two in the middle.
func TestMedian(t *testing.T) {
	for want, values := range map[float64][]float64{3: {9, 3, 1}, 2.5: {9, 3, 1, 2}, 7: {7}} {
		if got := median(values); got != want {
			t.Errorf("%v of %v", got, values)
		}
	}
}

func textOf(t *testing.T, r *Report) string {
	t.Helper()
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func checkForms(t *testing.T, r *Report) {
	t.Helper()
	var text, object, lines bytes.Buffer
	for w, write := range map[*bytes.Buffer]func() error{
		&text:   func() error { return r.WriteText(&text) },
		&object: func() error { return r.WriteJSON(&object) },
		&lines:  func() error { return r.WriteBenchfmt(&lines) },
	} {
		if err := write(); err != nil || w.Len() == 0 {
			t.Fatalf("%v, %d bytes", err, w.Len())
		}
	}
	var back Report
	if err := json.Unmarshal(object.Bytes(), &back); err != nil ||
		len(back.Results) != len(r.Results) {
		t.Errorf("%d results came back: %v", len(back.Results), err)
	}
	if n := strings.Count(lines.String(), "BenchmarkFarhash/"); n != 2*len(r.Results) {
		t.Errorf("%d lines for benchstat, want 2 runs of %d cases", n, len(r.Results))
	}
	if !strings.Contains(text.String(), "medians of 2 runs") {
		t.Errorf("there is no number of runs in\n%s", &text)
	}
	for _, table := range []string{"set", "index", "cache", "kv"} {
		if !strings.Contains(text.String(), "\n"+table+" ") {
			t.Errorf("there is no %s in\n%s", table, &text)
		}
	}
}
