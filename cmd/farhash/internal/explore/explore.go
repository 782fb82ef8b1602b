package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/shm"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/packing"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/report"
)

// exploreFlags are the flags of the command as given.
type exploreFlags struct {
	ranks              int
	json               cli.JSONForm
	mcc, quiet         bool
	order, trace, mem  string
	encoding, access   string
	direct, check      bool
	spread             bool
	engine             string
	ranksGiven         bool
	checkpoint, resume string
	maxNet             string
	untimed            bool
	asked              asked
	every              time.Duration
	extent             report.Limits
	coverage           bool
	html, itf          string
	export             report.GraphFile
	walk               float64 // percent
	maxSeconds         float64
	begin              time.Time // of exploring
	resumeCommand      string    // without --resume
	exitCode, sawFalse bool      // the exit code says it if a property is false; one is
	reduce             string    // yes or no
	reduces            bool      // nets are reduced if the properties allow it
	known              *known    // before the last search; nil without reductions
	lines              *lines    // nil before the first stream
	launched           bool
}

// New is the command farhash explore.
func New() *cobra.Command {
	var f exploreFlags
	cmd := &cobra.Command{
		Use:   "explore FILE [-n RANKS]",
		Short: "Count the reachable markings of a Petri net, and answer what holds in them",
		Args: cli.OneArg("FILE", "the net to explore, in PNML; for example: farhash explore "+
			"examples/philosophers-12.pnml"),
		ValidArgsFunction: completeNets,
		Long: `Counts all markings that the place/transition net in FILE can reach, exactly. FILE is
PNML (ISO/IEC 15909-2) as any usual tool writes it, also compressed by gzip, or - for
standard input. With properties it answers these, and ends when all are answered:

  --always FORMULA, --sometimes FORMULA, --bound SUM, --ltl FORMULA, --ctl FORMULA,
  --examination NAME, --properties FILE

A FORMULA is such as 'tokens(a) + 2*tokens(b) <= 3 and not enabled(t)'; deadlock, or and
parentheses are known too. One of LTL has X, F, G, U, W and R besides, such as
'G(enabled(t) => F tokens(b) >= 1)', and one of CTL also A and E: 'AG EF deadlock'. A SUM
is such as 'tokens(a, b) + tokens(c)'. Names are ids of the net, in double quotes where
they have other characters than letters, digits, _ . : - and $. A FILE has properties of
the Model Checking Contest: on reachability, upper bounds, CTL or LTL; --mcc prints the
contest's lines. What memory did not suffice for is unknown. --trace witness shows for
each a way to a marking that answers it, where one does. What the first markings do not
answer is asked of a net reduced for it, unless --engine is given; counts are of the whole.

There are two engines. explicit stores each marking, in a set in the memory of all ranks.
symbolic stores sets of markings, as list decision diagrams: nets of regular structure then
fit into little memory with any number of markings; others take more memory and time. It
knows no depth, and counts arcs where that does not take long. Of several ranks, by -n or a
launcher, each tries another order of places and strategy, and the first answer ends the
others. auto runs both engines, and the first that has all answers ends the other; for up
to a million markings explicit answers. It is explicit alone under a launcher, with less
than 512 MiB of memory, and with --order, --trace, --checkpoint, --every, --resume,
--encoding, --access, --direct, --check, --html, --max-depth, --max-states and --coverage.

Started by farhash run, mpirun, srun or torchrun, every process is a rank, and shows no
progress. Otherwise -n ranks run as goroutines of this process, and progress is shown if
standard error is a terminal.

When memory is full, or at a limit, counts are marked INCOMPLETE, with exit code 3; after
Ctrl-C or SIGTERM with exit code 130 or 143. If random walks show that the net is
unbounded, the answer says so, with exit code 5, unless more than counts is asked for.

A checkpoint is written to FILE.partial, which then replaces the previous checkpoint. If
FILE is a symbolic link, its target is replaced.

When a rank is lost, all others end with exit code 4. The markings that the lost rank had
yet to expand are lost as well, so continue from the last checkpoint by --resume, on any
number of hosts and ranks. Ranks on several hosts need a shared folder for it.` + cli.ExitCodeList,
		Example: `  farhash explore examples/philosophers-12.pnml
  farhash explore examples/philosophers-12.pnml --trace deadlock
  farhash explore net.pnml --always 'tokens(a, b) <= 1' --trace witness
  farhash explore net.pnml --coverage
  farhash explore net.pnml --engine symbolic --mem 1GiB
  farhash explore net.pnml --checkpoint net.save --every 5m
  farhash explore net.pnml --resume net.save
  farhash run -n 4 -- farhash explore examples/philosophers-12.pnml`,
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			f.ranksGiven = cmd.Flags().Changed("ranks")
			if f.engine, err = f.checkFlags(cmd.Flags()); err != nil {
				return cli.Usage(err)
			}
			f.resumeCommand = resumeCommand(cmd, given[0])
			return f.exitForFalse(f.run(cmd.Context(), given[0]))
		},
	}
	f.register(cmd)
	return cmd
}

