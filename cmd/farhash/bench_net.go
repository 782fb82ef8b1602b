package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/bench"
	"github.com/farhash/farhash/internal/launch"
	"github.com/farhash/farhash/rma/ucx"
)

// netFlags are the flags of bench net as given. Output and progress are those of bench set.
type netFlags struct {
	benchFlags
	perHost         int
	hosts           string
	impls, traffics []string
	bytes           []int
	inFlight        int
	share           float64
	piece           time.Duration
	quick           bool
}

// What --quick takes where a flag is not given.
const (
	quickRuns  = 3
	quickPiece = 60 * time.Millisecond
)

func newBenchNet() *cobra.Command {
	var f netFlags
	cmd := &cobra.Command{
		Use:   "net",
		Short: "Measure what reaches from one host to another, beside UCX alone and Redis",
		Args:  args(cobra.NoArgs),
		Long: `Measures, in turns over the same link between two hosts, gets by a loop in C around
UCX (raw) and by a queue of the engine (engine), find-or-put of a set whose batches are
gets and compare-and-swaps (one-sided) or travel to the ranks that own the memory
(shipped), and what people use otherwise: a redis-server for each rank, with pipelines of
SADD from clients that divide the words among the servers (redis). Words are random; half
of a batch is new. Every answer is checked. Results are medians of short measurements.

Traffic: one-way (the ranks of the first host work on memory of the others), both-ways (all
ranks work on memory of the hosts that they are not on). One at a time is measured one-way,
with one client.

Started alone, the command makes two hosts of this machine: network namespaces and a cable
between them, which needs root and is removed in the end. Where it may not, it takes two
halves of this host that talk over loopback, and says so. Real hosts are measured when
farhash run --rendezvous starts it on each of them. What is missing is left out, with a
note. The program must be built with -tags ucx.`,
		Example: `  farhash bench net
  farhash bench net --quick --ranks-per-host 1
  farhash bench net --impl shipped,redis --batch 512 --json
  farhash run --rendezvous 10.0.0.1:29500 --nnodes 2 --node-rank 0 --nproc 2 \
      --token-file token -- farhash bench net`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context())
		},
	}
	f.define(cmd)
	return cmd
}

func (f *netFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.perHost, "ranks-per-host", 2, "ranks on each of the two hosts")
	flags.StringVar(&f.hosts, "hosts", hostsAuto,
		"what the hosts are: netns, loopback, or auto: netns where that is allowed")
	flags.StringSliceVar(&f.impls, "impl", texts(bench.NetImpls()), "what is measured")
	flags.StringSliceVar(&f.traffics, "traffic", texts(bench.NetTraffics()), "who works on what")
	flags.IntVar(&f.batch, "batch", bench.DefaultNetBatch, "words of one call, and of a pipeline")
	flags.IntVar(&f.inFlight, "in-flight", bench.DefaultNetInFlight,
		"gets under way, and operations of a one-sided batch")
	flags.IntSliceVar(&f.bytes, "get-bytes", []int{64, 512}, "bytes of gets, a list")
	flags.StringVar(&f.buckets, "buckets", bench.Count(bench.DefaultNetBuckets),
		"size of the table, such as 16Mi, 2^24 or 1000000")
	flags.Float64Var(&f.share, "new", bench.DefaultNetNew, "share of words in a batch that are new")
	flags.IntVar(&f.runs, "runs", 7, "how often everything is measured")
	flags.DurationVar(&f.piece, "piece", bench.DefaultNetPiece,
		"about how long one measurement takes")
	flags.BoolVar(&f.quick, "quick", false, fmt.Sprintf("--runs %d --piece %v", quickRuns,
		quickPiece))
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.benchfmt, "benchfmt", false,
		"print all runs as Go benchmarks, for benchstat")
	flags.StringVar(&f.plot, "plot", "", "draw into a file ending in .svg or .png as well")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
}

// run measures and prints on the ranks of a job on several hosts, and makes one where there is
// none.
func (f *netFlags) run(ctx context.Context) (err error) {
	if err := f.check(); err != nil {
		return usage(err)
	}
	m, launched, err := launch.Detect()
	if err != nil {
		return fmt.Errorf("farhash: %w", err)
	}
	if f.launched, f.launcher = launched, m.Launcher; !launched {
		if _, err := bench.NewNet(f.config(f.perHost)); err != nil {
			return usage(err)
		}
		return f.onTwoHosts(ctx)
	}
	return f.asRank(ctx, m)
}

