package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
)

// KVResult sums up the samples of a case. The field names are those of the JSON output.
type KVResult struct {
	Workload KVWorkload `json:"workload"`
	Ranks    int        `json:"ranks"`
	Batch    int        `json:"batch"` // 1: one operation at a time
	Kops     float64    `json:"kops"`  // thousands of operations per second, the median
	KopsMin  float64    `json:"kopsMin"`
	KopsMax  float64    `json:"kopsMax"`
	// Latencies of all runs together; null where there were no such operations. In workload F
	// a write is a read and a write.
	Reads  *Latencies `json:"reads"`
	Writes *Latencies `json:"writes"`
	// Counts of all ranks and runs.
	RoundTrips float64 `json:"roundTrips"` // mean of a get or put
	Lost       uint64  `json:"lost"`       // compare-and-swaps lost to others
	Wrong      uint64  `json:"wrong"`      // reads that have not found what was written
	Runs       int     `json:"runs"`

	took *kvLatencies
}

// KVSetting is what all results have in common.
type KVSetting struct {
	Records    int  `json:"records"`
	KeyBytes   int  `json:"keyBytes"`
	ValueBytes int  `json:"valueBytes"`
	Copies     bool `json:"copies"`     // slots have copies of pairs
	Operations int  `json:"operations"` // of a rank
}

// KVReport is what has been measured of maps. The sizes of Machine are those of the job with
// most ranks.
type KVReport struct {
	Machine Machine    `json:"machine"`
	Setting KVSetting  `json:"setting"`
	Results []KVResult `json:"results"`
	// Samples are all measurements in the order in which they were made.
	Samples []KVSample `json:"-"`
}

// Report sums up the samples so far. command is how they were asked for.
func (b *KVBench) Report(command string) *KVReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	cfg := &b.cfg
	r := &KVReport{Machine: thisMachine(command), Samples: slices.Clone(b.samples),
		Setting: KVSetting{Records: cfg.Records, KeyBytes: cfg.KeyBytes,
			ValueBytes: cfg.ValueBytes, Copies: cfg.copies(), Operations: cfg.Operations},
		Results: []KVResult{}}
	r.Machine.HugePages = b.huge
	var ranks []int
	for i := range r.Samples {
		ranks = append(ranks, r.Samples[i].Ranks)
	}
	slices.Sort(ranks)
	for _, w := range KVWorkloads() {
		for _, batch := range cfg.Batches {
			for _, n := range slices.Compact(slices.Clone(ranks)) {
				r.sumUp(KVCase{w, n, batch})
			}
		}
	}
	if len(ranks) > 0 {
		most := ranks[len(ranks)-1]
		of := cfg.mapConfig(most)
		r.Machine.Buckets = of.SlotsPerRank * uint64(most)
		slot := uint64(8)
		if of.Copies {
			slot = 32
		}
		r.Machine.TableBytes = r.Machine.Buckets*slot + of.BytesPerRank*uint64(most)
	}
	return r
}

// sumUp adds the result of a case, if there are samples.
func (r *KVReport) sumUp(of KVCase) {
	is := KVResult{Workload: of.Workload, Ranks: of.Ranks, Batch: of.Batch,
		took: newKVLatencies()}
	var rates []float64
	var trips, calls uint64
	for i := range r.Samples {
		s := &r.Samples[i]
		if s.KVCase != of {
			continue
		}
		rates = append(rates, s.Kops())
		calls += s.Calls
		trips += s.RoundTrips
		is.Lost += s.Lost
		is.Wrong += s.Wrong
		is.took.reads.Merge(s.took.reads)
		is.took.writes.Merge(s.took.writes)
	}
	if is.Runs = len(rates); is.Runs == 0 {
		return
	}
	is.Kops, is.KopsMin, is.KopsMax = median(rates), slices.Min(rates), slices.Max(rates)
	is.Reads, is.Writes = latenciesOf(is.took.reads), latenciesOf(is.took.writes)
	is.RoundTrips = float64(trips) / float64(max(1, calls))
	r.Results = append(r.Results, is)
}

// WriteText writes a table for people.
func (r *KVReport) WriteText(w io.Writer) error {
	m, is := &r.Machine, &r.Setting
	head := printer{w: w}
	head.printf("%s, %d cores, huge pages: %s, %s %s/%s\n%s\n", m.CPU, m.Cores, m.HugePages, m.Go,
		m.OS, m.Arch, m.Command)
	head.printf("%d records, keys of %d bytes, values of %d bytes; Zipf 0.99; a rank does %d "+
		"operations\n%s slots, %s with items; kop/s are thousands of operations a second of all "+
		"ranks together\nan operation in a batch takes as long as the batch; round trips are "+
		"those of a get or put;\nwhat follows them is counted in all runs\n\n", is.Records,
		is.KeyBytes, is.ValueBytes, is.Operations, Count(m.Buckets), humanize.IBytes(m.TableBytes))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t, err: head.err}
	p.printf("workload\tbatch\tranks\tkop/s\tmin\tmax\truns\tread p50\tp99\tp99.9\twrite p50\t" +
		"p99\tp99.9\tround trips\tlost\twrong\t")
	for i := range r.Results {
		is := &r.Results[i]
		p.printf("\n%s\t%d\t%d\t%s\t%s\t%s\t%d\t%s\t%s\t%.3f\t%d\t%d\t", is.Workload, is.Batch,
			is.Ranks, rateText(is.Kops), rateText(is.KopsMin), rateText(is.KopsMax), is.Runs,
			is.Reads.text(), is.Writes.text(), is.RoundTrips, is.Lost, is.Wrong)
	}
	p.printf("\n")
	if p.err != nil {
		return p.err
	}
	return t.Flush()
}

// text has three cells of a table.
func (l *Latencies) text() string {
	if l == nil {
		return "-\t-\t-"
	}
	return timeText(l.P50) + "\t" + timeText(l.P99) + "\t" + timeText(l.P999)
}

// timeText has three digits or less.
func timeText(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%dns", ns)
	case d < time.Millisecond:
		return fmt.Sprintf("%.3gus", float64(ns)/1e3)
	}
	return fmt.Sprintf("%.3gms", float64(ns)/1e6)
}

// WriteJSON writes one object with the keys machine, setting and results.
func (r *KVReport) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchfmt writes the samples in the format of Go benchmarks, for benchstat.
func (r *KVReport) WriteBenchfmt(w io.Writer) error {
	p := printer{w: w}
	p.benchHead(&r.Machine)
	for i := range r.Samples {
		s := &r.Samples[i]
		p.printf("BenchmarkKV/workload=%s/batch=%d/ranks=%d-%d\t%d\t%.4g ns/op\t%.5g kop/s\t%d "+
			"lost\t%d wrong\n", s.Workload, s.Batch, s.Ranks, runtime.GOMAXPROCS(0), s.Operations,
			1e6/s.Kops(), s.Kops(), s.Lost, s.Wrong)
	}
	return p.err
}