// checkFlags refuses flags that do not go together, and returns the engine that they ask for.
func (f *exploreFlags) checkFlags(flags *pflag.FlagSet) (engine string, err error) {
	switch {
	case flags.Changed("every") && f.checkpoint == "":
		return "", errors.New("--every is the time between checkpoints; it needs --checkpoint " +
			"FILE")
	case f.exitCode && !f.asked.formulas():
		return "", errors.New("--exit-code needs a property that may be false: give --always, " +
			"--sometimes, --ltl, --ctl, --formulas, --properties or --examination")
	case f.reduce != "yes" && f.reduce != "no":
		return "", fmt.Errorf("--reduce must be yes or no, not %q", f.reduce)
	case f.coverage && f.resume != "":
		return "", report.ErrResumed
	case f.coverage && f.mcc:
		return "", errors.New("--coverage and --mcc exclude each other: the contest has no lines " +
			"for it")
	}
	f.reduces = f.reducible(flags.Changed)
	engine, err = resolveEngine(f.engine, flags)
	return engine, errors.Join(err, f.checkSpread(engine), f.checkTraceFile(),
		f.export.Check(flags, f.html), f.extent.Check(flags, f.order != string(explore.AnyOrder)))
}

// register adds the flags to the command.
func (f *exploreFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVarP(&f.ranks, "ranks", "n", runtime.GOMAXPROCS(0),
		"number `N` of ranks in this process (default: one for each processor)")
	flags.Lookup("ranks").DefValue = "0" // not shown, as it depends on the machine
	flags.Var(&f.json, "json", "print one JSON object; with --json=lines before it a line for "+
		"each property as soon as it is answered")
	flags.Lookup("json").NoOptDefVal = string(cli.JSONObject)
	flags.BoolVar(&f.mcc, "mcc", false, "print the StateSpace lines of the Model Checking Contest")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no plan and no progress")
	flags.StringVar(&f.engine, "engine", engineAuto, "`ENGINE` that explores: explicit, each "+
		"marking; symbolic, sets of markings; or auto, both at the same time")
	flags.BoolVar(&f.spread, "spread", false, "with --engine symbolic, "+
		fmt.Sprintf(spreadUsage, "sets of markings"))
	flags.StringVar(&f.order, "order", string(explore.BreadthFirst),
		"`ORDER` of the search: bfs, level by level, which gives the depth; or any")
	flags.Var(&cli.Once{Text: &f.trace}, "trace",
		"print a firing sequence to a `KIND` of marking: deadlock; or witness, one that answers a "+
			"property, for each (shortest ones, unless --engine is symbolic; with --order any or "+
			"--resume the marking alone)")
	f.asked.register(flags)
	flags.Float64Var(&f.walk, "walk", 10, "`PERCENT` of the time for random walks towards what "+
		"properties ask for, 0 to 90; none without properties or with --trace deadlock")
	flags.StringVar(&f.mem, "mem", "", "`SIZE` of the memory of all ranks together, such as 2GiB "+
		"(default: 80% of the available memory)")
	flags.StringVar(&f.reduce, "reduce", "yes", "`ANSWER` yes or no: whether the engine auto "+
		"reduces the net for each property that the first markings do not answer")
	flags.BoolVar(&f.exitCode, "exit-code", false, "end with exit code 12 if a property is false")
	f.extent.Register(flags, "markings")
	flags.Float64Var(&f.maxSeconds, "max-seconds", 0, "end the search after `N` seconds")
	report.RegisterCoverage(flags, &f.coverage, "transition", "markings")
	flags.StringVar(&f.html, "html", "", "write the answer as a page to `FILE` as well, with "+
		"charts of the search and traces step by step")
	flags.StringVar(&f.itf, "itf", "", report.ITFUsage)
	f.export.Register(flags, "write all markings and firings to `FILE` as well, .dot (Graphviz) "+
		"or .aut (CADP, mCRL2), before the search", "most markings `N` to write by --export")
	flags.StringVar(&f.maxNet, "max-net", "1GiB", "largest `SIZE` of the net's file")
	flags.BoolVar(&f.untimed, "untimed", false, "leave out what the net's file says of timing and "+
		"priorities, instead of refusing it")
	flags.StringVar(&f.checkpoint, "checkpoint", "", "checkpoint `FILE`, written every --every")
	flags.DurationVar(&f.every, "every", 10*time.Minute, "`TIME` between checkpoints")
	flags.StringVar(&f.resume, "resume", "",
		"checkpoint `FILE` to continue from, with any number of ranks")
	flags.StringVar(&f.encoding, "encoding", "", "`ENCODING` of markings in the set: word, "+
		"tree, element, or fingerprint, 63 bits of a hash, by which a marking may be missed "+
		"(default: word up to 63 bits, tree up to 4096)")
	flags.StringVar(&f.access, "access", rma.Auto.String(),
		"`ACCESS` to ranks of other hosts: auto, one-sided or shipped")
	flags.BoolVar(&f.direct, "direct", true, "access memory directly where that is possible; "+
		"--direct=false uses one-sided operations everywhere, for tests")
	flags.BoolVar(&f.check, "check", false, "verify the whole set after the search, and say so")
	cli.CompleteFlags(cmd, map[string][]cobra.Completion{"engine": engines, "order": {"bfs", "any"},
		"trace": {"deadlock", "witness"}, "encoding": encodings,
		"access": {"auto", "one-sided", "shipped"}, "reduce": {"yes", "no"}})
}

