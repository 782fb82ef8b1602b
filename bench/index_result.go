package bench

import (
	"cmp"
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// IndexResult sums up the samples of a point. The field names are those of the JSON output.
type IndexResult struct {
	Work IndexWork `json:"work"`
	// Impl is the layout and how lookups read it; the layout alone of a build.
	Impl    string  `json:"impl"`
	Load    float64 `json:"load"`
	Ranks   int     `json:"ranks"`
	Batch   int     `json:"batch"` // lookups of one call, 1: one at a time; 0: a build
	Mops    float64 `json:"mops"`  // millions of records or lookups per second, the median
	MopsMin float64 `json:"mopsMin"`
	MopsMax float64 `json:"mopsMax"`
	Runs    int     `json:"runs"`

	of IndexPoint
}

// IndexSetting is what all results have in common.
type IndexSetting struct {
	Records    int `json:"records"`
	Lookups    int `json:"lookups"` // of each rank
	KeyBytes   int `json:"keyBytes"`
	ValueBytes int `json:"valueBytes"`
}

// IndexReport is what has been measured of indexes. TableBytes of Machine is the memory of
// the largest.
type IndexReport struct {
	Machine Machine       `json:"machine"`
	Setting IndexSetting  `json:"setting"`
	Results []IndexResult `json:"results"`
	// Samples are all measurements in the order in which they were made.
	Samples []IndexSample `json:"-"`
}

// Report sums up the samples so far. command is how they were asked for.
func (b *IndexBench) Report(command string) *IndexReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &IndexReport{Machine: thisMachine(command), Samples: slices.Clone(b.samples),
		Results: []IndexResult{}, Setting: IndexSetting{Records: b.cfg.Records,
			Lookups: b.cfg.Lookups, KeyBytes: b.cfg.KeyBytes, ValueBytes: b.cfg.ValueBytes}}
	least := slices.Min(b.cfg.Loads)
	r.Machine.Buckets, r.Machine.TableBytes = uint64(float64(b.cfg.Records)/least), b.bytes
	for _, s := range r.Samples {
		if r.find(s.IndexPoint) == nil {
			r.Results = append(r.Results, r.sumUp(s.IndexPoint))
		}
	}
	slices.SortStableFunc(r.Results, func(a, b IndexResult) int {
		return cmp.Or(strings.Compare(string(a.Work), string(b.Work)), cmp.Compare(a.Load, b.Load),
			cmp.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Batch, b.Batch))
	})
	return r
}

// find is the result of a point, nil if there is none.
func (r *IndexReport) find(of IndexPoint) *IndexResult {
	for i := range r.Results {
		if r.Results[i].of == of {
			return &r.Results[i]
		}
	}
	return nil
}

func (r *IndexReport) sumUp(of IndexPoint) IndexResult {
	is := IndexResult{Work: of.Work, Impl: of.Name(), Load: of.Load, Ranks: of.Ranks,
		Batch: of.Batch, of: of}
	var rates []float64
	for i := range r.Samples {
		if s := &r.Samples[i]; s.IndexPoint == of {
			rates = append(rates, s.Mops())
		}
	}
	is.Runs = len(rates)
	is.Mops, is.MopsMin, is.MopsMax = median(rates), slices.Min(rates), slices.Max(rates)
	return is
}

// WriteText writes a table for people.
func (r *IndexReport) WriteText(w io.Writer) error {
	m, is := &r.Machine, &r.Setting
	head := printer{w: w}
	head.printf("%s, %d cores, %s %s/%s\n%s\n", m.CPU, m.Cores, m.Go, m.OS, m.Arch, m.Command)
	head.printf("%s records with keys of %d and values of %d bytes, the largest table has %s; a "+
		"rank looks up %s keys\nthat are there. M/s are millions of records or lookups a second "+
		"of all ranks together.\n\n", Count(uint64(is.Records)), is.KeyBytes, is.ValueBytes,
		humanize.IBytes(m.TableBytes), Count(uint64(is.Lookups)))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t, err: head.err}
	p.printf("work\timpl\tload\tranks\tbatch\tM/s\tmin\tmax\truns\t\n")
	for i := range r.Results {
		is := &r.Results[i]
		p.printf("%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%d\t\n", is.Work, is.Impl, number(is.Load),
			is.Ranks, orNone(float64(is.Batch), 0), rateText(is.Mops), rateText(is.MopsMin),
			rateText(is.MopsMax), is.Runs)
	}
	if p.err != nil {
		return p.err
	}
	return t.Flush()
}

// WriteJSON writes one object with the keys machine, setting and results.
func (r *IndexReport) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchfmt writes the samples in the format of Go benchmarks, for benchstat:
// benchstat -col /impl compares the implementations.
func (r *IndexReport) WriteBenchfmt(w io.Writer) error {
	p := printer{w: w}
	p.benchHead(&r.Machine)
	for i := range r.Samples {
		s := &r.Samples[i]
		p.printf("BenchmarkIndex/work=%s/impl=%s/load=%s/batch=%d/ranks=%d-%d\t%d\t%.4g ns/op"+
			"\t%.5g Mop/s\n", s.Work, s.Name(), number(s.Load), s.Batch, s.Ranks,
			runtime.GOMAXPROCS(0), s.Operations, 1e3/s.Mops(), s.Mops())
	}
	return p.err
}
