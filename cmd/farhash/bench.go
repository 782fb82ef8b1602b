package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/bench"
	"github.com/farhash/farhash/internal/chart"
	"github.com/farhash/farhash/internal/replace"
	"github.com/farhash/farhash/rma/local"
)

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the tables on this machine",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return usage(errors.New("bench needs to know what to measure: bench set, " +
				"bench cache, bench index, bench kv or bench net"))
		},
	}
	cmd.AddCommand(newBenchSet(), newBenchCache(), newBenchIndex(), newBenchKV(), newBenchNet())
	return cmd
}

// benchFlags are the flags of bench set as given.
type benchFlags struct {
	ranks                  []int
	impls, workloads       []string
	keys                   string
	buckets, peerElements  string
	from, to               float64
	batch, chunk, chunks   int
	elementBytes           int
	runs                   int
	json, benchfmt, table1 bool
	direct, quiet          bool
	plot                   string

	launched bool
	launcher string
	changed  func(flag string) bool
	sizes    struct{ buckets, peerElements uint64 }
}

func newBenchSet() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "set [-n RANKS]",
		Short: "Measure find-or-put, beside other maps and the limit of the memory",
		Args:  args(cobra.NoArgs),
		Long: `Measures how many operations a second the set does, beside sync.Map, xsync.Map and a
map divided among mutexes, beside a bare loop of compare-and-swaps, and beside what
the memory of this machine allows. Runs are interleaved and results are medians.
Started by farhash run, mpirun, srun or torchrun every process is a rank; otherwise
-n ranks run inside this process, several numbers of them one after the other.

Workloads: fill (inserts of distinct words), mixed (50% finds and 50% inserts), read
(80% and 20%), write (20% and 80%), find (finds only, between the loads).

Implementations: ` + join(bench.Impls()) + `.
With --element-bytes: ` + join(bench.ElementImpls()) + `.

With --table1 it measures latency and round trips of single operations by load and
chunk size instead, on the one-sided path, beside those printed in Table 1 of
Oortwijn, van Dijk, van de Pol: A Distributed Hash Table for Shared Memory, 2015.`,
		Example: `  farhash bench set
  farhash bench set -n 1,2 --workload mixed --impl scalar,batch,limit --plot speed.svg
  farhash bench set --to 0.9 --benchfmt > new.txt
  farhash bench set --element-bytes 16 --from 0.6 --to 0.8 --workload fill,read,find
  farhash run -n 2 -- farhash bench set --buckets 16Mi
  farhash bench set --table1 --plot table1.png`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntSliceVarP(&f.ranks, "ranks", "n", []int{1}, "ranks inside this process, a list")
	flags.StringSliceVar(&f.impls, "impl", nil, "what is measured (default: "+
		join(bench.DefaultImpls())+"; with --element-bytes all there are)")
	flags.StringSliceVar(&f.workloads, "workload", []string{string(bench.Fill)},
		"what they do: "+join(bench.Workloads()))
	flags.StringVar(&f.keys, "keys", string(bench.Random), "words: random or sequential")
	flags.IntVar(&f.elementBytes, "element-bytes", 0,
		"length of the elements; 0 measures the set of words")
	flags.StringVar(&f.buckets, "buckets", "",
		"size of the table, such as 16Mi, 2^24 or 1000000 (default: 128Mi or less, by memory)")
	flags.Float64Var(&f.from, "from", 0, "load of the table before")
	flags.Float64Var(&f.to, "to", 0.5, "load of the table after")
	flags.IntVar(&f.batch, "batch", bench.DefaultBatch,
		"words or elements of one call of the batch operation")
	flags.IntVar(&f.chunk, "chunk", 0, "C, buckets of one get (default: that of the set)")
	flags.IntVar(&f.chunks, "chunks", 0,
		"M, gets before a search gives up (default: that of the set)")
	flags.StringVar(&f.peerElements, "peer-elements", bench.Count(bench.DefaultPeerElements),
		"most that syncmap, xsync and sharded hold: they need several times the memory")
	flags.IntVar(&f.runs, "runs", 3, "how often everything is measured")
	flags.BoolVar(&f.table1, "table1", false, "measure OP Table 1: latency and round trips by load")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.benchfmt, "benchfmt", false,
		"print all runs as Go benchmarks, for benchstat")
	flags.StringVar(&f.plot, "plot", "", "draw into a file ending in .svg or .png as well")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	flags.BoolVar(&f.direct, "direct", true,
		"use memory directly; =false takes the one-sided path everywhere")
	return cmd
}

