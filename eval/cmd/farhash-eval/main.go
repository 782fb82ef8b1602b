// Command farhash-eval measures what the four papers behind farhash have measured, and prints
// each table and figure beside the paper's.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/eval/dedup"
	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/lp"
	"github.com/farhash/farhash/eval/lp/model"
	"github.com/farhash/farhash/eval/md"
	"github.com/farhash/farhash/eval/ne"
	"github.com/farhash/farhash/eval/net"
	"github.com/farhash/farhash/eval/op"
	"github.com/farhash/farhash/eval/shared"
)

// Exit codes, the same as farhash's.
const (
	exitFailure   = 1
	exitUsage     = 2
	exitInterrupt = 130
	exitTerminate = 143
)

func main() {
	cmd, err := newRoot().ExecuteContextC(context.Background())
	if err == nil {
		return
	}
	var interrupted *experiment.InterruptedError
	if errors.As(err, &interrupted) {
		if interrupted.Signal == syscall.SIGTERM {
			os.Exit(exitTerminate)
		}
		os.Exit(exitInterrupt)
	}
	const prefix = "wrong usage: " // which the last line and the exit code say
	fmt.Fprintln(os.Stderr, "farhash-eval:", strings.TrimPrefix(err.Error(), prefix))
	if errors.Is(err, experiment.ErrUsage) {
		fmt.Fprintf(os.Stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		os.Exit(exitUsage)
	}
	os.Exit(exitFailure)
}

// paper is a group of experiments.
type paper struct {
	name, short string
	experiments []*experiment.Experiment
}

func papers() []paper {
	return []paper{
		{"op", "Oortwijn et al., A Distributed Hash Table for Shared Memory: the set",
			op.Experiments()},
		{"lp", "Wang et al., Efficient Usage of One-Sided RDMA for Linear Probing: the index",
			lp.Experiments()},
		{"md", "Lübke et al., MPI-DHT as Surrogate Model: the cache", md.Experiments()},
		{"ne", "Szepesi et al., Nessie: the map", ne.Experiments()},
		{"net", "One-sided and shipped operations between hosts", net.Experiments()},
	}
}

// needsCommand is what a group of commands does by itself.
func needsCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: unknown command %q for %q", experiment.ErrUsage, args[0],
			cmd.CommandPath())
	}
	return cmd.Help()
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Args:          cobra.ArbitraryArgs,
		RunE:          needsCommand,
		Use:           "farhash-eval",
		Short:         "The tables and figures of the papers behind farhash, measured again",
		SilenceErrors: true,
		SilenceUsage:  true,
		Long: `The tables and figures of the papers behind farhash, measured, simulated or computed
again, each beside what the paper prints. docs/papers.md has all results.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C, 143 by SIGTERM. What was
measured before a signal is printed, and marked INCOMPLETE.`,
		Example: `  farhash-eval op table1
  farhash-eval lp table1 --plot table1.svg
  farhash-eval ne table1 --json
  farhash-eval op set -n 1,2 --benchfmt > set.txt
  farhash-eval show set.txt
  farhash-eval model --load 0.8 --slot 8
  farhash-eval dedup --size 100000000
  farhash-eval shared -n 1,2
  farhash run -n 2 -- farhash-eval md cache`,
	}
	cobra.EnableCommandSorting = false // figure6 comes before figure10
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w: %w", experiment.ErrUsage, err)
	})
	var all []*experiment.Experiment
	for _, p := range papers() {
		group := &cobra.Command{Use: p.name, Short: p.short, RunE: needsCommand}
		for _, e := range p.experiments {
			e.Group = p.name
			group.AddCommand(experiment.Command(e))
		}
		if len(p.experiments) > 1 {
			group.AddCommand(experiment.All(p.experiments))
		}
		root.AddCommand(group)
		all = append(all, p.experiments...)
	}
	lines, stores := dedup.Experiment(), shared.Experiment()
	root.AddCommand(experiment.Command(lines), experiment.Command(stores), shared.Worker(),
		model.Command(), pageCommand(),
		experiment.All(all), experiment.Show(append(all, lines, stores)))
	return root
}
