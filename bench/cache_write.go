package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"github.com/farhash/farhash/ship"
)

// WriteText writes a table for people.
func (r *CacheReport) WriteText(w io.Writer) error {
	m, is := &r.Machine, &r.Setting
	head := printer{w: w}
	head.printf("%s, %d cores, huge pages: %s, %s %s/%s\n%s\n", m.CPU, m.Cores, m.HugePages, m.Go,
		m.OS, m.Arch, m.Command)
	head.printf("%d keys of %d bytes, values of %d bytes; a rank has %s buckets (%s) and does %d "+
		"operations\n", is.KeySpace, is.KeyBytes, is.ValueBytes, Count(is.BucketsPerRank),
		humanize.IBytes(m.TableBytes/max(1, m.Buckets/is.BucketsPerRank)), is.Operations)
	head.printf("kop/s are thousands of operations a second of all ranks together; what follows " +
		"the ratios\nis counted in all runs\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t, err: head.err}
	p.printf("keys\tworkload\tbatch\tranks\tmode\tkop/s\tmin\tmax\truns\t/ fine\t/ coarse\t" +
		"/ one-sided\thits\tevicted\tmismatches\twrong\t")
	for i := range r.Results {
		is := &r.Results[i]
		p.printf("\n%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t",
			is.Keys, is.Workload, is.Batch, is.Ranks, is.of.Variant(), rateText(is.Kops),
			rateText(is.KopsMin), rateText(is.KopsMax), is.Runs, shortRatio(is.RatioToFine),
			shortRatio(is.RatioToCoarse), shortRatio(is.RatioToOneSided), hitText(is), is.Evicted,
			is.Mismatches, is.Wrong)
	}
	p.printf("\n")
	if p.err != nil {
		return p.err
	}
	return t.Flush()
}

// rateText has three digits or more.
func rateText(kops float64) string {
	digits := 0
	for limit := 100.0; kops < limit && digits < 3; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(kops, 'f', digits, 64)
}

func shortRatio(ratio *float64) string {
	if ratio == nil {
		return "-"
	}
	return rateText(*ratio)
}

// hitText is the share of reads that found their key.
func hitText(r *CacheResult) string {
	if r.Reads == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(r.Hits)/float64(r.Reads))
}

// WriteJSON writes one object with the keys machine, setting and results.
func (r *CacheReport) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchfmt writes the samples in the format of Go benchmarks, for benchstat:
// benchstat -col /mode compares the modes.
func (r *CacheReport) WriteBenchfmt(w io.Writer) error {
	p := printer{w: w}
	p.benchHead(&r.Machine)
	for i := range r.Samples {
		s := &r.Samples[i]
		access := ""
		if s.Access != ship.Auto {
			access = "/access=" + s.Access.String()
		}
		p.printf("BenchmarkCache/mode=%v/keys=%s/workload=%s/batch=%d/ranks=%d%s-%d\t%d\t"+
			"%.4g ns/op\t%.5g kop/s\t%d mismatches\t%d wrong\n", s.Mode, s.Keys, s.Workload,
			s.Batch, s.Ranks, access, runtime.GOMAXPROCS(0), s.Operations, 1e6/s.Kops(),
			s.Kops(), s.Stats.Mismatches, s.Wrong)
	}
	return p.err
}
