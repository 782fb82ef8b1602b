package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/farhash/farhash/bench"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/simulate"
)

func newSimulate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Predict what the tables would do on a cluster",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return usage(errors.New("simulate needs to know what to simulate: simulate set"))
		},
	}
	cmd.AddCommand(newSimulateSet())
	return cmd
}

// simulateFlags are the flags of simulate set as given.
type simulateFlags struct {
	hosts, procs          []int
	preset, workload      string
	load                  float64
	chunk, chunks         int
	batch, ops            int
	seed                  uint64
	latencyNs, gbps, mops float64
	doublingNs, sharingNs float64
	wordNs                float64
	table1, json, quiet   bool
	plot                  string

	changed func(flag string) bool
}

func newSimulateSet() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "set [--hosts LIST] [--procs LIST]",
		Short: "Predict the throughput of find-or-put by hosts and ranks of each",
		Args:  args(cobra.NoArgs),
		Long: `Runs the set in virtual time on simulated clusters and prints how many operations a
second it would do, beside what Oortwijn, van Dijk, van de Pol: A Distributed Hash
Table for Shared Memory, 2015 ("OP") measured. One core plays all ranks, up to
` + fmt.Sprint(sim.MaxRanks) + ` of them. The same flags print the same bytes.

Presets: das5 (the cluster of OP, fitted to four cells of its Table 1), edr, ndr, roce
and tcp (networks; how they slow down with more hosts and ranks is not known, so
predictions for many are upper bounds). --latency-ns to --word-ns change a preset.

Workloads: ` + join(bench.Workloads()) + `; see bench set.

With --table1 it simulates OP Table 1, latency and round trips by load and chunk size
as well, and prints the error of every cell.

--json prints one object: command, cluster (the parameters: latencyNs is one way,
0 messagesPerSecond are no limit), seed, workload, load, chunk, chunks, batch,
throughput (a list of hosts, procs, operations, mops, mopsHost, nanoseconds, which is
the time of an operation as a rank sees it, paperMops, errorPercent, fitted) and with
--table1 latency (chunk, loadFrom, loadTo, nanoseconds, roundTrips, paperNanoseconds,
paperRoundTrips, errorPercent, fitted) and summary (what, cells, meanPercent,
largestPercent, largest). What the paper does not have is null.`,
		Example: `  farhash simulate set
  farhash simulate set --table1 --plot table1.png
  farhash simulate set --hosts 48,1000,10000 --procs 1,4 --plot beyond.svg
  farhash simulate set --preset edr --hosts 2,16,128 --procs 16 --load 0.8 --batch 64
  farhash simulate set --preset tcp --gbps 100 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context())
		},
	}
	f.register(cmd)
	return cmd
}

// register tells cobra of the flags.
func (f *simulateFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntSliceVar(&f.hosts, "hosts", []int{2, 4, 8, 16, 32, 48}, "numbers of hosts, a list")
	flags.IntSliceVar(&f.procs, "procs", []int{1, 4, 16}, "ranks of each host, a list")
	flags.StringVar(&f.preset, "preset", "das5", "kind of cluster: das5, edr, ndr, roce or tcp")
	flags.StringVar(&f.workload, "workload", string(bench.Mixed), "what they do: "+
		join(bench.Workloads()))
	flags.Float64Var(&f.load, "load", 0, "load of the table before; inserts raise it by up to 0.02")
	flags.IntVar(&f.chunk, "chunk", simulate.DefaultChunk, "C, buckets of one get")
	flags.IntVar(&f.chunks, "chunks", 0,
		"M, gets before a search gives up (default: enough for every load)")
	flags.IntVar(&f.batch, "batch", 1, "words of one call; 1: one operation at a time")
	flags.IntVar(&f.ops, "ops", 0,
		"operations of each rank (default: 100000 by all together, but at least 20)")
	flags.Uint64Var(&f.seed, "seed", 1, "decides everything that is left to chance")
	flags.Float64Var(&f.latencyNs, "latency-ns", 0, "way from host to host, for nothing")
	flags.Float64Var(&f.gbps, "gbps", 0, "bandwidth of a card in each direction, Gb/s")
	flags.Float64Var(&f.mops, "mops", 0,
		"million messages a second of a card in each direction; 0: no limit")
	flags.Float64Var(&f.doublingNs, "doubling-ns", 0,
		"by how much the way grows when the hosts double")
	flags.Float64Var(&f.sharingNs, "sharing-ns", 0,
		"by how much the way grows with each further rank of a host")
	flags.Float64Var(&f.wordNs, "word-ns", 0, "time of a processor for a word that a get brings")
	flags.BoolVar(&f.table1, "table1", false, "simulate OP Table 1")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.StringVar(&f.plot, "plot", "", "draw into a file ending in .svg or .png as well")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
}

// cluster is the preset with what the flags change.
func (f *simulateFlags) cluster() (simulate.Cluster, error) {
	c, err := simulate.Preset(f.preset)
	if err != nil {
		return c, fmt.Errorf("--preset: %w", err)
	}
	for _, over := range []struct {
		flag  string
		given float64
		unit  float64
		to    *float64
	}{
		{"latency-ns", f.latencyNs, 1, &c.LatencyNs}, {"gbps", f.gbps, 1.0 / 8, &c.BytesPerNs},
		{"mops", f.mops, 1e6, &c.MessagesPerSecond}, {"word-ns", f.wordNs, 1, &c.WordNs},
		{"doubling-ns", f.doublingNs, 1, &c.DoublingNs},
		{"sharing-ns", f.sharingNs, 1, &c.SharingNs},
	} {
		if !f.changed(over.flag) {
			continue
		}
		if !(over.given >= 0) || over.flag == "gbps" && over.given == 0 {
			return c, fmt.Errorf("--%s must be positive, not %v", over.flag, over.given)
		}
		*over.to = over.given * over.unit
	}
	return c, nil
}

// check refuses flags that make no sense, and says what is to be simulated.
func (f *simulateFlags) check() (simulate.Config, error) {
	c, err := f.cluster()
	cfg := simulate.Config{Cluster: c, Workload: bench.Workload(f.workload), Load: f.load,
		Chunk: f.chunk, Chunks: f.chunks, Batch: f.batch, Operations: f.ops, Seed: f.seed}
	if err != nil {
		return cfg, err
	}
	if err := checkPlot(f.plot); err != nil {
		return cfg, err
	}
	if f.batch < 1 {
		return cfg, fmt.Errorf("--batch must be at least 1, not %d", f.batch)
	}
	if f.ops < 1 && f.changed("ops") {
		return cfg, fmt.Errorf("--ops must be at least 1, not %d", f.ops)
	}
	if f.table1 {
		for _, flag := range []string{"hosts", "procs", "workload", "load", "chunk", "chunks",
			"batch", "ops"} {
			if f.changed(flag) {
				return cfg, fmt.Errorf("--%s and --table1 exclude each other: the paper says what "+
					"Table 1 is", flag)
			}
		}
	}
	return cfg, f.checkLists(cfg)
}

// checkLists refuses numbers of hosts and ranks that cannot be simulated.
func (f *simulateFlags) checkLists(cfg simulate.Config) error {
	for _, list := range []struct {
		flag string
		all  []int
	}{{"--hosts", f.hosts}, {"--procs", f.procs}} {
		if len(list.all) == 0 {
			return fmt.Errorf("%s needs a number", list.flag)
		}
		for i, n := range list.all {
			if slices.Contains(list.all[:i], n) {
				return fmt.Errorf("%s has %d twice; once will do", list.flag, n)
			}
		}
	}
	for _, cfg.Procs = range f.procs {
		for _, cfg.Hosts = range f.hosts {
			if err := cfg.Check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// run simulates and prints. What was simulated before a signal is printed as well.
func (f *simulateFlags) run(ctx context.Context) error {
	cfg, err := f.check()
	if err != nil {
		return usage(err)
	}
	ctx, caught := catchSignals(ctx)
	show := &steps{quiet: f.quiet}
	r, err := f.simulate(ctx, cfg, show.tell)
	show.close()
	interrupted := ctx.Err() != nil
	if err != nil && !interrupted {
		return err
	}
	if interrupted {
		fmt.Fprintln(os.Stderr, "farhash: INTERRUPTED: what has been simulated so far follows")
	}
	write := r.WriteText
	if f.json {
		write = r.WriteJSON
	}
	err = printResults(write, f.plot, r.WritePlot)
	if interrupted {
		return &exitError{code: interruptCode(caught), err: err}
	}
	return err
}

// simulate makes the report, when ctx ends of what was simulated so far.
func (f *simulateFlags) simulate(ctx context.Context, cfg simulate.Config,
	progress simulate.Progress) (*simulate.Report, error) {
	if f.table1 {
		return simulate.Table1(ctx, commandLine(), cfg.Cluster, cfg.Seed, progress)
	}
	r, err := simulate.NewReport(commandLine(), cfg)
	if err != nil {
		return nil, err
	}
	for _, procs := range f.procs {
		for _, hosts := range f.hosts {
			if err := r.Simulate(ctx, hosts, procs, progress); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// steps shows on standard error what is being simulated, how much of it is done when
// that is a terminal, and how long it took.
type steps struct {
	quiet bool
	bar   *progressbar.ProgressBar
	began time.Time
}

func (s *steps) tell(what string, done, of int) {
	if s.quiet {
		return
	}
	if done == 0 {
		s.began = time.Now()
	}
	if done == of {
		s.close()
		fmt.Fprintf(os.Stderr, "%s: %.1f s\n", what, time.Since(s.began).Seconds())
		return
	}
	if s.bar == nil {
		if !term.IsTerminal(int(os.Stderr.Fd())) {
			return
		}
		s.bar = newSpinner()
	}
	s.bar.Describe(cut(fmt.Sprintf("%s: %d %%", what, 100*done/of)))
}

// close takes the progress line away.
func (s *steps) close() {
	if s.bar != nil {
		_ = s.bar.Finish()
		s.bar = nil
	}
}
