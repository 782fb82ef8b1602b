package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/report"
)

// The exit codes of Main, beside 0: all that was asked is known and nothing is violated.
const (
	exitFailure    = 1 // the model is wrong, or memory, files or other ranks did not allow it
	exitUsage      = 2
	exitIncomplete = 3 // memory is full, a rank was lost, or a limit was reached
	exitViolated   = 12
	exitInterrupt  = 130
)

// program is a model of any type of state.
type program interface {
	name() string
	// check is Run, and what Main needs of its result.
	check(ctx context.Context, job rma.Job, opts Options) (outcome, error)
	// export writes the states to a file, if they are no more than that.
	export(ctx context.Context, path string, most int) error
	// simulate is the same for Simulate.
	simulate(ctx context.Context, job rma.Job, opts Simulation) (outcome, error)
}

// outcome is a result without the type of state.
type outcome struct {
	code   int
	report func() string
	object func() any
	page   func() *report.Page // nil: none
	traces func() []report.ITFTrace
}

func (m Model[S]) name() string { return m.Name }

func (m Model[S]) check(ctx context.Context, job rma.Job, opts Options) (outcome, error) {
	r, err := Run(ctx, job, m, opts)
	if err != nil {
		return outcome{}, err
	}
	return outcome{exitCode(r.Result, r.Violated() || r.Unfound()), r.Report,
		func() any { return newObject(m.Name, r) },
		func() *report.Page { return r.page(m.Name) },
		func() []report.ITFTrace { return itfTraces(m.Name, r.Traces) }}, nil
}

func (m Model[S]) simulate(ctx context.Context, job rma.Job, opts Simulation) (outcome, error) {
	r, err := Simulate(ctx, job, m, opts)
	if err != nil {
		return outcome{}, err
	}
	code := 0
	switch {
	case r.Violated():
		code = exitViolated
	case r.Interrupted:
		code = exitInterrupt
	}
	return outcome{code, r.Report, func() any { return newSimulatedObject(m.Name, r) }, nil,
		func() []report.ITFTrace { return itfTraces(m.Name, r.traces()) }}, nil
}

// Main checks a [Model] as a program, with the flags that -h lists, and exits. It is the first
// model, or the one that an argument names. Started by farhash run, mpirun, srun or torchrun
// every process is a rank; else the ranks are goroutines. The exit code is 0 if all that was asked
// is known and nothing is violated, 12 if something is violated, or a state is not there that is to
// be found, 3 if memory is full, a rank was lost or a limit was reached, 130 after an interrupt,
// 2 for wrong flags, and 1 for other errors.
func Main(first program, more ...program) { os.Exit(run(append([]program{first}, more...))) }

func run(models []program) int {
	f, opts, err := parse(models, os.Args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\nGive -h for the flags.\n", models[0].name(), err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := f.begin(ctx, &opts)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", f.model.name(), err)
		return code
	}
	err = farhash.Run(ctx, f.ranks, func(job rma.Job) error {
		opts := opts
		if job.Rank() == 0 && !f.quiet {
			opts.Progress = showProgress
		}
		var samples report.Samples
		if f.html != "" {
			opts.Progress = sampled(&samples, opts.Progress)
		}
		var r outcome
		var err error
		if f.simulate {
			r, err = f.model.simulate(ctx, job, f.simulation)
		} else {
			r, err = f.model.check(ctx, job, opts)
		}
		if err != nil || job.Rank() != 0 {
			return err
		}
		code = r.code
		return f.print(r, samples)
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", f.model.name(), err)
		if errors.Is(err, context.Canceled) { // while a checkpoint was read
			return exitInterrupt
		}
		return exitFailure
	}
	return code
}