// encodings are the values of --encoding.
var encodings = []string{string(explore.EncodingWord), string(explore.EncodingTree),
	string(explore.EncodingElement), string(explore.EncodingFingerprint)}

// options turns flags into options of the search for a net in a file.
func (f *exploreFlags) options(net string) (explore.Options, error) {
	opts := explore.Options{Order: explore.Order(f.order), Checkpoint: f.checkpoint,
		CheckpointEvery: f.every, Resume: f.resume, Warn: cli.Warn,
		Encoding: explore.Encoding(f.encoding), Check: f.check, Coverage: f.coverage}
	if opts.Order != explore.BreadthFirst && opts.Order != explore.AnyOrder {
		return opts, fmt.Errorf("--order must be bfs or any, not %q", f.order)
	}
	if f.encoding != "" && !slices.Contains(encodings, f.encoding) {
		return opts, fmt.Errorf("--encoding must be word, tree, element or fingerprint, not %q",
			f.encoding)
	}
	if f.mcc && opts.Encoding == explore.EncodingFingerprint {
		return opts, errors.New("--mcc and --encoding fingerprint exclude each other: the " +
			"contest asks for certain answers")
	}
	var err error
	if opts.Access, err = rma.ParseAccess(f.access); err != nil {
		return opts, fmt.Errorf("--access must be auto, one-sided or shipped, not %q", f.access)
	}
	switch f.trace {
	case "":
	case "deadlock":
		opts.Trace = []int{explore.Deadlock}
	case "witness":
		if !f.asked.formulas() && len(f.asked.bounds) == 0 {
			return opts, errors.New("--trace witness needs a property to show: give --always, " +
				"--sometimes, --bound, --properties or --examination")
		}
	default:
		return opts, fmt.Errorf("--trace must be deadlock or witness, not %q", f.trace)
	}
	opts.TraceEach, opts.MaxDepth, opts.MaxStates = true, f.extent.Depth, f.extent.States
	if slices.Contains(f.asked.examinations, "Liveness") && opts.Order != explore.BreadthFirst {
		return opts, errors.New("--examination Liveness needs --order bfs")
	}
	if !(f.walk >= 0 && f.walk <= 90) {
		return opts, fmt.Errorf("--walk must be 0 to 90 percent, not %v", f.walk)
	}
	if opts.Walk = f.walk / 100; f.trace == "deadlock" {
		opts.Walk = 0 // a shortest way is wanted
	}
	if f.maxSeconds < 0 || f.maxSeconds > maxSeconds || f.maxSeconds != f.maxSeconds {
		return opts, fmt.Errorf("--max-seconds must be above 0 and at most %g, not %v",
			float64(maxSeconds), f.maxSeconds)
	}
	if f.every <= 0 {
		return opts, fmt.Errorf("--every must be positive, not %v", f.every)
	}
	if err := f.checkFiles(net); err != nil {
		return opts, err
	}
	if f.json != "" && f.mcc {
		return opts, errors.New("--json and --mcc exclude each other")
	}
	if f.ranks < 1 || f.ranks > shm.MaxRanks {
		return opts, fmt.Errorf("-n must be 1 to %d, not %d", shm.MaxRanks, f.ranks)
	}
	if f.mem != "" {
		if opts.Mem, err = cli.ParseBytes("--mem", f.mem); err != nil {
			return opts, err
		}
		opts.MemWhole = true
	}
	return opts, nil
}

