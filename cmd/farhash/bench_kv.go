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
	"github.com/farhash/farhash/rma/local"
)

// kvFlags are the flags of bench kv as given. Ranks, output and progress are those of bench
// set.
type kvFlags struct {
	benchFlags
	workloads, impls           []string
	batches                    []int
	records, operations, slots string
	keyBytes, valueBytes       int
	redis                      string
}

func newBenchKV() *cobra.Command {
	var f kvFlags
	cmd := &cobra.Command{
		Use:   "kv [-n RANKS]",
		Short: "Measure the map with YCSB, or count its round trips beside the paper's",
		Args:  args(cobra.NoArgs),
		Long: `Measures how many operations a second a map of package kv does, and their latencies,
with the workloads of YCSB on records drawn with a skew of 0.99 (Zipf). Runs are
interleaved and results are medians. Every value that is read is compared with what
was written for its key; a wrong or missing one is counted, and then the exit code is 1.
Started by farhash run, mpirun, srun or torchrun every process is a rank; otherwise
-n ranks run inside this process, several numbers of them one after the other.

Workloads: load (puts of new keys), a (50% reads, 50% updates), b (95% and 5%), c
(reads), f (50% reads, 50% reads with a write of the same record), d (95% reads of the
newest records, 5% inserts).

kv is the map as it is by default; one-sided and shipped are the same map where batches
reach other hosts by one-sided operations alone, or travel to them. On one host ranks work
on memory that they see, and the three are alike.

With --redis a Redis server does the same in turns with the map: ranks are its clients,
and batches are pipelines. "start" starts redis-server, without persistence and on a
socket in a temporary folder of this host. A server given as HOST:PORT or unix:PATH must
have no keys, and has none in the end. Rates are compared by core: a rank on one side, a
second of the server's CPU time on the other; what its clients spend is not counted.

With --table1 it counts round trips of put, get and delete by load instead, beside
Table 1 of Szepesi, Wong, Cassell, Brecht: Designing A Low-Latency Cuckoo Hash Table
for Write-Intensive Workloads Using RDMA, 2014 (NE). There is one writer, on the
one-sided path. Nothing is timed, so the counts are the same on every machine.`,
		Example: `  farhash bench kv
  farhash bench kv -n 1,2 --workload a,b,c --plot kv.svg
  farhash bench kv --direct=false --batch 1,16,64 --json
  farhash run -n 2 -- farhash bench kv --records 4Mi --workload b
  farhash run --rendezvous 10.0.0.1:7777 --nnodes 2 --node-rank 0 --nproc 2 \
    --token-file token -- farhash bench kv --impl one-sided,shipped --workload b
  farhash bench kv --redis start -n 1 --workload b,c --batch 1,16,64,128
  farhash bench kv --table1 --plot table1.png`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context())
		},
	}
	f.define(cmd)
	return cmd
}

func (f *kvFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.table1, "table1", false, "count NE Table 1: round trips by load")
	flags.IntSliceVarP(&f.ranks, "ranks", "n", []int{1, 2}, "ranks inside this process, a list")
	flags.StringSliceVar(&f.workloads, "workload", texts(bench.KVWorkloads()), "what ranks do")
	flags.IntSliceVar(&f.batches, "batch", []int{1, bench.DefaultKVBatch},
		"operations of one call, a list; 1: one at a time")
	flags.StringVar(&f.records, "records", fmt.Sprint(bench.DefaultKVRecords),
		"records of all ranks, such as 1Mi, 2^20 or 1000000")
	flags.StringVar(&f.operations, "ops", fmt.Sprint(bench.DefaultKVOperations),
		"operations of each rank and workload")
	flags.IntVar(&f.keyBytes, "key-bytes", bench.DefaultKVKeyBytes, "length of keys")
	flags.IntVar(&f.valueBytes, "value-bytes", bench.DefaultKVValueBytes, "length of values")
	flags.StringSliceVar(&f.impls, "impl", nil,
		"what is measured: kv, one-sided, shipped, redis (default: kv, and redis if given)")
	flags.StringVar(&f.redis, "redis", "",
		"measure a Redis server as well: start, HOST:PORT or unix:PATH")
	flags.StringVar(&f.slots, "slots", bench.Count(bench.DefaultKVSlots),
		"slots of all ranks that --table1 fills")
	flags.BoolVar(&f.direct, "direct", true,
		"use memory directly; =false takes the one-sided path everywhere")
	flags.IntVar(&f.runs, "runs", 3, "how often everything is done")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.benchfmt, "benchfmt", false,
		"print all runs as Go benchmarks, for benchstat")
	flags.StringVar(&f.plot, "plot", "", "draw into a file ending in .svg or .png as well")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
}

