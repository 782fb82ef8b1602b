package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
)

const (
	// benchSize is what each table takes by default where memory allows.
	benchSize    = 256 << 20
	minBenchSize = 1 << 20
	maxBenchRuns = 1000
	maxBenchOps  = 1 << 28
	maxBenchSize = 1 << 46
)

// benchFlags are the flags of bench as given.
type benchFlags struct {
	ranks, runs, batch    int
	size, operations      string
	json, benchfmt, quiet bool
	direct                bool

	cfg      Config
	launched bool
	launcher string
	changed  func(flag string) bool
}

// New is the command farhash bench.
func New() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:               "bench [-n RANKS]",
		Short:             "Measure the four tables, beside this machine's limit",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Measures the operations per second of each table, one per call and in batches. Beside
them stands the limit of this machine: how many random cache lines per second the same
ranks can access, divided by the cache lines of the operation; or, where memory is
reached through a queue, the gets per second of the engine. The limit is measured
directly before and after each case. Every result is verified. The cases are measured
in turn, --runs times, and medians are printed.

Started by farhash run, mpirun, srun or torchrun, every process is a rank. Otherwise -n
ranks run as goroutines of this process.

After Ctrl-C or SIGTERM the results so far are printed and marked INCOMPLETE.`,
		Example: `  farhash bench
  farhash bench -n 1 --size 1GiB --json
  farhash bench --benchfmt > new.txt
  farhash run -n 2 -- farhash bench
  mpirun -n 4 farhash bench`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.ranks, "ranks", "n", runtime.GOMAXPROCS(0),
		"number `N` of ranks in this process (default: one for each processor)")
	flags.Lookup("ranks").DefValue = "0" // not shown, as it depends on the machine
	flags.StringVar(&f.size, "size", "",
		"`SIZE` of each table in memory (default: 256MiB, or less where memory is short)")
	flags.StringVar(&f.operations, "ops", "",
		"`COUNT` of operations of each rank in a case (default: as many as --size has room for)")
	flags.IntVar(&f.batch, "batch", 1024, "`N` operations in each batch")
	flags.IntVar(&f.runs, "runs", 3, "`N` runs of every case")
	flags.BoolVar(&f.direct, "direct", true, "access memory directly where that is possible; "+
		"--direct=false uses one-sided operations everywhere")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.benchfmt, "benchfmt", false, "print all runs as Go benchmarks, for benchstat")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no progress")
	cli.CompleteFlags(cmd, nil)
	return cmd
}

// check refuses flags that make no sense, and completes the configuration.
func (f *benchFlags) check() error {
	switch {
	case f.json && f.benchfmt:
		return errors.New("--json and --benchfmt exclude each other")
	case f.runs < 1 || f.runs > maxBenchRuns:
		return fmt.Errorf("--runs must be 1 to %d, not %d", maxBenchRuns, f.runs)
	case f.ranks < 1 || f.ranks > local.MaxRanks:
		return fmt.Errorf("-n must be 1 to %d, not %d", local.MaxRanks, f.ranks)
	}
	operations := uint64(0)
	if f.operations != "" {
		var err error
		if operations, err = parseCount("--ops", f.operations); err != nil {
			return err
		}
		if operations > maxBenchOps {
			return fmt.Errorf("--ops must be 1 to %d, not %d", maxBenchOps, operations)
		}
	}
	if f.batch < 2 || f.batch > 1<<20 {
		return fmt.Errorf("--batch must be 2 to %d, not %d", 1<<20, f.batch)
	}
	size, err := f.tableSize()
	if err != nil {
		return err
	}
	f.cfg = Config{SizeBytes: size, Operations: int(operations), Batch: f.batch, Runs: f.runs}
	return nil
}

// tableSize is the value of --size, or a sixteenth of the available memory.
func (f *benchFlags) tableSize() (uint64, error) {
	if f.size == "" {
		size := uint64(benchSize)
		if left, err := memory.Now(); err == nil {
			size = max(min(size, left.Bytes/16), minBenchSize)
		}
		return size, nil
	}
	size, err := cli.ParseBytes("--size", f.size)
	if err == nil && (size < minBenchSize || size > maxBenchSize) {
		err = fmt.Errorf("--size must be %s to %s, not %q", memory.Format(minBenchSize),
			memory.Format(maxBenchSize), f.size)
	}
	return size, err
}

// run measures and prints. What was measured before a signal is printed as well.
func (f *benchFlags) run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return cli.Usage(err)
	}
	var err error
	if f.launcher, f.launched, err = farhash.Launched(); err != nil {
		return err
	}
	if f.launched && f.changed("ranks") {
		f.note("farhash: -n is ignored: %s has started the ranks\n", f.launcher)
	}
	ranks := f.ranks
	if f.launched {
		ranks = 1 // of this process; the others may be on other hosts
	}
	if err := memory.Check(f.cfg.Bytes(ranks), "measuring"); err != nil {
		return fmt.Errorf("%w; a smaller --size, and fewer --ops or ranks, take less", err)
	}
	ctx = cli.CatchSignals(ctx)
	results, first, err := f.measure(ctx)
	complete := ctx.Err() == nil
	if err != nil && complete {
		return err
	}
	if !first {
		results = nil // rank 0 prints them
	} else if !complete && len(results) == 0 {
		return cli.Interrupted(ctx, "nothing was measured yet")
	}
	if len(results) > 0 {
		if err := f.print(results, complete); err != nil {
			return err
		}
	}
	if !complete {
		return &cli.ExitError{Code: cli.InterruptCode(ctx)}
	}
	return nil
}

// measure returns what was measured and whether this process has rank 0.
func (f *benchFlags) measure(ctx context.Context) (results []Result, _ bool, err error) {
	f.cfg.Progress = func(r Result) {
		f.note("%s, %s, batch %d: %.3g Mop/s\n", r.Table, r.Operation, r.Batch, r.Mops)
	}
	var opts []farhash.Option
	if !f.direct {
		opts = append(opts, farhash.OneSided())
	}
	var first atomic.Bool
	err = farhash.Run(ctx, f.ranks, func(job rma.Job) error {
		mine, err := Run(ctx, job, f.cfg)
		if job.Rank() == 0 {
			results = mine
			first.Store(true)
		}
		return err
	}, opts...)
	return results, first.Load(), err
}

// engine describes how ranks reach memory.
func (f *benchFlags) engine() string {
	how := "goroutines of one process"
	if f.launched {
		how = "ranks started by " + f.launcher
	}
	if !f.direct {
		how += ", one-sided operations only"
	}
	return how
}

func (f *benchFlags) print(results []Result, complete bool) error {
	r := NewReport(commandLine(), f.engine(), results)
	if !complete {
		r.Complete, r.Reason = false, string(explore.Interrupted)
	}
	write := r.WriteText
	switch {
	case f.json:
		write = r.WriteJSON
	case f.benchfmt:
		write = r.WriteBenchfmt
	}
	return printResults(write)
}

func (f *benchFlags) note(format string, args ...any) {
	if !f.quiet {
		fmt.Fprintf(os.Stderr, format, args...)
	}
}

// printResults writes results in one piece.
func printResults(write func(w io.Writer) error) error {
	var text bytes.Buffer
	err := write(&text)
	if err == nil {
		_, err = os.Stdout.Write(text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("printing the results: %w", err)
	}
	return nil
}

// commandLine is the command line of this process, without the path of the program.
func commandLine() string { return strings.Join(append([]string{"farhash"}, os.Args[1:]...), " ") }

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