// gcPercent is how much garbage there may be where memory is bounded, in percent of what is in
// use: states are outside the Go heap, and searching leaves little garbage.
const gcPercent = 20

// run explores the net in a file and prints the answer.
func (f *exploreFlags) run(ctx context.Context, path string) error {
	opts, err := f.options(path)
	if err != nil {
		return cli.Usage(err)
	}
	maxNet, err := cli.ParseBytes("--max-net", f.maxNet)
	if err != nil {
		return cli.Usage(err)
	}
	f.launched, err = f.checkLaunched()
	if err != nil {
		return err
	}
	if _, err := cli.Stdout(); err != nil && !f.launched { // launched, rank 0 alone prints
		return err
	}
	if opts.MemWhole {
		debug.SetGCPercent(gcPercent)
	}
	net, err := readNet(path, maxNet, f.untimed)
	if err != nil {
		return err
	}
	f.begin = time.Now()
	ctx, stop := cli.LimitTime(cli.CatchSignals(ctx), f.limit())
	defer stop()
	properties, err := f.asked.read(net)
	if err != nil {
		return err
	}
	if err := f.writeGraph(ctx, net, f.launched); err != nil {
		return err
	}
	if f.mayReduce(opts, properties) {
		return f.exploreReduced(ctx, net, opts, properties)
	}
	return f.exploreGiven(ctx, net, opts, properties)
}

// exploreGiven explores the net as it is, by the engines that flags ask for.
func (f *exploreFlags) exploreGiven(ctx context.Context, net *petri.Net, opts explore.Options,
	properties []property.Property) error {
	switch {
	case f.engine == engineSymbolic:
		return f.exploreSymbolic(ctx, net, opts.Mem, properties)
	case f.engine == engineAuto && !f.launched:
		if mem, err := cli.Memory(opts.Mem); err == nil && mem/besideShare >= leastBeside {
			return f.exploreBoth(ctx, net, mem, opts, properties)
		}
	}
	answers := f.stream(net, len(properties))
	return f.search(ctx, net, opts, properties, answers, answers.print)
}

// search searches the net, and has rank 0 pass on the answer.
func (f *exploreFlags) search(ctx context.Context, net *petri.Net, opts explore.Options,
	properties []property.Property, answers *stream, pass func(answer) error) error {
	var join []farhash.Option
	if !f.direct {
		join = append(join, farhash.OneSided())
	}
	if f.trace == "witness" {
		opts.Trace = packing.Witnesses(properties)
	}
	var samples report.Samples
	search := packing.NewSearch(net, properties...)
	search.Answered, search.Endless = answers.answered, f.endless()
	search.ShowPaths = f.trace == "witness"
	err := farhash.Run(ctx, f.ranks, func(job rma.Job) error {
		opts := opts
		if job.Rank() == 0 {
			opts.Progress = f.sampled(&samples, answers.show.update)
		}
		res, p, err := search.Run(ctx, job, opts)
		if job.Rank() == 0 {
			answers.show.close()
		}
		if unbounded := (*packing.UnboundedError)(nil); errors.As(err, &unbounded) {
			return f.unbounded(job, newUnbounded(net, unbounded.Growth, properties), pass)
		}
		if err == nil && job.Rank() == 0 {
			var a answer
			if res.Complete {
				samples.Add(report.Sample{Elapsed: res.Elapsed, States: res.States})
			}
			if a, err = newAnswer(net, res, p, f.trace); err == nil {
				a.detail += noteUnbounded(net, res, p, search.Growth())
				f.noteTime(ctx, &a)
				f.known.addTo(&a)
				err = errors.Join(pass(a), f.writePage(&a, samples),
					f.writeTraces(net, a.Traces))
			}
		}
		if err == nil {
			err = f.exitFor(ctx, res)
		}
		return err
	}, join...)
	var other *explore.OtherModelError
	if errors.As(err, &other) {
		return otherNet(other)
	}
	if errors.Is(err, context.Canceled) {
		return cli.Interrupted(ctx, "the search had not begun")
	}
	return err
}