// run measures and prints. What was measured before a signal is printed as well.
func (f *kvFlags) run(ctx context.Context) (err error) {
	if err := f.check(); err != nil {
		return usage(err)
	}
	if f.launcher, f.launched, err = farhash.Launched(); err != nil {
		return err
	}
	if f.launched && f.changed("ranks") {
		f.tell("farhash: -n is ignored: %s has started the ranks\n", f.launcher)
	}
	if f.table1 {
		return f.count(ctx)
	}
	cfg, err := f.config()
	if err != nil {
		return usage(err)
	}
	b, err := bench.NewKV(cfg)
	if err != nil {
		return usage(err)
	}
	var opts []farhash.Option
	if !f.direct {
		opts = append(opts, farhash.OneSided())
	}
	err = f.measure(ctx, b.Round, opts, func() benchReport { return b.Report(commandLine()) })
	err = errors.Join(err, b.Close())
	if n := b.Wrong(); n > 0 {
		return errors.Join(err, fmt.Errorf("%d reads have not found what was written for their "+
			"key: the map or the server is broken", n))
	}
	return err
}

// count does what --table1 asks for.
func (f *kvFlags) count(ctx context.Context) error {
	slots, err := parseCount("--slots", f.slots)
	if err != nil {
		return usage(err)
	}
	counts, err := bench.NewKVCounts(bench.KVCountsConfig{Slots: slots, Progress: f.counted})
	if err != nil {
		return usage(err)
	}
	f.ranks = []int{1}
	return f.measure(ctx, counts.Round, []farhash.Option{farhash.OneSided()},
		func() benchReport { return counts.Report(commandLine()) })
}

// config is what the flags ask for.
func (f *kvFlags) config() (bench.KVConfig, error) {
	cfg := bench.KVConfig{Workloads: named[bench.KVWorkload](f.workloads),
		Impls: named[bench.KVImpl](f.impls), Batches: f.batches, KeyBytes: f.keyBytes,
		ValueBytes: f.valueBytes, Redis: f.redis, Progress: f.measured}
	for _, of := range []struct {
		flag, text string
		to         *int
	}{{"--records", f.records, &cfg.Records}, {"--ops", f.operations, &cfg.Operations}} {
		n, err := parseCount(of.flag, of.text)
		if err != nil {
			return cfg, err
		}
		*of.to = int(min(n, math.MaxInt)) // too many are refused later
	}
	return cfg, nil
}

// check refuses what bench does not.
func (f *kvFlags) check() error {
	for flag, given := range map[string]int{"-n": len(f.ranks), "--workload": len(f.workloads),
		"--batch": len(f.batches)} {
		if given == 0 {
			return fmt.Errorf("%s needs a value", flag)
		}
	}
	switch {
	case len(f.impls) == 0 && f.changed("impl"):
		return errors.New("--impl needs a value")
	case f.json && f.benchfmt:
		return errors.New("--json and --benchfmt exclude each other")
	case f.runs < 1 || f.runs > 1000:
		return fmt.Errorf("--runs must be 1 to 1000, not %d", f.runs)
	case f.redis == "" && f.changed("redis"):
		return errors.New("--redis needs a value")
	case f.keyBytes < 1 || f.valueBytes < 1:
		return fmt.Errorf("--key-bytes and --value-bytes must be positive, not %d and %d",
			f.keyBytes, f.valueBytes)
	case !f.table1 && f.changed("slots"):
		return errors.New("--slots is for --table1; maps for YCSB have room for all records")
	}
	sorted := slices.Sorted(slices.Values(f.ranks))
	if least, most := sorted[0], sorted[len(sorted)-1]; least < 1 || most > local.MaxRanks {
		return fmt.Errorf("-n must be 1 to %d, not %v", local.MaxRanks, f.ranks)
	}
	if len(slices.Compact(sorted)) < len(f.ranks) {
		return fmt.Errorf("-n has a number twice in %v; once will do", f.ranks)
	}
	for _, flag := range []string{"ranks", "workload", "batch", "records", "ops", "key-bytes",
		"value-bytes", "direct", "impl", "redis"} {
		if f.table1 && f.changed(flag) {
			return fmt.Errorf("--%s and --table1 exclude each other: the paper says what "+
				"Table 1 is", flag)
		}
	}
	return checkPlot(f.plot)
}

// counted prints what has been counted at a load.
func (f *kvFlags) counted(pair bench.KVPair, load float64, trips bench.KVTrips) {
	f.tell("%v, load %v: put %.3f, put again %.3f, get %.3f\n", pair, load, trips.PutNew,
		trips.PutPresent, trips.Get)
}

// measured prints a sample.
func (f *kvFlags) measured(s bench.KVSample) {
	f.tell("workload %s, %s, batch %d, ranks %d: %.1f kop/s\n", s.Workload, s.Impl, s.Batch,
		s.Ranks, s.Kops())
}
