package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/bench"
	"github.com/farhash/farhash/internal/chart"
	"github.com/farhash/farhash/internal/replace"
	"github.com/farhash/farhash/rma"
)

// benchReport is what both measurements end in.
type benchReport interface {
	WriteText(w io.Writer) error
	WriteJSON(w io.Writer) error
	WriteBenchfmt(w io.Writer) error
	WritePlot(w io.Writer, format string) error
}

// runThroughput measures operations per second.
func (f *benchFlags) runThroughput(ctx context.Context) error {
	b, err := bench.New(bench.Config{
		Impls: named[bench.Impl](f.impls), Workloads: named[bench.Workload](f.workloads),
		Keys: bench.Keys(f.keys), ElementBytes: f.elementBytes, Buckets: f.sizes.buckets,
		From: f.from, To: f.to, Batch: f.batch, Chunk: f.chunk, Chunks: f.chunks,
		PeerElements: f.sizes.peerElements,
		OneSided:     !f.direct, Processes: f.launched, Progress: f.progress(),
	})
	if err != nil {
		return usage(err)
	}
	var opts []farhash.Option
	if !f.direct {
		opts = append(opts, farhash.OneSided())
	}
	return f.measure(ctx, b.Round, opts, func() benchReport { return b.Report(commandLine()) })
}

// runTable1 measures latency and round trips.
func (f *benchFlags) runTable1(ctx context.Context) error {
	run := 1
	t, err := bench.NewTable1(bench.Table1Config{Buckets: f.sizes.buckets,
		Keys: bench.Keys(f.keys), Progress: func(column string, last bool) {
			f.tell("run %d of %d: %s\n", run, f.runs, column)
			if last {
				run++
			}
		}})
	if err != nil {
		return usage(err)
	}
	return f.measure(ctx, t.Round, []farhash.Option{farhash.OneSided()},
		func() benchReport { return t.Report(commandLine()) })
}

func (f *benchFlags) tell(format string, args ...any) {
	if !f.quiet {
		fmt.Fprintf(os.Stderr, format, args...)
	}
}

// progress prints every sample.
func (f *benchFlags) progress() func(bench.Sample) {
	return func(s bench.Sample) {
		f.tell("%s, %s, ranks %d: %.2f Mop/s\n", s.Impl, s.Workload, s.Ranks, s.Mops())
	}
}

// measure does the rounds, one job for each number of ranks, or all in the one job
// that this process was started for, and prints the report on rank 0.
func (f *benchFlags) measure(ctx context.Context,
	round func(ctx context.Context, job rma.Job) error, opts []farhash.Option,
	report func() benchReport) error {
	ctx, caught := catchSignals(ctx)
	var first atomic.Bool // this process has rank 0
	rounds := func(n, times int) error {
		return farhash.Run(ctx, n, func(job rma.Job) error {
			if job.Rank() == 0 {
				first.Store(true)
			}
			for range times {
				if err := round(ctx, job); err != nil {
					return err
				}
			}
			return nil
		}, opts...)
	}
	var err error
	if f.launched {
		err = rounds(1, f.runs)
	} else {
		for i := 0; i < f.runs*len(f.ranks) && err == nil; i++ {
			err = rounds(f.ranks[i%len(f.ranks)], 1)
		}
	}
	interrupted := ctx.Err() != nil
	if err != nil && !interrupted {
		return err
	}
	if first.Load() {
		if interrupted {
			fmt.Fprintln(os.Stderr, "farhash: INTERRUPTED: what has been measured so far follows")
		}
		if err := f.print(report()); err != nil {
			return err
		}
	}
	if interrupted {
		return &exitError{code: interruptCode(caught)}
	}
	return nil
}

// print writes the report in the form that the flags ask for, and the plot.
func (f *benchFlags) print(r benchReport) error {
	write := r.WriteText
	switch {
	case f.json:
		write = r.WriteJSON
	case f.benchfmt:
		write = r.WriteBenchfmt
	}
	return printResults(write, f.plot, r.WritePlot)
}

// printResults writes results in one piece, and a plot of them into a file unless its
// name is empty.
func printResults(write func(w io.Writer) error, plot string,
	draw func(w io.Writer, format string) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return fmt.Errorf("printing the results: %w", err)
	}
	if _, err := os.Stdout.Write(text.Bytes()); err != nil {
		return fmt.Errorf("printing the results: %w", err)
	}
	if plot == "" {
		return nil
	}
	format, err := chart.Format(plot)
	if err != nil {
		return err
	}
	var drawing bytes.Buffer
	if err := draw(&drawing, format); err != nil {
		return errors.Join(errors.New("drawing the results failed"), err)
	}
	err = replace.File(plot, func(w io.Writer) error {
		_, err := drawing.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("writing the plot %s: %w", plot, err)
	}
	return nil
}

// commandLine is how this program was called, without where it lies.
func commandLine() string { return strings.Join(append([]string{"farhash"}, os.Args[1:]...), " ") }
