package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/bench"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/ship"
)

// cacheFlags are the flags of bench cache as given. Ranks, output and progress are those of
// bench set.
type cacheFlags struct {
	benchFlags
	modes, laws, workloads []string
	accesses               []string
	batches                []int
	operations, buckets    string
	keySpace               string
	keyBytes, valueBytes   int
}

func newBenchCache() *cobra.Command {
	var f cacheFlags
	cmd := &cobra.Command{
		Use:   "cache [-n RANKS]",
		Short: "Measure the cache in its three modes of consistency",
		Args:  args(cobra.NoArgs),
		Long: `Measures how many operations a second the cache does in its three modes (lock-free,
fine, coarse), side by side, with the workloads of Lübke, De Lucia, Petri, Schnor:
MPI-DHT as Surrogate Model, section 5.2. Runs are interleaved and results are medians.
Every value that is read is compared with what was written for its key; a wrong one
is counted, and then the exit code is 1.
Started by farhash run, mpirun, srun or torchrun every process is a rank; otherwise
-n ranks run inside this process, several numbers of them one after the other.

Workloads: write (an empty cache), read (what the same rank has written), mixed (95%
reads and 5% writes). Keys are drawn evenly (uniform) or with a skew of 0.99 (zipf).

--access says how batches reach other hosts. On one host ranks work on memory that they
see, and it makes no difference.`,
		Example: `  farhash bench cache
  farhash bench cache -n 4 --workload write --keys zipf
  farhash bench cache -n 1,2,4 --plot cache.png
  farhash bench cache --mode lock-free --batch 1,64,1024 --json
  farhash run -n 4 -- farhash bench cache --ops 500000 --buckets 1Mi
  farhash run --rendezvous 10.0.0.1:7777 --nnodes 2 --node-rank 0 --nproc 2 \
    --token-file token -- farhash bench cache --access one-sided,shipped
  mpirun -n 4 farhash bench cache --ops 5000 --batch 1`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntSliceVarP(&f.ranks, "ranks", "n", []int{1, 2, 4}, "ranks inside this process, a list")
	flags.StringSliceVar(&f.modes, "mode", modeNames(), "modes of consistency")
	flags.StringSliceVar(&f.laws, "keys", texts(bench.AllCacheKeys()), "how keys are drawn")
	flags.StringSliceVar(&f.workloads, "workload", texts(bench.CacheWorkloads()), "what ranks do")
	flags.StringSliceVar(&f.accesses, "access", []string{ship.Auto.String()},
		"how batches reach other hosts, a list: auto, one-sided, shipped")
	flags.IntSliceVar(&f.batches, "batch", []int{1, bench.DefaultBatch},
		"operations of one call, a list; 1: one at a time")
	flags.StringVar(&f.operations, "ops", fmt.Sprint(bench.DefaultCacheOperations),
		"operations of each rank and workload (the paper: 500000)")
	flags.StringVar(&f.buckets, "buckets", bench.Count(bench.DefaultCacheBuckets),
		"buckets of each rank, such as 1Mi, 2^20 or 1000000")
	flags.StringVar(&f.keySpace, "key-space", fmt.Sprint(bench.DefaultKeySpace),
		"how many keys there are")
	flags.IntVar(&f.keyBytes, "key-bytes", bench.DefaultKeyBytes, "length of keys")
	flags.IntVar(&f.valueBytes, "value-bytes", bench.DefaultValueBytes, "length of values")
	flags.IntVar(&f.runs, "runs", 3, "how often everything is measured")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.benchfmt, "benchfmt", false,
		"print all runs as Go benchmarks, for benchstat")
	flags.StringVar(&f.plot, "plot", "", "draw into a file ending in .svg or .png as well")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	flags.BoolVar(&f.direct, "direct", true,
		"use memory directly; =false takes the one-sided path everywhere")
	return cmd
}

