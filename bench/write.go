package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// printer writes and remembers the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) machine(m *Machine, notes []string) {
	p.printf("%s, %d cores, huge pages: %s, %s %s/%s\n", m.CPU, m.Cores, m.HugePages,
		m.Go, m.OS, m.Arch)
	p.printf("%s\n", m.Command)
	p.printf("a table has %s buckets, %s", Count(m.Buckets), humanize.IBytes(m.TableBytes))
	if m.TableBytes > m.Buckets*8 {
		p.printf(" with the elements")
	}
	p.printf("\n")
	for _, note := range notes {
		p.printf("note: %s\n", note)
	}
	p.printf("\n")
}

// WriteText writes a table for people.
func (r *Report) WriteText(w io.Writer) error {
	head := printer{w: w}
	head.machine(&r.Machine, r.Notes)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t, err: head.err}
	p.printf("impl\tworkload\tranks\tload\tbuckets\tMop/s\tmin\tmax\truns\t")
	ratios := r.ratios()
	for _, ratio := range ratios {
		p.printf("/ %s\t", ratio.to)
	}
	for i := range r.Results {
		is := &r.Results[i]
		p.printf("\n%s\t%s\t%d\t%s\t%s\t%.2f\t%.2f\t%.2f\t%d\t", is.Impl, is.Workload,
			is.Ranks, loads(is.LoadFrom, is.LoadTo), Count(is.buckets), is.Mops, is.MopsMin,
			is.MopsMax, is.samples)
		for _, ratio := range ratios {
			p.printf("%s\t", ratioText(ratio.of(is)))
		}
	}
	p.printf("\n")
	if p.err != nil {
		return p.err
	}
	return t.Flush()
}

// ratio is a column of the table.
type ratio struct {
	to Impl
	of func(*Result) *float64
}

// ratios are the columns that are not empty.
func (r *Report) ratios() []ratio {
	all := []ratio{
		{Scalar, func(is *Result) *float64 { return is.RatioToScalar }},
		{CASLoop, func(is *Result) *float64 { return is.RatioToCAS }},
		{Limit, func(is *Result) *float64 { return is.RatioToLimit }},
	}
	return slices.DeleteFunc(all, func(column ratio) bool {
		measured := func(is Result) bool { return column.of(&is) != nil }
		return !slices.ContainsFunc(r.Results, measured)
	})
}

// WriteJSON writes one object with the keys machine and results.
func (r *Report) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchfmt writes the samples in the format of Go benchmarks, for benchstat:
// benchstat -col /impl compares the implementations.
func (r *Report) WriteBenchfmt(w io.Writer) error {
	p := printer{w: w}
	p.benchHead(&r.Machine)
	for i := range r.Samples {
		s := &r.Samples[i]
		is := r.find(s.Impl, s.Workload, s.Ranks)
		of := "Set"
		if is.ElementBytes > 0 {
			of = fmt.Sprintf("Elements/bytes=%d", is.ElementBytes)
		}
		p.printf("Benchmark%s/impl=%s/workload=%s/ranks=%d/buckets=%s/from=%s/to=%s-%d"+
			"\t%d\t%.4g ns/op\t%.5g Mop/s\n", of, s.Impl, s.Workload, s.Ranks,
			Count(s.Buckets), number(is.LoadFrom), number(is.LoadTo), runtime.GOMAXPROCS(0),
			s.Operations, 1e3/s.Mops(), s.Mops())
	}
	return p.err
}

func (p *printer) benchHead(m *Machine) {
	p.printf("goos: %s\ngoarch: %s\npkg: github.com/farhash/farhash/bench\ncpu: %s\n",
		m.OS, m.Arch, m.CPU)
}

func loads(from, to float64) string { return number(from) + "-" + number(to) }

// number prints a load with no more digits than it has.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func ratioText(ratio *float64) string {
	if ratio == nil {
		return "-"
	}
	return strconv.FormatFloat(*ratio, 'f', 3, 64)
}
