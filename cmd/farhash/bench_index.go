package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/bench"
	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// indexFlags are the flags of bench index as given. Ranks, implementations, output and
// progress are those of bench set.
type indexFlags struct {
	benchFlags
	paper                indexPaper
	loads                []float64
	batches              []int
	records, lookups     string
	keyBytes, valueBytes int
	counts               struct{ records, lookups int }
}

func newBenchIndex() *cobra.Command {
	var f indexFlags
	cmd := &cobra.Command{
		Use:   "index [-n RANKS | --table N | --figure N | --all]",
		Short: "Measure building and lookups of the index, or do the experiments of LP",
		Args:  args(cobra.NoArgs),
		Long: `Measures how many records a second an index takes when it is built, and how many keys
a second are looked up, by layout and policy, one at a time and in batches. Runs are
interleaved and results are medians. Every value that is found is held against what was
given to its key; a wrong or missing one is an error.
Started by farhash run, mpirun, srun or torchrun every process is a rank; otherwise
-n ranks run inside this process, several numbers of them one after the other.

Implementations: ` + join(bench.IndexImpls()) + `.
The direct ones have loops over memory, the others take the one-sided path.

With --table 1 to 4, --figure 6 to 13 and --all it does the experiments of Wang, Yang,
Kimura, Swart, Blanas: Efficient Usage of One-Sided RDMA for Linear Probing, ADMS 2020
(LP), beside what is printed there. Each run has other keys.
Tables 1, 3 and 4 count requests and bytes of lookups for keys that are there, beside
what the laws of readsize expect. Costs in ns are those of LP's model on LP's machine.
Nothing is timed, so the counts are the same everywhere.
Table 2 and the figures have throughput and latency, simulated with the latency,
bandwidth, rate of messages and workers of LP, which is the same everywhere, and on
this machine. Figures 7 and 8 are one; figure 13 is computed. Of what LP has as a curve
alone there is what it says in words.
--all takes some minutes. With it --plot x.png writes x-table1.png and so on, and
--json prints an object with the names of the experiments for keys.`,
		Example: `  farhash bench index
  farhash bench index -n 1,2 --records 16Mi --impl ordered/direct,cuckoo/direct
  farhash bench index --direct=false --load 0.5,0.95 --batch 1024 --plot index.png
  farhash run -n 2 -- farhash bench index --key-bytes 16 --value-bytes 100
  farhash bench index --table 1 --plot table1.png
  farhash bench index --figure 10 --plot figure10.png
  farhash bench index --all --plot lp.svg > lp.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntSliceVarP(&f.ranks, "ranks", "n", []int{1, 2}, "ranks inside this process, a list")
	flags.StringSliceVar(&f.impls, "impl", nil, "what is measured (default: all)")
	flags.Float64SliceVar(&f.loads, "load", []float64{index.DefaultLoad}, "loads of the tables")
	flags.IntSliceVar(&f.batches, "batch", []int{1, bench.DefaultBatch},
		"lookups of one call, a list; 1: one at a time")
	flags.IntVar(&f.paper.table, "table", 0, "a table of LP, 1 to 4")
	flags.IntVar(&f.paper.figure, "figure", 0, "a figure of LP, 6 to 13")
	flags.BoolVar(&f.paper.all, "all", false, "all tables and figures of LP")
	flags.StringVar(&f.records, "records", bench.Count(bench.DefaultIndexRecords),
		"records of all ranks, such as 1Mi, 2^20 or 1000000")
	flags.StringVar(&f.lookups, "lookups", "", fmt.Sprintf("lookups of each rank (default: %s; "+
		"of LP's experiments %s)", bench.Count(bench.DefaultIndexLookups),
		bench.Count(bench.DefaultIndexCounted)))
	flags.IntVar(&f.keyBytes, "key-bytes", 4, "length of keys")
	flags.IntVar(&f.valueBytes, "value-bytes", 4, "length of values")
	flags.IntVar(&f.runs, "runs", 3, "how often everything is done")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.benchfmt, "benchfmt", false,
		"print all runs as Go benchmarks, for benchstat")
	flags.StringVar(&f.plot, "plot", "", "draw into a file ending in .svg or .png as well")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	flags.BoolVar(&f.direct, "direct", true,
		"use memory directly; =false takes the one-sided path everywhere")
	return cmd
}

// run measures or counts, and prints. What was there before a signal is printed as well.
func (f *indexFlags) run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	round, report, err := f.bench()
	if err != nil {
		return usage(err)
	}
	if f.launcher, f.launched, err = farhash.Launched(); err != nil {
		return err
	}
	if f.launched && f.changed("ranks") {
		f.tell("farhash: -n is ignored: %s has started the ranks\n", f.launcher)
	}
	var opts []farhash.Option
	if !f.direct {
		opts = append(opts, farhash.OneSided())
	}
	err = f.measure(ctx, round, opts, report)
	if drawing := f.paper.draw(); drawing != nil {
		return errors.Join(err, drawing)
	}
	return err
}

// bench is what the flags ask for.
func (f *indexFlags) bench() (round func(context.Context, rma.Job) error,
	report func() benchReport, err error) {
	if f.paper.given() {
		f.ranks = []int{1} // counts would be the same
		return f.experiments()
	}
	b, err := bench.NewIndex(bench.IndexConfig{Impls: named[bench.IndexImpl](f.impls),
		Loads: f.loads, Batches: f.batches, Records: f.counts.records, Lookups: f.counts.lookups,
		KeyBytes: f.keyBytes, ValueBytes: f.valueBytes, OneSided: !f.direct,
		Progress: f.measured})
	if err != nil {
		return nil, nil, err
	}
	return b.Round, func() benchReport { return b.Report(commandLine()) }, nil
}

// check refuses what the bench does not.
func (f *indexFlags) check() error {
	for flag, given := range map[string]int{"-n": len(f.ranks), "--load": len(f.loads),
		"--batch": len(f.batches)} {
		if given == 0 {
			return fmt.Errorf("%s needs a value", flag)
		}
	}
	switch {
	case f.changed("impl") && len(f.impls) == 0:
		return errors.New("--impl needs an implementation")
	case f.json && f.benchfmt:
		return errors.New("--json and --benchfmt exclude each other")
	case f.runs < 1 || f.runs > 1000:
		return fmt.Errorf("--runs must be 1 to 1000, not %d", f.runs)
	case f.keyBytes < 1 || f.valueBytes < 1:
		return fmt.Errorf("--key-bytes and --value-bytes must be positive, not %d and %d",
			f.keyBytes, f.valueBytes)
	}
	sorted := slices.Sorted(slices.Values(f.ranks))
	if sorted[0] < 1 || sorted[len(sorted)-1] > local.MaxRanks {
		return fmt.Errorf("-n must be 1 to %d, not %v", local.MaxRanks, f.ranks)
	}
	if len(slices.Compact(sorted)) < len(f.ranks) {
		return fmt.Errorf("-n has a number twice in %v; once will do", f.ranks)
	}
	if err := f.checkPaper(); err != nil {
		return err
	}
	if err := f.parseCounts(); err != nil {
		return err
	}
	return checkPlot(f.plot)
}

// parseCounts reads the numbers of records and lookups.
func (f *indexFlags) parseCounts() error {
	for _, count := range []struct {
		flag, text string
		to         *int
	}{
		{"--records", f.records, &f.counts.records}, {"--lookups", f.lookups, &f.counts.lookups},
	} {
		if count.text == "" && !f.changed(count.flag[2:]) {
			continue
		}
		n, err := parseCount(count.flag, count.text)
		if err != nil {
			return err
		}
		*count.to = int(min(n, math.MaxInt32)) // which is refused as well
	}
	return nil
}

// measured prints a sample.
func (f *indexFlags) measured(s bench.IndexSample) {
	how := fmt.Sprintf("batches of %d", s.Batch)
	switch {
	case s.Work == bench.IndexBuild:
		how = "building"
	case s.Batch == 1:
		how = "one at a time"
	}
	f.tell("%s, load %v, ranks %d, %s: %.2f M/s\n", s.Name(), s.Load, s.Ranks, how, s.Mops())
}