// run measures and prints. What was measured before a signal is printed as well.
func (f *benchFlags) run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	var err error
	if f.launcher, f.launched, err = farhash.Launched(); err != nil {
		return err
	}
	if f.launched && f.changed("ranks") && !f.quiet {
		fmt.Fprintf(os.Stderr, "farhash: -n is ignored: %s has started the ranks\n", f.launcher)
	}
	if f.table1 {
		return f.runTable1(ctx)
	}
	return f.runThroughput(ctx)
}

// check refuses flags that make no sense.
func (f *benchFlags) check() (err error) {
	switch {
	case f.json && f.benchfmt:
		return errors.New("--json and --benchfmt exclude each other")
	case f.runs < 1 || f.runs > 1000:
		return fmt.Errorf("--runs must be 1 to 1000, not %d", f.runs)
	case len(f.ranks) == 0:
		return errors.New("-n needs a number of ranks")
	case f.changed("impl") && len(f.impls) == 0:
		return errors.New("--impl needs an implementation")
	case len(f.workloads) == 0:
		return errors.New("--workload needs a workload")
	case f.batch < 1:
		return fmt.Errorf("--batch must be at least 1, not %d", f.batch)
	}
	for i, n := range f.ranks {
		if n < 1 || n > local.MaxRanks {
			return fmt.Errorf("-n must be 1 to %d, not %d", local.MaxRanks, n)
		}
		if slices.Contains(f.ranks[:i], n) {
			return fmt.Errorf("-n has %d twice; once will do", n)
		}
	}
	if f.buckets != "" {
		if f.sizes.buckets, err = parseCount("--buckets", f.buckets); err != nil {
			return err
		}
	}
	if f.sizes.peerElements, err = parseCount("--peer-elements", f.peerElements); err != nil {
		return err
	}
	if err := f.checkTable1(); err != nil {
		return err
	}
	return checkPlot(f.plot)
}

// checkTable1 refuses flags that --table1 would not heed.
func (f *benchFlags) checkTable1() error {
	if !f.table1 {
		return nil
	}
	for _, flag := range []string{"ranks", "impl", "workload", "element-bytes", "from", "to",
		"batch", "chunk", "chunks", "peer-elements", "direct"} {
		if f.changed(flag) {
			return fmt.Errorf("--%s and --table1 exclude each other: the paper says what "+
				"Table 1 is", flag)
		}
	}
	return nil
}

// checkPlot makes sure before hours of measuring that the plot can be written.
func checkPlot(path string) error {
	if path == "" {
		return nil
	}
	if _, err := chart.Format(path); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("--plot %s: there is no folder %s", path, dir)
	}
	if _, _, err := replace.Target(path); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}

// parseCount reads a number such as 128Mi, 2^27 or 1000000.
func parseCount(flag, text string) (uint64, error) {
	bad := fmt.Errorf("%s %q is no number such as 16Mi, 2^24 or 1000000", flag, text)
	if power, found := strings.CutPrefix(text, "2^"); found {
		n, err := strconv.Atoi(power)
		if err != nil || n < 0 || n >= bits.UintSize-1 {
			return 0, bad
		}
		return 1 << n, nil
	}
	if strings.HasSuffix(strings.ToLower(text), "b") {
		return 0, bad // bytes are not counted here
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return 0, bad
	}
	return n, nil
}

// texts are names as strings.
func texts[T ~string](names []T) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = string(name)
	}
	return all
}

// named is the reverse of texts.
func named[T ~string](all []string) []T {
	names := make([]T, len(all))
	for i, text := range all {
		names[i] = T(strings.TrimSpace(text))
	}
	return names
}

func join[T ~string](names []T) string { return strings.Join(texts(names), ", ") }