// asRank measures on this rank of a job.
func (f *netFlags) asRank(ctx context.Context, m launch.Membership) error {
	perHost := m.LocalSize
	if f.changed("ranks-per-host") && os.Getenv(linkVariable) == "" {
		f.tell("farhash: --ranks-per-host is ignored: %s has started the ranks\n", f.launcher)
	}
	if perHost < 1 || perHost >= m.Size {
		return usage(fmt.Errorf("bench net needs ranks on two hosts, and %s has started %d of %d "+
			"ranks on this one; start it without a launcher, or by farhash run --rendezvous on "+
			"each host", m.Launcher, perHost, m.Size))
	}
	cfg := f.config(perHost)
	var opts []farhash.Option
	switch link := os.Getenv(linkVariable); link {
	case "":
		cfg.Link = "the network of the hosts"
	case hostsLoopback:
		opts = append(opts, farhash.OneSided())
		fallthrough
	default:
		cfg.Link = linkTexts[link]
	}
	b, err := bench.NewNet(cfg)
	if err != nil {
		return usage(err)
	}
	err = f.measure(ctx, b.Round, opts, func() benchReport { return b.Report(commandLine()) })
	return errors.Join(err, b.Close())
}

// config is what the flags ask for, with so many ranks on a host.
func (f *netFlags) config(perHost int) bench.NetConfig {
	share := f.share
	if share == 0 {
		share = -1 // to bench 0 is the default
	}
	return bench.NetConfig{PerHost: perHost, Impls: named[bench.NetImpl](f.impls),
		Traffics: named[bench.NetTraffic](f.traffics), Batch: f.batch, InFlight: f.inFlight,
		Bytes: f.bytes, Buckets: f.sizes.buckets, New: share, Piece: f.piece,
		Address: os.Getenv(launch.RendezvousVariable), Engine: f.engine(), Progress: f.measured}
}

// engine is the name of what carries the job.
func (f *netFlags) engine() string {
	if name := os.Getenv(farhash.EngineVariable); name != "" {
		return name
	}
	return "that of " + f.launcher
}

// check refuses what bench does not, and completes the flags.
func (f *netFlags) check() (err error) {
	switch {
	case f.json && f.benchfmt:
		return errors.New("--json and --benchfmt exclude each other")
	case f.hosts != hostsAuto && f.hosts != hostsNetns && f.hosts != hostsLoopback:
		return fmt.Errorf("--hosts must be auto, netns or loopback, not %q", f.hosts)
	case f.perHost < 1 || f.perHost > 1<<10:
		return fmt.Errorf("--ranks-per-host must be 1 to 1024, not %d", f.perHost)
	case math.IsNaN(f.share) || f.share < 0 || f.share > 1:
		return fmt.Errorf("--new must be 0 to 1, not %v", f.share)
	case f.batch == 0 || f.inFlight == 0 || f.piece == 0:
		return errors.New("--batch, --in-flight and --piece must not be 0")
	}
	for flag, given := range map[string]int{"--impl": len(f.impls), "--traffic": len(f.traffics),
		"--get-bytes": len(f.bytes)} {
		if given == 0 {
			return fmt.Errorf("%s needs a value", flag)
		}
	}
	if f.quick && !f.changed("runs") {
		f.runs = quickRuns
	}
	if f.quick && !f.changed("piece") {
		f.piece = quickPiece
	}
	if f.runs < 1 || f.runs > 1000 {
		return fmt.Errorf("--runs must be 1 to 1000, not %d", f.runs)
	}
	if f.sizes.buckets, err = parseCount("--buckets", f.buckets); err != nil {
		return err
	}
	return checkPlot(f.plot)
}

// measured prints a sample.
func (f *netFlags) measured(s bench.NetSample) {
	f.tell("%s, %s, %d at a time: %.1f kop/s\n", s.Impl, s.Traffic, s.Batch, s.Kops())
}

// errNetNotBuilt says what the command lacks.
var errNetNotBuilt = errors.New("bench net needs UCX to reach another host, and this program was " +
	"built without: install libucx-dev and build it with CGO_ENABLED=1 go build -tags ucx " +
	"./cmd/farhash")

// netBuilt tells whether ranks can reach each other.
func netBuilt() error {
	if !ucx.Built {
		return errNetNotBuilt
	}
	return nil
}
