package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash/internal/replace"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/chart"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// ErrUsage is what an error of the command line is.
var ErrUsage = errors.New("wrong usage")

// ErrInterrupted is the error of a command that a signal ended early.
var ErrInterrupted = errors.New("interrupted")

// output says in which form results are printed.
type output struct {
	json, benchfmt, quiet bool
	plot                  string
}

func (o *output) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	flags.StringVar(&o.plot, "plot", "", "draw into a file ending in .svg or .png as well")
}

func (o *output) check() error {
	if o.json && o.benchfmt {
		return usage("--json and --benchfmt exclude each other")
	}
	if o.plot == "" {
		return nil
	}
	if _, err := chart.Format(o.plot); err != nil {
		return usage("--plot: %w", err)
	}
	return nil
}

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUsage, fmt.Errorf(format, args...))
}

// runFlags are those of commands that measure.
func (o *output) runFlags(cmd *cobra.Command) {
	o.flags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.benchfmt, "benchfmt", false,
		"print all runs as Go benchmarks, for benchstat and for farhash-eval show")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
}

// Command is the command that runs an experiment.
func Command(e *Experiment) *cobra.Command {
	var o output
	cmd := &cobra.Command{Use: e.Name, Aliases: e.Aliases, Short: e.Short, Long: e.Long,
		Args: noArgs}
	o.runFlags(cmd)
	s := newSession(e, cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd, s) }
	return cmd
}

// newSession is a run of an experiment whose parameters are flags.
func newSession(e *Experiment, flags *pflag.FlagSet) *session {
	s := &session{of: e, ranks: []int{1}, runs: 1}
	if !e.Computed {
		flags.IntVar(&s.runs, "runs", max(e.Runs, 1), "how often everything is measured")
	}
	if len(e.Ranks) > 0 {
		flags.IntSliceVarP(&s.ranks, "ranks", "n", e.Ranks, "ranks inside this process, a list")
	}
	s.runner = e.New(flags)
	return s
}

// run does one experiment after the other, and prints what they have measured, also where a
// signal or an error ends one early.
func (o *output) run(cmd *cobra.Command, sessions ...*session) error {
	if err := o.check(); err != nil {
		return err
	}
	for _, s := range sessions {
		if err := s.check(); err != nil {
			return err
		}
		if err := s.runner.Check(); err != nil {
			return usage("%w", err)
		}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var failed error
	var done []*session
	for _, s := range sessions {
		s.progress = func(format string, args ...any) {
			if !o.quiet {
				fmt.Fprintf(os.Stderr, format, args...)
			}
		}
		failed = s.run(ctx)
		interrupted := ctx.Err() != nil
		if interrupted {
			fmt.Fprintln(os.Stderr, "interrupted: what has been measured so far follows")
			failed = ErrInterrupted
		}
		if len(s.records) > 0 && (failed == nil || interrupted) {
			done = append(done, s)
		}
		if failed != nil {
			break
		}
	}
	return errors.Join(o.show(cmd.OutOrStdout(), done, len(sessions) > 1), failed)
}

// show prints and draws what experiments have measured; where they are several each has a
// plot of its own.
func (o *output) show(w io.Writer, done []*session, several bool) error {
	var records []record.Record
	var views []view.View
	for _, s := range done {
		records, views = append(records, s.records...), append(views, s.of.Views...)
	}
	if len(done) == 0 {
		return nil
	}
	err := o.print(w, record.Machine(cpuModel(), commandLine()), records, views)
	for _, s := range done {
		path := o.plot
		if ext := filepath.Ext(path); several {
			path = strings.TrimSuffix(path, ext) + "-" + s.of.Views[0].Name + ext
		}
		if err == nil && o.plot != "" {
			err = draw(path, s.records, s.of.Views)
		}
	}
	return err
}

func (s *session) check() error {
	if s.runs < 1 || s.runs > maxRuns {
		return usage("--runs must be 1 to %d, not %d", maxRuns, s.runs)
	}
	for i, n := range s.ranks {
		if n < 1 || n > local.MaxRanks {
			return usage("-n must be 1 to %d, not %d", local.MaxRanks, n)
		}
		if slices.Contains(s.ranks[:i], n) {
			return usage("-n has %d twice; once will do", n)
		}
	}
	if len(s.ranks) == 0 {
		return usage("-n needs a number of ranks")
	}
	return nil
}

const maxRuns = 1000

// Show is the command that shows files in the benchmark format.
func Show(all []*Experiment) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "show FILE...",
		Short: "Show what was measured before, from files made by --benchfmt",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("show needs a file; - is standard input")
			}
			return nil
		},
	}
	o.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		var config record.Config
		var records []record.Record
		for _, path := range args {
			c, some, err := readFile(cmd.InOrStdin(), path)
			if err != nil {
				return err
			}
			config, records = c, append(records, some...)
		}
		views := viewsOf(all, records)
		if len(views) == 0 {
			return fmt.Errorf("%s has no results of farhash-eval; make it with --benchfmt",
				strings.Join(args, ", "))
		}
		err := o.print(cmd.OutOrStdout(), config, records, views)
		if err == nil && o.plot != "" {
			err = draw(o.plot, records, views)
		}
		return err
	}
	return cmd
}

func readFile(stdin io.Reader, path string) (record.Config, []record.Record, error) {
	if path == "-" {
		return record.Read(stdin, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return record.Read(f, path)
}

// viewsOf are the views of the experiments that the records are of.
func viewsOf(all []*Experiment, records []record.Record) (views []view.View) {
	for _, e := range all {
		known := func(r record.Record) bool {
			return slices.ContainsFunc(e.Views, func(v view.View) bool { return v.Name == r.Name })
		}
		if slices.ContainsFunc(records, known) {
			views = append(views, e.Views...)
		}
	}
	return views
}

// print writes results in one piece.
func (o *output) print(w io.Writer, config record.Config, records []record.Record,
	views []view.View) (err error) {
	var text bytes.Buffer
	switch {
	case o.json:
		err = view.JSON(&text, config, records, views)
	case o.benchfmt:
		err = record.Write(&text, config, records)
	default:
		err = view.Text(&text, config, records, views)
	}
	if err == nil {
		_, err = w.Write(text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("printing the results: %w", err)
	}
	return nil
}

// draw writes a plot.
func draw(path string, records []record.Record, views []view.View) error {
	format, err := chart.Format(path)
	if err != nil {
		return err
	}
	var drawing bytes.Buffer
	if err := view.Figure(&drawing, format, records, views); err != nil {
		return fmt.Errorf("drawing %s: %w", path, err)
	}
	return replace.File(path, func(w io.Writer) error {
		_, err := drawing.WriteTo(w)
		return err
	})
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments, not %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// commandLine is how this program was called, without where it lies.
func commandLine() string {
	return strings.Join(append([]string{"farhash-eval"}, os.Args[1:]...), " ")
}

// cpuModel is the name of the processor, "" where the system does not report it.
func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(info)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