// checkLaunched reports whether a launcher has started this process as a rank, and says what of the
// flags does not go with that.
func (f *exploreFlags) checkLaunched() (launched bool, err error) {
	launcher, launched, err := farhash.Launched()
	if err != nil {
		return false, err
	}
	if launched && f.ranksGiven && !f.quiet {
		fmt.Fprintf(os.Stderr, "farhash: -n is ignored: %s has started the ranks\n", launcher)
	}
	return launched, nil
}

// otherNet is the error for a checkpoint of another net, where their numbers of bits differ.
func otherNet(err *explore.OtherModelError) error {
	bitsOf := func(id string) (bits int) { // 0: no id of packing.Search
		_, rest, _ := strings.Cut(id, ", ")
		_, _ = fmt.Sscanf(rest, "%d bits", &bits)
		return bits
	}
	have, _, _ := strings.Cut(err.Have, packing.Asked)
	want, _, _ := strings.Cut(err.Want, packing.Asked)
	if have == want && err.Have != err.Want {
		return fmt.Errorf("--resume: %s is of a search that was asked other questions, and has "+
			"what it found out about these alone; ask the same, or search from the beginning",
			err.Path)
	}
	text := fmt.Sprintf("--resume: %s belongs to another net", err.Path)
	if have, want := bitsOf(err.Have), bitsOf(err.Want); have > 0 && have != want {
		text += fmt.Sprintf(" (its markings have %d bits, and markings of this one %d)", have, want)
	}
	return errors.New(text)
}

// print writes the answer to standard output.
func (f *exploreFlags) print(a answer) error {
	out, err := cli.Stdout()
	if err != nil {
		return err
	}
	return a.print(out, f)
}

// exitFor is the exit code that an incomplete result asks for.
func (f *exploreFlags) exitFor(ctx context.Context, res *explore.Result) error {
	reason, lost := res.Reason, ""
	if res.Live != nil {
		reason, lost = res.Live.Reason, res.Live.Detail
	}
	if res.Swept != nil && res.Swept.Reason != "" {
		reason, lost = res.Swept.Reason, res.Swept.Detail
	}
	switch {
	case reason == explore.Decided, res.Complete && reason == "", reason == explore.Resumed:
		return nil
	case reason == explore.MemoryFull, reason == explore.LimitReached:
		return &cli.ExitError{Code: cli.ExitIncomplete}
	case reason == explore.Interrupted:
		return &cli.ExitError{Code: f.interruptCode(ctx)}
	case reason == explore.RankLost && lost != "":
		return &cli.ExitError{Code: cli.ExitLost, Err: errors.New("a rank was lost: " + lost)}
	case reason == explore.RankLost:
		return &cli.ExitError{Code: cli.ExitLost, Err: f.lost(res)}
	}
	return &cli.ExitError{Code: cli.ExitFailure}
}

// exitForFalse is the error of a run that may be over before all is answered, or the exit code for
// a property that is false.
func (f *exploreFlags) exitForFalse(err error) error {
	var exit *cli.ExitError
	incomplete := errors.As(err, &exit) && exit.Code == cli.ExitIncomplete
	if f.exitCode && f.sawFalse && (err == nil || incomplete) {
		return &cli.ExitError{Code: cli.ExitFalse}
	}
	return err
}

// completeNets completes one argument by nets.
func completeNets(_ *cobra.Command, given []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []cobra.Completion{"pnml", "tapn", "xml"}, cobra.ShellCompDirectiveFilterFileExt
}
