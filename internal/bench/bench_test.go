package bench

import (
	"bytes"
	"context"
	"encoding/json"
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
		cfg := Config{SizeBytes: 1 << 18, Operations: 500, Batch: 64, Runs: 2}
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
		const cases = 2 + 1 + 2 + 2
		if len(results) != 2*cases {
			t.Fatalf("hidden %v: %d results, want %d", hidden, len(results), 2*cases)
		}
		for _, is := range results {
			if !(is.MopsMin > 0 && is.Mops >= is.MopsMin && is.MopsMax >= is.Mops) ||
				!(is.LimitMops > 0) || is.Ranks != 2 {
				t.Errorf("hidden %v: %+v makes no sense", hidden, is)
			}
		}
		checkForms(t, NewReport("farhash bench", "goroutines", results))
	}
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
	for _, table := range []string{"set", "index", "cache", "kv"} {
		if !strings.Contains(text.String(), "\n"+table+" ") {
			t.Errorf("there is no %s in\n%s", table, &text)
		}
	}
}
