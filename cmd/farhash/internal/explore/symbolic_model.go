package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma/shm"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/report"
	"github.com/farhash/farhash/statespace/symbolic"
	"github.com/farhash/farhash/statespace/symbolic/model"
)

// modelFileFlags are the flags of farhash symbolic.
type modelFileFlags struct {
	json, quiet, deadlocks bool
	strategy, mem          string
	spread                 bool
	ranks                  int
}

// NewSymbolic is the command farhash symbolic.
func NewSymbolic() *cobra.Command {
	var f modelFileFlags
	cmd := &cobra.Command{
		Use:   "symbolic FILE",
		Short: "Count the reachable states of a model of list or binary decision diagrams",
		Args: cli.OneArg("FILE",
			"the model to explore, .ldd or .bdd; for example: farhash symbolic "+
				"collision.4.ldd"),
		ValidArgsFunction: completeModels,
		Long: `Counts all states that the model in FILE can reach, exactly. A model is an initial
set of states and relations that say which states follow, all as decision diagrams. FILE,
or - for standard input, is of one of two formats, which its content says:

  .ldd  list decision diagrams, as LTSmin and Sylvan write them
  .bdd  binary decision diagrams, as DistBDD has them (Sylvan now has other ones)

Petri nets are explored by farhash explore --engine symbolic.

The strategy is the order in which relations are followed. loops and saturation complete
what is below a level before they follow the relations that begin at it, loops for whole
sets and saturation for each entry. By default both run at the same time, with half of the
memory and of the processors each, and the one that ends first answers. One alone has all
processors.

With --spread all ranks, of -n or a launcher, have one diagram together, which may be
larger than the memory of one host.

When memory is full nothing is known, and the exit code is 3. After Ctrl-C or SIGTERM it is
130 or 143.`,
		Example: `  farhash symbolic collision.4.ldd
  farhash symbolic schedule_world.2.ldd --strategy saturation --json
  farhash symbolic anderson.4.bdd --deadlocks
  farhash run -n 2 -- farhash symbolic anderson.4.bdd --spread`,
		RunE: func(cmd *cobra.Command, given []string) error {
			return f.run(cmd.Context(), given[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no plan")
	flags.BoolVar(&f.deadlocks, "deadlocks", false, "count the states that none follows as well")
	flags.StringVar(&f.strategy, "strategy", "", "`STRATEGY`: loops or saturation (default: both "+
		"at the same time)")
	flags.StringVar(&f.mem, "mem", "", "`SIZE` of the memory for sets of states, such as 2GiB "+
		"(default: 80% of the available memory)")
	flags.BoolVar(&f.spread, "spread", false, fmt.Sprintf(spreadUsage, "sets of states"))
	flags.IntVarP(&f.ranks, "ranks", "n", 1, "number `N` of ranks in this process, with --spread")
	names := make([]cobra.Completion, 0, 2)
	for _, s := range symbolic.Strategies() {
		names = append(names, string(s))
	}
	cli.CompleteFlags(cmd, map[string][]cobra.Completion{"strategy": names})
	return cmd
}

// completeModels completes one argument by models.
func completeModels(_ *cobra.Command, given []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []cobra.Completion{"ldd", "bdd"}, cobra.ShellCompDirectiveFilterFileExt
}

// options are what the flags say.
func (f *modelFileFlags) options() (opts model.Options, err error) {
	switch {
	case f.spread && (f.strategy != "" || f.deadlocks):
		return opts, errors.New("--spread counts states by saturation, and knows neither " +
			"--strategy nor --deadlocks")
	case !f.spread && f.ranks != 1:
		return opts, errors.New("-n is for --spread: without it one rank has the diagram")
	case f.ranks < 1 || f.ranks > shm.MaxRanks:
		return opts, fmt.Errorf("-n must be 1 to %d, not %d", shm.MaxRanks, f.ranks)
	}
	opts = model.Options{Strategy: symbolic.Strategy(f.strategy), Deadlocks: f.deadlocks}
	var names []string
	known := f.strategy == ""
	if !known {
		opts.Goroutines = runtime.GOMAXPROCS(0)
	}
	for _, s := range symbolic.Strategies() {
		names = append(names, string(s))
		known = known || s == opts.Strategy
	}
	if !known {
		return opts, fmt.Errorf("--strategy must be %s or %s, not %q",
			strings.Join(names[:len(names)-1], ", "), names[len(names)-1], f.strategy)
	}
	if f.mem == "" {
		if opts.MaxBytes, err = cli.Memory(0); err != nil {
			err = cli.Failure(err)
		}
		return opts, err
	}
	if opts.MaxBytes, err = cli.ParseBytes("--mem", f.mem); err != nil {
		return opts, err
	}
	if opts.MaxBytes < 2*symbolic.MinBytes {
		return opts, fmt.Errorf("--mem must be %s or more, not %s",
			memory.Format(2*symbolic.MinBytes), f.mem)
	}
	debug.SetGCPercent(gcPercent)
	return opts, nil
}

// run explores the model in a file and prints the answer.
func (f *modelFileFlags) run(ctx context.Context, path string) error {
	opts, err := f.options()
	if err != nil {
		return cli.Usage(err)
	}
	out, err := cli.Stdout()
	if err != nil {
		return err
	}
	if info, err := os.Stat(cli.InputFile(path)); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; name one model in it, such as %s", path,
			filepath.Join(path, "model.ldd"))
	}
	m, err := model.ReadFile(cli.InputFile(path), int64(opts.MaxBytes/4))
	if err != nil {
		return err
	}
	ctx = cli.CatchSignals(ctx) // until here a signal ends the program
	a := modelAnswer{Model: filepath.Base(path), Format: m.Format, Integers: m.Integers,
		Relations: m.Groups, Engine: "symbolic"}
	if f.spread {
		if f.mem == "" {
			opts.MaxBytes = 0 // of all hosts
		}
		return f.runSpread(ctx, m, &a, opts.MaxBytes)
	}
	if !f.quiet {
		strategy := f.strategy
		if strategy == "" {
			strategy = "loops and saturation at the same time"
		}
		fmt.Fprintf(os.Stderr, "plan: up to %s for sets of states, by %s\n",
			memory.Format(opts.MaxBytes), strategy)
	}
	res, err := model.Explore(ctx, m, opts)
	code, err := a.incomplete(ctx, err)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if res != nil {
		a.take(res)
	}
	if err := a.print(out, f.json); err != nil || code == 0 {
		return err
	}
	return &cli.ExitError{Code: code}
}

// incomplete has an answer say why it is not complete, and returns the exit code for that. An error
// that is no such reason it returns.
func (a *modelAnswer) incomplete(ctx context.Context, err error) (code int, _ error) {
	full := (*symbolic.FullError)(nil)
	switch {
	case errors.As(err, &full):
		a.Reason, code = string(explore.MemoryFull), cli.ExitIncomplete
		a.detail = fmt.Sprintf(": %s in use; give more by --mem",
			plural.Of(int(full.Nodes), "node"))
	case err != nil && ctx.Err() != nil:
		a.Reason, code = string(explore.Interrupted), cli.InterruptCode(ctx)
	case err != nil:
		return 0, err
	}
	return code, nil
}

// modelAnswer is what farhash symbolic prints. The fields are named as in --json.
type modelAnswer struct {
	Model        string            `json:"model"`
	Format       model.Format      `json:"format"`
	Integers     int               `json:"integers"` // of a state
	Relations    int               `json:"relations"`
	Engine       string            `json:"engine"`
	States       *big.Int          `json:"states"` // null when not complete
	Deadlocks    *big.Int          `json:"deadlocks"`
	Complete     bool              `json:"complete"`
	Strategy     symbolic.Strategy `json:"strategy,omitempty"`
	Nodes        int               `json:"nodes,omitempty"` // of the set of all states
	NodesByRank  []uint64          `json:"nodesByRank,omitempty"`
	Bytes        uint64            `json:"bytes,omitempty"`
	Seconds      float64           `json:"seconds,omitempty"`
	ReachSeconds float64           `json:"reachSeconds,omitempty"` // of them until all were found
	Reason       string            `json:"reason,omitempty"`       // only when not complete

	detail string
}

// take takes the numbers of a result.
func (a *modelAnswer) take(res *model.Result) {
	a.States, a.Deadlocks, a.Complete, a.Strategy = res.States, res.Deadlocks, true, res.Strategy
	a.Nodes, a.Bytes = res.Nodes, res.Stats.Bytes
	a.Seconds, a.ReachSeconds = res.Elapsed.Seconds(), res.Reaching.Seconds()
}

// print writes the answer in one piece.
func (a *modelAnswer) print(w io.Writer, asJSON bool) (err error) {
	var text bytes.Buffer
	if asJSON {
		err = json.NewEncoder(&text).Encode(a)
	} else {
		a.printText(&text)
	}
	if err == nil {
		_, err = w.Write(text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}

func (a *modelAnswer) printText(out io.Writer) {
	fmt.Fprintf(out, "%s: %s, %s\n", report.Printable(a.Model), plural.Of(a.Integers, "integer"),
		plural.Of(a.Relations, "relation"))
	if a.Complete {
		t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "states\t%v\n", a.States)
		if a.Deadlocks != nil {
			fmt.Fprintf(t, "deadlocks\t%v\n", a.Deadlocks)
		}
		fmt.Fprintf(t, "seconds\t%.3f\tby %s\n", a.Seconds, a.Strategy)
		share := fmt.Sprintf("of the set; %s in all", memory.Format(a.Bytes))
		if a.NodesByRank != nil {
			share = shareOf(a.NodesByRank)
		}
		fmt.Fprintf(t, "nodes\t%d\t%s\n", a.Nodes, share)
		_ = t.Flush()
	} else {
		fmt.Fprintf(out, "INCOMPLETE: %s%s\n", a.Reason, a.detail)
	}
}
