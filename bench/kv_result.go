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
	Impl     KVImpl     `json:"impl"`
	Ranks    int        `json:"ranks"` // with a server: clients
	Batch    int        `json:"batch"` // 1: one operation at a time
	Kops     float64    `json:"kops"`  // thousands of operations per second, the median
	KopsMin  float64    `json:"kopsMin"`
	KopsMax  float64    `json:"kopsMax"`
	// CoreKops is what one core does, the median: see KVSample.CoreKops.
	CoreKops float64 `json:"coreKops"`
	// RatioToRedis is CoreKops divided by that of Redis with the batches that are best for it,
	// for the same workload and ranks; null where Redis was not measured, and for itself.
	RatioToRedis *float64 `json:"ratioToRedis"`
	// RatioToOneSided is Kops divided by that of the map with one-sided operations, for the same
	// case; null where that was not measured, and for itself.
	RatioToOneSided *float64 `json:"ratioToOneSided"`
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
	// Redis is the version of the server and the network to it, if there was one.
	Redis string `json:"redis,omitempty"`
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
			ValueBytes: cfg.ValueBytes, Copies: cfg.copies(), Operations: cfg.Operations,
			Redis: b.redis},
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
				for _, impl := range cfg.Impls {
					r.sumUp(KVCase{w, impl, n, batch})
				}
			}
		}
	}
	for i := range r.Results {
		r.relate(&r.Results[i])
	}
	isMap := func(impl KVImpl) bool { return impl != KVRedis }
	if len(ranks) > 0 && slices.ContainsFunc(cfg.Impls, isMap) {
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
	is := KVResult{Workload: of.Workload, Impl: of.Impl, Ranks: of.Ranks, Batch: of.Batch,
		took: newKVLatencies()}
	var rates, cores []float64
	var trips, calls uint64
	for i := range r.Samples {
		s := &r.Samples[i]
		if s.KVCase != of {
			continue
		}
		rates, cores = append(rates, s.Kops()), append(cores, s.CoreKops())
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
	is.CoreKops = median(cores)
	is.Reads, is.Writes = latenciesOf(is.took.reads), latenciesOf(is.took.writes)
	is.RoundTrips = float64(trips) / float64(max(1, calls))
	r.Results = append(r.Results, is)
}

// relate compares with Redis, and with one-sided operations.
func (r *KVReport) relate(is *KVResult) {
	best := 0.0
	for i := range r.Results {
		other := &r.Results[i]
		if other.Workload != is.Workload || other.Ranks != is.Ranks {
			continue
		}
		if other.Impl == KVRedis {
			best = max(best, other.CoreKops)
		}
		if other.Impl == KVOneSided && other != is && other.Batch == is.Batch && other.Kops > 0 {
			ratio := is.Kops / other.Kops
			is.RatioToOneSided = &ratio
		}
	}
	if is.Impl != KVRedis && best > 0 {
		ratio := is.CoreKops / best
		is.RatioToRedis = &ratio
	}
}

// WriteText writes a table of rates and one of latencies for people.
func (r *KVReport) WriteText(w io.Writer) error {
	m, is := &r.Machine, &r.Setting
	p := printer{w: w}
	p.printf("%s, %d cores, huge pages: %s, %s %s/%s\n%s\n", m.CPU, m.Cores, m.HugePages, m.Go,
		m.OS, m.Arch, m.Command)
	p.printf("%d records, keys of %d bytes, values of %d bytes; Zipf 0.99; a rank does %d "+
		"operations\n", is.Records, is.KeyBytes, is.ValueBytes, is.Operations)
	if m.Buckets > 0 {
		p.printf("the map has %s slots, %s with items\n", Count(m.Buckets),
			humanize.IBytes(m.TableBytes))
	}
	p.printf("kop/s are thousands of operations a second of all ranks together, medians of the " +
		"runs; a core's are\ndivided by the ranks; round trips are those of a get or put, lost " +
		"and wrong are counted in all runs\n")
	if is.Redis != "" {
		p.printf("Redis %s: ranks are clients of one server, and batches are pipelines; a "+
			"core's kop/s are\nthose of a second of the server's CPU time, its clients' left "+
			"out; / Redis is what a core does\nbeside the best of Redis for that workload and "+
			"ranks\n", is.Redis)
	}
	if p.printf("\n"); p.err != nil {
		return p.err
	}
	if err := r.writeRates(w); err != nil {
		return err
	}
	return r.writeLatencies(w)
}

func (r *KVReport) writeRates(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t}
	p.printf("workload\timpl\tbatch\tranks\tkop/s\tmin\tmax\truns\ta core\t/ Redis\t" +
		"/ one-sided\tround trips\tlost\twrong\t\n")
	for i := range r.Results {
		is := &r.Results[i]
		p.printf("%s\t%s\t%d\t%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%.3f\t%d\t%d\t\n",
			is.Workload, is.Impl, is.Batch, is.Ranks, rateText(is.Kops), rateText(is.KopsMin),
			rateText(is.KopsMax), is.Runs, rateText(is.CoreKops), shortRatio(is.RatioToRedis),
			shortRatio(is.RatioToOneSided), is.RoundTrips, is.Lost, is.Wrong)
	}
	if p.err != nil {
		return p.err
	}
	return t.Flush()
}

func (r *KVReport) writeLatencies(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: w}
	p.printf("\nLatencies of all runs; an operation in a batch takes as long as the batch\n\n")
	p.w = t
	p.printf("workload\timpl\tbatch\tranks\tread p50\tp99\tp99.9\tmax\twrite p50\tp99\t" +
		"p99.9\tmax\t\n")
	for i := range r.Results {
		is := &r.Results[i]
		p.printf("%s\t%s\t%d\t%d\t%s\t%s\t\n", is.Workload, is.Impl, is.Batch, is.Ranks,
			is.Reads.text(), is.Writes.text())
	}
	if p.err != nil {
		return p.err
	}
	return t.Flush()
}

// text has four cells of a table.
func (l *Latencies) text() string {
	if l == nil {
		return "-\t-\t-\t-"
	}
	return timeText(l.P50) + "\t" + timeText(l.P99) + "\t" + timeText(l.P999) + "\t" +
		timeText(l.Max)
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
		p.printf("BenchmarkKV/impl=%s/workload=%s/batch=%d/ranks=%d-%d\t%d\t%.4g ns/op\t%.5g "+
			"kop/s\t%.5g core-kop/s\t%d lost\t%d wrong\n", s.Impl, s.Workload, s.Batch, s.Ranks,
			runtime.GOMAXPROCS(0), s.Operations, 1e6/s.Kops(), s.Kops(), s.CoreKops(), s.Lost,
			s.Wrong)
	}
	return p.err
}
