package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/calibrate"
	"github.com/farhash/farhash/internal/system/replace"
	"github.com/farhash/farhash/rma"
)

// Limits of what calibrate is asked for: of ranks inside this process, and of MiB of each.
const (
	maxCalibrateRanks = 64
	maxCalibrateMiB   = 1 << 16
)

// calibrateFlags are the flags of calibrate as given.
type calibrateFlags struct {
	ranks, mib int
	limit      time.Duration
	file       string
	json       bool

	changed func(flag string) bool
}

// NewCalibrate is the command farhash calibrate.
func NewCalibrate() *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:               "calibrate [-n RANKS]",
		Short:             "Measure the engine's latency and throughput",
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Measures the engine in use: the latency of a read, the time of each of its bytes, and
the reads and bytes per second of all ranks together. All reads go through the queues of
the engine, also where memory can be accessed directly. The letters in brackets are
the symbols of the paper that farhash-eval model names.

Started by farhash run, mpirun, srun or torchrun, every process is a rank. To measure a
network start ranks on several hosts. Otherwise -n ranks run as goroutines of this process.

The result is stored in a file, which farhash-eval model --calibrated reads. --json
prints its content:

  engine, ranks, time  what was measured, and when
  latencyNs, byteNs    latency of a read (c), and time of each of its bytes (alpha)
  messagesPerSecond    reads per second (rho0)
  linkBytesPerSecond   bandwidth (l)
  headerBytes          bytes of a message without payload: assumed, not measured
  points               bytes and ns of the reads that the first two are fitted to
  rates                perSecond of reads, by bytes and flight (reads in flight per rank)
  shipped              requests to the programs of other ranks, where the engine carries
                       them, as UCX does: latencyNs, byteNs, points and rates, as above;
                       auto, how tables access other ranks here by default, and why;
                       least, the operations per rank from which they ship (0: never)
  missing              what there was no time to measure (--limit)`,
		Example: `  farhash calibrate -n 2
  farhash run -n 2 -- farhash calibrate
  mpirun -n 16 --map-by node farhash calibrate --file cluster.json
  farhash-eval model --load 0.8 --slot 8 --calibrated

  Over UCX, with a farhash built with it (in the sources of farhash):
  CGO_ENABLED=1 go build -tags ucx -o farhash-ucx ./cmd/farhash
  farhash run --rendezvous 127.0.0.1:29500 -n 2 -- ./farhash-ucx calibrate`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.ranks, "ranks", "n", 1, "number `N` of ranks in this process")
	flags.IntVar(&f.mib, "mib", calibrate.DefaultSegmentBytes>>20, "`MIB` of memory of each rank "+
		"to read; more than its caches hold, as in a large table")
	flags.DurationVar(&f.limit, "limit", calibrate.DefaultLimit, "`TIME` that measuring may "+
		"take, the same for all ranks; on slow links less is measured")
	flags.StringVar(&f.file, "file", "", calibrationUsage)
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	cli.CompleteFlags(cmd, nil)
	return cmd
}

// calibrationUsage explains --file.
const calibrationUsage = "`FILE` of the result (default: farhash/calibration.json in the user's " +
	"cache folder)"

// calibrationPath is the file that is named, or else the usual one.
func calibrationPath(file string) (string, error) {
	if file != "" {
		return file, nil
	}
	return calibrate.DefaultPath()
}

// check refuses flags that make no sense, and returns the file of the result. A folder that
// cannot be made is better found before measuring.
func (f *calibrateFlags) check() (file string, err error) {
	if f.ranks < 1 || f.ranks > maxCalibrateRanks {
		return "", fmt.Errorf("-n must be 1 to %d, not %d", maxCalibrateRanks, f.ranks)
	}
	if f.mib < 1 || f.mib > maxCalibrateMiB {
		return "", fmt.Errorf("--mib must be 1 to %d, not %d", maxCalibrateMiB, f.mib)
	}
	if f.limit <= 0 {
		return "", fmt.Errorf("--limit must be positive, not %v", f.limit)
	}
	if file, err = calibrationPath(f.file); err != nil {
		return "", err
	}
	if _, _, err := replace.Target(file, calibrate.Format); err != nil {
		return "", cli.Failure(fmt.Errorf("--file: %w", err))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", cli.Failure(fmt.Errorf("--file: %w", err))
	}
	return file, nil
}

// run measures, and stores and prints the result on rank 0.
func (f *calibrateFlags) run(ctx context.Context) error {
	file, err := f.check()
	if err != nil {
		return cli.Usage(err)
	}
	launcher, launched, err := farhash.Launched()
	if err != nil {
		return err
	}
	if launched && f.changed("ranks") {
		fmt.Fprintf(os.Stderr, "farhash: -n is ignored: %s has started the ranks\n", launcher)
	}
	ctx = cli.CatchSignals(ctx)
	var r *calibrate.Result
	err = farhash.Run(ctx, f.ranks, func(job rma.Job) error {
		mine, err := calibrate.Measure(ctx, job, calibrate.Config{
			SegmentBytes: f.mib << 20, Limit: f.limit})
		if mine != nil {
			mine.Engine, mine.Time = engineName(job), time.Now().Round(time.Second)
			r = mine // of the only rank that has one
		}
		return err
	}, farhash.OneSided())
	if ctx.Err() != nil {
		return cli.Interrupted(ctx, "nothing was stored")
	}
	if err != nil || r == nil {
		return err
	}
	if err := r.Save(file); err != nil {
		return err
	}
	return f.print(r, file)
}

// engineName is the name of the package that a job is from.
func engineName(job rma.Job) string {
	return path.Base(reflect.Indirect(reflect.ValueOf(job)).Type().PkgPath())
}

func (f *calibrateFlags) print(r *calibrate.Result, file string) error {
	return printResults(func(w io.Writer) error {
		if f.json {
			return json.NewEncoder(w).Encode(r)
		}
		fmt.Fprintf(w, "engine %s, %s\n", r.Engine, english.Plural(r.Ranks, "rank", ""))
		fmt.Fprintf(w, "latency      %9.4g ns         a read of no bytes (c)\n", r.LatencyNs)
		fmt.Fprintf(w, "ns per byte  %9.4g ns         each byte of a read (alpha)\n", r.ByteNs)
		fmt.Fprintf(w, "reads/s      %9.4g million    reads of a word, all ranks together (rho0)\n",
			r.MessagesPerSecond/1e6)
		fmt.Fprintf(w, "bandwidth    %9.4g GB/s       all ranks together (l)\n",
			r.LinkBytesPerSecond/1e9)
		fmt.Fprint(w, "\nbytes      ns  latency + bytes * ns per byte\n")
		for _, p := range r.Points {
			fmt.Fprintf(w, "%5d  %6.0f  %29.0f\n", p.Bytes, p.Ns,
				r.LatencyNs+r.ByteNs*float64(p.Bytes))
		}
		printRates(w, r.Rates)
		if r.Shipped != nil {
			printShipped(w, r.Shipped)
		}
		if len(r.Missing) > 0 {
			fmt.Fprintf(w, "\n%s", cli.Wrap("not measured: ", len("not measured: "),
				strings.Join(r.Missing, "; ")+": the link is slow; --limit gives more time"))
		}
		_, err := fmt.Fprintf(w, "\nstored in %s for farhash-eval model --calibrated\n", file)
		return err
	})
}

// printRates prints a line for each length and a column for each number in flight.
func printRates(w io.Writer, rates []calibrate.Rate) {
	if len(rates) == 0 {
		return
	}
	fmt.Fprint(w, "\nthousand reads per second of all ranks together, by the reads that each has "+
		"in flight\nbytes")
	for _, r := range rates {
		if r.Bytes == rates[0].Bytes {
			fmt.Fprintf(w, "  %8d", r.Flight)
		}
	}
	for i, r := range rates {
		if i == 0 || r.Bytes != rates[i-1].Bytes {
			fmt.Fprintf(w, "\n%5d", r.Bytes)
		}
		fmt.Fprintf(w, "  %8.1f", r.PerSecond/1e3)
	}
	fmt.Fprintln(w)
}

// printShipped prints the costs of requests, and the access that tables choose by them.
func printShipped(w io.Writer, s *calibrate.Shipped) {
	fmt.Fprintf(w, "\nshipped: requests that the other rank's program answers by as many bytes\n"+
		"%.4g ns for a request of no bytes, %.4g ns for each of its bytes\n", s.LatencyNs, s.ByteNs)
	fmt.Fprintf(w, "bytes       ns  thousand/s of all ranks, %d in flight  MB/s each way\n",
		calibrate.ShipFlight)
	for i, p := range s.Points {
		fmt.Fprintf(w, "%5d  %7.0f", p.Bytes, p.Ns)
		if i < len(s.Rates) {
			perSecond := s.Rates[i].PerSecond
			fmt.Fprintf(w, "  %36.1f  %13.1f", perSecond/1e3, perSecond*float64(p.Bytes)/1e6)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, cli.Wrap("tables: ", len("tables: "), s.Auto))
}
