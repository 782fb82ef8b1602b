package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize/english"
)

// Report is what was measured and where. The fields are named as in the JSON output.
type Report struct {
	CPU     string   `json:"cpu"`
	Cores   int      `json:"cores"` // logical processors
	OS      string   `json:"os"`
	Arch    string   `json:"arch"`
	Go      string   `json:"go"`
	Command string   `json:"command"`
	Engine  string   `json:"engine"` // how ranks reach memory
	Results []Result `json:"results"`
	// Complete is false where a signal has ended the measurement; Reason says so.
	Complete bool   `json:"complete"`
	Reason   string `json:"reason,omitempty"`
}

// NewReport says where it was measured.
func NewReport(command, engine string, results []Result) *Report {
	return &Report{CPU: cpuModel(), Cores: runtime.NumCPU(), OS: runtime.GOOS,
		Arch: runtime.GOARCH, Go: runtime.Version(), Command: command, Engine: engine,
		Results: results, Complete: true}
}

// cpuModel is the name of the processor, or the architecture where the system does not give it.
func cpuModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // there is none on some systems
	for line := range strings.Lines(string(info)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// footnote explains the table. It begins with what the medians are of.
const footnote = `
Million operations per second of all ranks together, medians of %s. The limit is the rate at
which the same ranks access random cache lines, divided by the lines that the operation needs. It
counts memory accesses alone. index, cache and kv also hash, compare, copy and verify, and kv
accesses the slot before the pair: a small share of the limit is normal there.
`

// maxSpread is how much the runs of a case may differ before the machine counts as busy.
const maxSpread = 1.25

// WriteText writes one screen for people.
func (r *Report) WriteText(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, %d cores, %s %s/%s\n%s\n%s\n\n", r.CPU, r.Cores, r.Go, r.OS, r.Arch,
		r.Command, r.Engine)
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "table\toperation\tranks\tone at a time\tbatches\tlimit\tof the limit")
	for i := range r.Results {
		is := &r.Results[i]
		batch := is
		if is.Batch > 1 {
			continue // beside the one before
		}
		if i+1 < len(r.Results) && r.Results[i+1].Operation == is.Operation {
			batch = &r.Results[i+1]
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%.2f\n", is.Table, is.Operation, is.Ranks,
			rate(is.Mops), rate(batch.Mops), rate(batch.LimitMops), batch.OfLimit)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&out, footnote, r.runs())
	if noisy := r.noisy(); noisy > 0 {
		fmt.Fprintf(&out, "Noisy: in %d of %d cases one run took more than %.0f %% longer than "+
			"another. Repeat this when\nno other program needs "+
			"the processors, or with more --runs.\n", noisy, len(r.Results), 100*maxSpread-100)
	}
	if !r.Complete {
		fmt.Fprintf(&out, "INCOMPLETE: %s\nThe medians are of the %s before that. Cases that are "+
			"missing were not measured.\n", r.Reason, r.runs())
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// runs is how many the medians are of: "3 runs", or "1 to 2 runs" after an interruption.
func (r *Report) runs() string {
	least, most := r.Results[0].Runs, r.Results[0].Runs
	for i := range r.Results {
		least, most = min(least, r.Results[i].Runs), max(most, r.Results[i].Runs)
	}
	if least < most {
		return fmt.Sprintf("%d to %d runs", least, most)
	}
	return english.Plural(most, "run", "")
}

// noisy is how many cases have runs that differ too much.
func (r *Report) noisy() (n int) {
	for i := range r.Results {
		if is := &r.Results[i]; is.MopsMax > maxSpread*is.MopsMin {
			n++
		}
	}
	return n
}

// rate has three digits.
func rate(mops float64) string {
	digits := 2
	for bound := 10.0; digits > 0 && mops >= bound; bound *= 10 {
		digits--
	}
	if mops < 0.1 {
		return strconv.FormatFloat(mops, 'g', 2, 64)
	}
	return strconv.FormatFloat(mops, 'f', digits, 64)
}

// WriteJSON writes one object.
func (r *Report) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchfmt writes every run in the format of Go benchmarks, for benchstat.
func (r *Report) WriteBenchfmt(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "goos: %s\ngoarch: %s\npkg: github.com/farhash/farhash\ncpu: %s\n", r.OS,
		r.Arch, r.CPU)
	if !r.Complete {
		fmt.Fprintf(&out, "incomplete: %s\n", r.Reason)
	}
	for i := range r.Results {
		is := &r.Results[i]
		operation := strings.ReplaceAll(strings.ReplaceAll(is.Operation, ", ", ","), " ", "_")
		for run, mops := range is.rates {
			fmt.Fprintf(&out, "BenchmarkFarhash/table=%s/op=%s/batch=%d/ranks=%d-%d\t%d\t"+
				"%.4g ns/op\t%.5g Mop/s\t%.4g of-limit\n", is.Table, operation, is.Batch, is.Ranks,
				runtime.GOMAXPROCS(0), is.Operations, 1e3/mops, mops, is.shares[run])
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
