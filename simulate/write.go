package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/farhash/farhash/bench"
)

// WriteJSON writes one object.
func (r *Report) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteText writes tables for people.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%v\nseed %d, virtual time\n", r.Command, r.cfg.Cluster, r.Seed)
	if r.table1 {
		r.writeTable1(&b)
	} else {
		r.writeThroughput(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// table begins a table with columns aligned to the right.
func table(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func (r *Report) writeThroughput(w io.Writer) {
	one := "one operation at a time"
	if r.Batch > 1 {
		one = fmt.Sprintf("batches of %d", r.Batch)
	}
	fmt.Fprintf(w, "%s, load %v, C=%d, M=%d, %s\n\n", r.Workload, r.Load, r.Chunk, r.Chunks, one)
	paper := slices.ContainsFunc(r.Throughput, func(row RateRow) bool {
		return row.PaperMops != nil
	})
	t := table(w)
	fmt.Fprint(t, "hosts\tranks each\tMop/s\ta host\tns/op\t")
	if paper {
		fmt.Fprint(t, "OP\terror\t")
	}
	fmt.Fprintln(t)
	for i := range r.Throughput {
		row := &r.Throughput[i]
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%.0f\t", row.Hosts, row.Procs, figures(row.Mops),
			figures(row.MopsHost), row.Nanoseconds)
		if paper {
			fmt.Fprintf(t, "%s\t", beside(row.PaperMops, row.ErrorPercent, row.Fitted))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
	if paper {
		fmt.Fprintln(w, "\nOP: Table 1 of the paper. *: a parameter is fitted to this.")
	}
}

// figures prints a rate with four digits, and all of those before the point.
func figures(v float64) string {
	decimals := 0
	for limit := 1000.0; v < limit && decimals < 3; limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// beside prints what the paper has, and by how much that was missed.
func beside(paper, errorPercent *float64, fitted bool) string {
	if paper == nil {
		return "-\t-"
	}
	mark := ""
	if fitted {
		mark = "*"
	}
	return fmt.Sprintf("%.2f\t%+.1f%%%s", *paper, *errorPercent, mark)
}

func (r *Report) writeTable1(w io.Writer) {
	if r.das5() {
		fmt.Fprint(w, "Four parameters were fitted to the cell each that has a *; "+
			"all else is predicted.\n")
	}
	fmt.Fprint(w, "OP: Table 1 of the paper.\n\n"+
		"latency of find-or-put in microseconds, mean over the inserts from load-0.02 to load\n")
	r.writeLatencies(w, "OP\terror", func(row *LatencyRow) string {
		micros := *row.PaperNanoseconds / 1e3
		return fmt.Sprintf("%.2f\t%s", row.Nanoseconds/1e3,
			beside(&micros, row.ErrorPercent, row.Fitted))
	})
	fmt.Fprint(w, "\nround trips\n")
	r.writeLatencies(w, "OP", func(row *LatencyRow) string {
		return fmt.Sprintf("%.2f\t%.1f", row.RoundTrips, *row.PaperRoundTrips)
	})
	fmt.Fprintf(w, "\nthroughput in million operations per second, %s, C=%d\n", r.Workload, r.Chunk)
	r.writeRates(w)
	fmt.Fprint(w, "\nerrors where nothing was fitted\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range r.Summary {
		fmt.Fprintf(t, "%s\t%d cells\tmean %.1f%%\tlargest %+.1f%%\t(%s)\n", s.What, s.Cells,
			s.MeanPercent, s.LargestPercent, s.Largest)
	}
	_ = t.Flush()
	if r.das5() {
		fmt.Fprint(w, "\n"+shortcomings)
	}
}

// shortcomings says where DAS5 fails.
const shortcomings = `Where the model fails, and what it lacks:
- One machine. 189 million operations a second of one process are 5 ns each, less than
  one access to memory takes. The model sends requests to the rank's own memory, too.
- 4 and 8 processes on a machine: it is too fast. It delays messages in proportion to the
  processes beside one; what these share (library, memory, links) is no straight line.
- C=32 and 64: it is too fast. The paper's latency jumps by 0.28 us between gets of 128
  and 256 bytes; the model's rises in a straight line.
`

// writeLatencies writes a table by load and chunk size of what OP Table 1 has.
func (r *Report) writeLatencies(w io.Writer, head string, text func(row *LatencyRow) string) {
	t := table(w)
	fmt.Fprint(t, "load\t")
	for _, chunk := range bench.Table1Chunks() {
		fmt.Fprintf(t, "C=%d\t%s\t", chunk, head)
	}
	fmt.Fprintln(t)
	var loads []float64
	for i := range r.Latency {
		row := &r.Latency[i]
		if row.PaperNanoseconds != nil && !slices.Contains(loads, row.LoadTo) {
			loads = append(loads, row.LoadTo)
		}
	}
	for _, load := range loads {
		fmt.Fprintf(t, "%v\t", load)
		for i := range r.Latency { // by chunk size
			if row := &r.Latency[i]; row.LoadTo == load {
				fmt.Fprintf(t, "%s\t", text(row))
			}
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
}

// writeRates writes a table by processes and machines.
func (r *Report) writeRates(w io.Writer) {
	var hosts, procs []int
	for i := range r.Throughput {
		hosts = append(hosts, r.Throughput[i].Hosts)
		procs = append(procs, r.Throughput[i].Procs)
	}
	slices.Sort(hosts)
	slices.Sort(procs)
	hosts, procs = slices.Compact(hosts), slices.Compact(procs)
	t := table(w)
	fmt.Fprint(t, "processes each\t")
	for _, h := range hosts {
		fmt.Fprintf(t, "%d %s\tOP\terror\t", h, plural(h, "machine"))
	}
	fmt.Fprintln(t)
	for _, p := range procs {
		fmt.Fprintf(t, "%d\t", p)
		for _, h := range hosts {
			row := r.rate(h, p)
			if row == nil {
				fmt.Fprint(t, "-\t-\t-\t")
				continue
			}
			fmt.Fprintf(t, "%.2f\t%s\t", row.Mops,
				beside(row.PaperMops, row.ErrorPercent, row.Fitted))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
}

func plural(n int, name string) string {
	switch {
	case n == 1:
		return name
	case name == "process":
		return "processes"
	}
	return name + "s"
}

// rate is the throughput of so many hosts, nil if it was not simulated.
func (r *Report) rate(hosts, procs int) *RateRow {
	for i := range r.Throughput {
		if row := &r.Throughput[i]; row.Hosts == hosts && row.Procs == procs {
			return row
		}
	}
	return nil
}