// print prints a result, and writes its page and traces.
func (f *flags) print(r outcome, samples report.Samples) error {
	var err error
	if f.json {
		err = json.NewEncoder(os.Stdout).Encode(r.object())
	} else {
		_, err = fmt.Printf("%s: %s", f.model.name(), r.report())
	}
	if f.html != "" {
		page := r.page()
		page.Samples = samples
		if failure := page.Write(f.html); failure != nil {
			err = errors.Join(err, fmt.Errorf("--html: %w", failure))
		}
	}
	if f.itf != "" {
		if failure := report.WriteITF(f.itf, r.traces()...); failure != nil {
			err = errors.Join(err, fmt.Errorf("--itf: %w", failure))
		}
	}
	return err
}

// flags are the flags of a program, beside the options.
type flags struct {
	model       program
	ranks       int
	json, quiet bool
	html, itf   string
	export      report.GraphFile
	extent      report.Limits
	simulate    bool
	simulation  Simulation
}

// parse reads the flags.
func parse(models []program, args []string) (f flags, opts Options, err error) {
	var mem, order string
	var fingerprint bool
	var names []string
	for _, m := range models {
		names = append(names, m.name())
	}
	set := pflag.NewFlagSet(names[0], pflag.ContinueOnError)
	set.Usage = func() {
		fmt.Fprintf(os.Stderr, "Checks a model: %s\n%s", strings.Join(names, ", "),
			set.FlagUsages())
	}
	set.IntVarP(&f.ranks, "ranks", "n", runtime.GOMAXPROCS(0), "number of ranks in this process")
	set.BoolVar(&f.json, "json", false, "print one JSON object")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	set.StringVar(&mem, "mem", "", "size of the memory of all ranks together, such as 2GiB "+
		"(default: 80% of the available memory)")
	set.StringVar(&order, "order", string(explore.BreadthFirst),
		"bfs, level by level, which gives shortest paths; or any")
	set.BoolVar(&fingerprint, "fingerprint", false, "keep 63 bits of a hash of each state that "+
		"is longer: a state may be missed, and the probability is shown")
	set.BoolVar(&opts.Continue, "continue", false, "search on after a violation, for all others")
	f.extent.Register(set, "states")
	report.RegisterCoverage(set, &opts.Coverage, "action", "states")
	f.registerFiles(set)
	set.BoolVar(&f.simulate, "simulate", false, "walk at random instead of searching, until "+
		"something is violated")
	set.IntVar(&f.simulation.Depth, "depth", 100, "steps of a random walk")
	set.Uint64Var(&f.simulation.Walks, "walks", 0, "number of random walks (default: no end)")
	set.Uint64Var(&f.simulation.Seed, "seed", 1, "seed of the random walks")
	set.StringVar(&opts.Checkpoint, "checkpoint", "", "checkpoint file, written every --every")
	set.DurationVar(&opts.CheckpointEvery, "every", 10*time.Minute, "time between checkpoints")
	set.StringVar(&opts.Resume, "resume", "", "checkpoint file to continue from")
	if err := set.Parse(args); err != nil {
		return f, opts, err
	}
	opts.Order = explore.Order(order)
	if fingerprint {
		opts.Encoding = explore.EncodingFingerprint
	}
	switch {
	case set.NArg() > 1:
		return f, opts, fmt.Errorf("%q is one argument too many; name one model", set.Arg(1))
	case set.NArg() == 1 && !slices.Contains(names, set.Arg(0)):
		return f, opts, fmt.Errorf("there is no model %q; the models are %s", set.Arg(0),
			strings.Join(names, ", "))
	case opts.Order != explore.BreadthFirst && opts.Order != explore.AnyOrder:
		return f, opts, fmt.Errorf("--order must be bfs or any, not %q", order)
	case f.ranks < 1 || f.ranks > maxRanks:
		return f, opts, fmt.Errorf("-n must be 1 to %d, not %d", maxRanks, f.ranks)
	case opts.Coverage && opts.Resume != "":
		return f, opts, report.ErrResumed
	case opts.CheckpointEvery <= 0:
		return f, opts, fmt.Errorf("--every must be positive, not %v", opts.CheckpointEvery)
	}
	if err := errors.Join(f.extent.Check(set, opts.Order == explore.BreadthFirst),
		f.export.Check(set, f.html), f.checkSimulation(set)); err != nil {
		return f, opts, err
	}
	opts.MaxDepth, opts.MaxStates = f.extent.Depth, f.extent.States
	f.model = models[max(slices.Index(names, set.Arg(0)), 0)]
	if mem != "" {
		opts.MemWhole = true
		if opts.Mem, err = humanize.ParseBytes(mem); err != nil || opts.Mem == 0 {
			return f, opts, fmt.Errorf("--mem %q is no size such as 2GiB or 500MB", mem)
		}
	}
	return f, opts, nil
}

