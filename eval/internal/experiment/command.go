package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash/internal/system/replace"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/chart"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// ErrUsage is what an error of the command line is.
var ErrUsage = errors.New("wrong usage")

// InterruptedError is the error of a command that a signal ended early.
type InterruptedError struct{ Signal os.Signal }

func (e *InterruptedError) Error() string { return "interrupted by " + e.Signal.String() }

// output says in which form results are printed.
type output struct {
	json, benchfmt, quiet bool
	reproducible          bool
	plot, panels          string
	only                  *regexp.Regexp // panels
}

func (o *output) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	flags.StringVar(&o.plot, "plot", "", "draw into a `file` ending in .svg or .png as well")
	flags.StringVar(&o.panels, "panels", "",
		"draw the panels whose titles match a regular `expression` alone")
}

func (o *output) check() error {
	if o.json && o.benchfmt {
		return usage("--json and --benchfmt exclude each other")
	}
	if o.reproducible && (o.json || o.benchfmt) {
		return usage("--reproducible is for tables and plots, not for --json and --benchfmt")
	}
	var err error
	if o.only, err = regexp.Compile(o.panels); err != nil {
		return usage("--panels: %w", err)
	}
	if o.plot == "" {
		if o.panels != "" {
			return usage("--panels needs --plot")
		}
		return nil
	}
	if _, err := chart.Format(o.plot); err != nil {
		return usage("--plot: %w", err)
	}
	folder := filepath.Dir(o.plot)
	if is, err := os.Stat(folder); err != nil || !is.IsDir() {
		return usage("--plot: there is no folder %s; make it, or name another", folder)
	}
	return nil
}

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUsage, fmt.Errorf(format, args...))
}

// runFlags are the flags of commands that measure.
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
	call := "  farhash-eval " + e.path()
	cmd := &cobra.Command{Use: e.Name, Aliases: e.Aliases, Short: e.Short, Long: e.help(),
		Example: call + " --plot " + e.Name + ".svg", Args: noArgs}
	if e.Example != "" {
		cmd.Example += "\n" + call + " " + e.Example
	}
	o.runFlags(cmd)
	if e.Reproducible {
		cmd.Flags().BoolVar(&o.reproducible, "reproducible", false,
			"print and draw only what is the same on every machine")
	}
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
	for _, s := range sessions {
		if err := o.checkPlot(s.plotPath(o.plot, len(sessions) > 1)); err != nil {
			return err
		}
	}
	ctx, caught := catchSignals(cmd.Context())
	var failed error
	var done []*session
	for _, s := range sessions {
		s.progress = func(format string, args ...any) {
			if !o.quiet {
				fmt.Fprintf(os.Stderr, format, args...)
			}
		}
		failed = s.run(ctx)
		if s := caught(); s != nil {
			failed = &InterruptedError{s}
		}
		if len(s.records) > 0 && (failed == nil || caught() != nil) {
			done = append(done, s)
		}
		if failed != nil {
			break
		}
	}
	config := record.Machine(cpuModel(), commandLine())
	if failed != nil && len(done) > 0 {
		reason := "failed"
		if caught() != nil {
			reason = "interrupted"
			fmt.Fprintln(os.Stderr,
				"farhash-eval: INTERRUPTED: what has been measured so far follows")
		}
		config = append(config, record.Key{Name: record.Incomplete, Value: reason})
	}
	return errors.Join(o.show(cmd.OutOrStdout(), config, done, len(sessions) > 1), failed)
}

// catchSignals returns a context that the first SIGINT or SIGTERM ends, and which of them it
// was, nil for none. The next one kills the process.
func catchSignals(ctx context.Context) (context.Context, func() os.Signal) {
	ctx, cancel := context.WithCancel(ctx)
	signals, first := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals)
		first <- s
		cancel()
	}()
	return ctx, func() os.Signal {
		select {
		case s := <-first:
			first <- s
			return s
		default:
			return nil
		}
	}
}

// show prints and draws what experiments have measured; where they are several each has a
// plot of its own.
func (o *output) show(w io.Writer, config record.Config, done []*session, several bool) error {
	if len(done) == 0 {
		return nil
	}
	var records []record.Record
	var views []view.View
	for _, s := range done {
		records, views = append(records, s.records...), append(views, o.views(s.of)...)
	}
	if o.reproducible {
		config = record.Config{{Name: "command", Value: commandLine()}}
	}
	err := o.print(w, config, records, views)
	for _, s := range done {
		if err == nil && o.plot != "" {
			err = o.draw(s.plotPath(o.plot, several), s.records, o.views(s.of))
		}
	}
	return err
}

// views are what is shown of an experiment.
func (o *output) views(e *Experiment) []view.View {
	if o.reproducible {
		return view.Reproducible(e.Views)
	}
	return e.Views
}

// plotPath is the file of a session's plot, where several sessions may have one each.
func (s *session) plotPath(path string, several bool) string {
	if ext := filepath.Ext(path); several {
		path = strings.TrimSuffix(path, ext) + "-" + s.of.Views[0].Name + ext
	}
	return path
}

// plotFormat is the format of plots in files that end in .svg or .png.
func plotFormat(path string) replace.Format {
	name, known := "plot in SVG", func(head []byte) bool {
		return bytes.Contains(head, []byte("<svg"))
	}
	if strings.EqualFold(filepath.Ext(path), ".png") {
		name, known = "plot in PNG", func(head []byte) bool {
			return bytes.HasPrefix(head, []byte("\x89PNG\r\n"))
		}
	}
	return replace.Format{Name: name, Known: known}
}

// checkPlot refuses a plot that would replace a file that is no plot, or one that is read.
func (o *output) checkPlot(path string, inputs ...string) error {
	if o.plot == "" {
		return nil
	}
	err := replace.Spares(path, inputs...)
	if err == nil {
		_, _, err = replace.Target(path, plotFormat(path))
	}
	if err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
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
func (o *output) draw(path string, records []record.Record, views []view.View) error {
	format, err := chart.Format(path)
	if err != nil {
		return err
	}
	var drawing bytes.Buffer
	if err := view.Figure(&drawing, format, records, views, o.only); err != nil {
		return fmt.Errorf("drawing %s: %w", path, err)
	}
	return replace.File(path, plotFormat(path), func(w io.Writer) error {
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

// commandLine is how this program was called, without its folder.
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