func modeNames() (names []string) {
	for _, mode := range bench.CacheModes() {
		names = append(names, mode.String())
	}
	return names
}

// run measures and prints. What was measured before a signal is printed as well.
func (f *cacheFlags) run(ctx context.Context) error {
	cfg, err := f.config()
	if err != nil {
		return usage(err)
	}
	b, err := bench.NewCache(cfg)
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
	err = f.measure(ctx, b.Round, opts, func() benchReport { return b.Report(commandLine()) })
	if n := b.Wrong(); n > 0 {
		return errors.Join(err, fmt.Errorf("%d values were read that nobody has written for their "+
			"key: the cache is broken", n))
	}
	return err
}

// config is what the flags ask for.
func (f *cacheFlags) config() (cfg bench.CacheConfig, err error) {
	cfg = bench.CacheConfig{Keys: named[bench.CacheKeys](f.laws),
		Workloads: named[bench.CacheWorkload](f.workloads), Batches: f.batches,
		KeyBytes: f.keyBytes, ValueBytes: f.valueBytes, Progress: f.progress()}
	if err := f.check(); err != nil {
		return cfg, err
	}
	for _, name := range f.modes {
		i := slices.Index(modeNames(), strings.TrimSpace(name))
		if i < 0 {
			return cfg, fmt.Errorf("--mode: there is no %q, only %v", name, modeNames())
		}
		cfg.Modes = append(cfg.Modes, bench.CacheModes()[i])
	}
	for _, name := range f.accesses {
		access, err := ship.Parse(strings.TrimSpace(name))
		if err != nil {
			return cfg, fmt.Errorf("--access must be auto, one-sided or shipped, not %q", name)
		}
		cfg.Accesses = append(cfg.Accesses, access)
	}
	operations, err := parseCount("--ops", f.operations)
	if err != nil {
		return cfg, err
	}
	keySpace, err := parseCount("--key-space", f.keySpace)
	if err != nil {
		return cfg, err
	}
	cfg.Operations, cfg.KeySpace = int(operations), int(keySpace)
	cfg.BucketsPerRank, err = parseCount("--buckets", f.buckets)
	return cfg, err
}

// check refuses what config does not.
func (f *cacheFlags) check() error {
	for flag, given := range map[string]int{"-n": len(f.ranks), "--mode": len(f.modes),
		"--keys": len(f.laws), "--access": len(f.accesses), "--workload": len(f.workloads),
		"--batch": len(f.batches)} {
		if given == 0 {
			return fmt.Errorf("%s needs a value", flag)
		}
	}
	if f.json && f.benchfmt {
		return errors.New("--json and --benchfmt exclude each other")
	}
	if f.runs < 1 || f.runs > 1000 {
		return fmt.Errorf("--runs must be 1 to 1000, not %d", f.runs)
	}
	if f.keyBytes < 1 || f.valueBytes < 1 {
		return fmt.Errorf("--key-bytes and --value-bytes must be positive, not %d and %d",
			f.keyBytes, f.valueBytes)
	}
	sorted := slices.Sorted(slices.Values(f.ranks))
	if least, most := sorted[0], sorted[len(sorted)-1]; least < 1 || most > local.MaxRanks {
		return fmt.Errorf("-n must be 1 to %d, not %v", local.MaxRanks, f.ranks)
	}
	if len(slices.Compact(sorted)) < len(f.ranks) {
		return fmt.Errorf("-n has a number twice in %v; once will do", f.ranks)
	}
	return checkPlot(f.plot)
}

// progress prints every sample.
func (f *cacheFlags) progress() func(bench.CacheSample) {
	return func(s bench.CacheSample) {
		batch := "one at a time"
		if s.Batch > 1 {
			batch = fmt.Sprintf("batches of %d", s.Batch)
		}
		f.tell("%s, %s keys, %s, %s, ranks %d: %.1f kop/s\n", s.Variant(), s.Keys, s.Workload,
			batch, s.Ranks, s.Kops())
	}
}