// registerFiles adds the flags that write the result to files as well.
func (f *flags) registerFiles(set *pflag.FlagSet) {
	set.StringVar(&f.html, "html", "", "write the result to this file as well, as a page")
	set.StringVar(&f.itf, "itf", "", report.ITFUsage)
	f.export.Register(set, "write all states and transitions to this file as well, .dot or .aut",
		"most states to write by --export")
}

// checkSimulation refuses flags that do not go together.
func (f *flags) checkSimulation(set *pflag.FlagSet) error {
	if f.simulate && f.simulation.Depth < 1 {
		return fmt.Errorf("--depth must be at least 1, not %d", f.simulation.Depth)
	}
	if !f.quiet {
		f.simulation.Progress = func(walks, steps uint64, elapsed time.Duration) {
			fmt.Fprintf(os.Stderr, "rank 0: %d walks, %d steps, %v\n", walks, steps,
				elapsed.Round(time.Second))
		}
	}
	walks, search := []string{"depth", "walks", "seed"}, []string{"mem", "order", "fingerprint",
		"checkpoint", "every", "resume", "continue", "max-depth", "max-states",
		"html", "export", "max-export", "coverage"}
	for _, name := range walks {
		if !f.simulate && set.Changed(name) {
			return fmt.Errorf("--%s is for random walks; it needs --simulate", name)
		}
	}
	for _, name := range search {
		if f.simulate && set.Changed(name) {
			return fmt.Errorf("--%s is for a search, and --simulate walks at random", name)
		}
	}
	return nil
}

// maxRanks is how many ranks a process has at most.
const maxRanks = 1024

// showProgress prints a line about a search that runs.
func showProgress(s explore.Snapshot) {
	if s.Elapsed > 0 {
		fmt.Fprintf(os.Stderr, "%d states, level %d, %v\n", s.States, s.Level,
			s.Elapsed.Round(time.Second))
	}
}

// exitCode is the exit code for a result.
func exitCode(r *explore.Result, violated bool) int {
	switch {
	case violated:
		return exitViolated
	case r.Swept != nil && r.Swept.Reason == explore.Interrupted:
		return exitInterrupt
	case r.Swept != nil && r.Swept.Reason != "":
		return exitIncomplete
	case r.Complete, r.Reason == explore.Decided:
		return 0
	case r.Reason == explore.Interrupted:
		return exitInterrupt
	}
	return exitIncomplete
}

// object is a result as it is printed with --json.
type object struct {
	Model      string         `json:"model"`
	States     uint64         `json:"states"`
	Arcs       uint64         `json:"arcs"`
	Depth      uint64         `json:"depth"`
	Deadlocks  uint64         `json:"deadlocks"`
	Complete   bool           `json:"complete"`
	Reason     explore.Reason `json:"reason,omitempty"`
	Detail     string         `json:"detail,omitempty"` // of reason
	Ranks      int            `json:"ranks"`
	Seconds    float64        `json:"seconds"`
	StateBytes float64        `json:"bytesPerState,omitempty"` // of 100,000 states and more
	Encoding   string         `json:"encoding"`
	Missed     *float64       `json:"missedProbability,omitempty"` // with fingerprints alone
	Properties []Answer       `json:"properties"`
	Shown      string         `json:"shown,omitempty"`
	Path       []objectStep   `json:"path,omitempty"`
	Back       *int           `json:"back,omitempty"` // the step of path that it repeats from
	Traces     []objectTrace  `json:"traces,omitempty"`
	TracesCut  bool           `json:"tracesCut,omitempty"` // interrupted before all were found
	Compared   *uint64        `json:"compared,omitempty"`  // with Canonical alone
	Alike      string         `json:"alike,omitempty"`
	Untaken    []string       `json:"untaken,omitempty"` // actions
	// Coverage has the actions, where it was asked for and no rank was lost.
	Coverage []report.Action `json:"coverage,omitempty"`
}

// simulatedObject is a result of Simulate as it is printed with --json.
type simulatedObject struct {
	Model       string       `json:"model"`
	Walks       uint64       `json:"walks"`
	Steps       uint64       `json:"steps"`
	Depth       int          `json:"depth"`
	Seed        uint64       `json:"seed"`
	Ranks       int          `json:"ranks"`
	Seconds     float64      `json:"seconds"`
	Interrupted bool         `json:"interrupted,omitempty"`
	Properties  []Answer     `json:"properties"`
	Shown       string       `json:"shown,omitempty"`
	Walk        *uint64      `json:"walk,omitempty"` // that has shown it
	Path        []objectStep `json:"path,omitempty"`
}

func newSimulatedObject[S any](name string, r *Simulated[S]) simulatedObject {
	o := simulatedObject{Model: name, Walks: r.Walks, Steps: r.Steps, Depth: r.Simulation.Depth,
		Seed: r.Simulation.Seed, Ranks: r.Ranks, Seconds: r.Elapsed.Seconds(),
		Interrupted: r.Interrupted, Properties: r.Properties, Shown: r.Shown,
		Path: objectPath(r.Path)}
	if r.Shown != "" {
		o.Walk = &r.Walk
	}
	return o
}

type objectStep struct {
	Action  string   `json:"action,omitempty"`
	State   string   `json:"state"`
	Changes []change `json:"changes,omitempty"` // since the state before
}

func newObject[S any](name string, r *Result[S]) object {
	o := object{Model: name, States: r.States, Arcs: r.Arcs, Depth: r.Depth,
		Deadlocks: r.Deadlocks, Complete: r.Complete, Reason: r.Reason, Ranks: r.Ranks,
		Seconds: r.Elapsed.Seconds(), StateBytes: r.StateBytes(), Shown: r.Shown,
		Encoding: string(r.Encoding), Properties: r.Properties,
		Path: objectPath(r.Path), Detail: r.Detail, Traces: objectTraces(r.Traces),
		TracesCut: r.TracesCut, Alike: r.Alike, Untaken: r.Untaken,
		Coverage: report.ActionsOf(r.Coverage)}
	if r.canonical {
		o.Compared = &r.Compared
	}
	if r.Encoding == explore.EncodingFingerprint {
		o.Missed = &r.Missed
	}
	if r.Back >= 0 {
		o.Back = &r.Back
	}
	return o
}

func objectPath[S any](path []Step[S]) (all []objectStep) {
	for i, step := range path {
		o := objectStep{Action: step.Action, State: text(step.State)}
		if i > 0 {
			o.Changes = differences(path[i-1].State, step.State)
		}
		all = append(all, o)
	}
	return all
}

// tb is what Test needs of a testing.TB.
type tb interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// Test checks a model within a test, and fails it with a report if something is violated, a state
// was not found that is to be found, or the search did not end.
func Test[S any](t tb, m Model[S]) *Result[S] {
	t.Helper()
	var first *Result[S]
	err := local.Run(runtime.GOMAXPROCS(0), func(job rma.Job) error {
		r, err := Run(t.Context(), job, m, Options{})
		if job.Rank() == 0 {
			first = r
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	bad := first.Violated() || !first.Complete && first.Reason != explore.Decided
	for _, a := range first.Properties {
		bad = bad || a.Verdict != logic.True
	}
	if bad {
		t.Errorf("%s: %s", m.Name, first.Report())
	} else if text := first.warnings(); text != "" {
		t.Logf("%s: %s", m.Name, text)
	}
	return first
}
