package main

import (
	"github.com/spf13/cobra"

	"github.com/farhash/farhash/cmd/farhash/internal/bench"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/dedup"
	"github.com/farhash/farhash/cmd/farhash/internal/doctor"
	"github.com/farhash/farhash/cmd/farhash/internal/explore"
	"github.com/farhash/farhash/cmd/farhash/internal/run"
	"github.com/farhash/farhash/cmd/farhash/internal/tables"
)

const aboutRoot = `farhash has four hash tables in the memory of many processes, reached by
one-sided operations: get, put, compare-and-swap, fetch-and-add. The tables are libraries for Go,
C, C++, Fortran and Python. This command runs them and measures them.

  set    words or byte strings, insert-only, by find-or-put: visited states, duplicates
  cache  keys and values of fixed size, forgets when full: results worth reusing
  index  built in bulk, then read-only: joins, dictionaries
  kv     byte strings to byte strings, mutable, linearizable: shared state

farhash explore and farhash dedup use the set, and farhash bench measures all four. A set, cache
or map with a name is shared by programs of one host; farhash tables and farhash check find it.

A rank is a goroutine or a process that takes part, and all ranks together are a job.
farhash run, mpirun, srun and torchrun start jobs of processes.`

const aboutExitCodes = cli.ExitCodes + `

farhash run has exit codes of its own: the code of the first rank that failed, 128 plus
the signal for a rank that a signal killed (137: SIGKILL) or 4 if another rank ends with 4
because of that loss, 127 if PROGRAM is not found, and 126 if it cannot be executed.`

const aboutCompletion = `For completion in bash: source <(farhash completion bash).
It needs the package bash-completion. For other shells see farhash completion --help.
make install installs completion for bash, zsh and fish.`

const rootExamples = `  farhash doctor
  farhash bench
  farhash petri philosophers -n 14 -o net.pnml
  farhash explore net.pnml
  farhash run -n 4 -- farhash explore net.pnml`

// newRoot is the command farhash with all its subcommands.
func newRoot() *cobra.Command {
	root := cli.Root()
	root.Long = aboutRoot + "\n\nExit codes:\n\n" + aboutExitCodes + "\n\n" + aboutCompletion
	root.Example = rootExamples
	add := func(group, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: group, Title: title})
		for _, c := range commands {
			c.GroupID = group
		}
		cli.Add(root, commands...)
	}
	add("explore", "Explore and measure:", explore.New(), explore.NewSymbolic(), explore.NewPetri(),
		bench.New())
	add("data", "Files of records:", dedup.New())
	add("named", "Tables by name:", tables.New(), tables.NewCheck())
	add("jobs", "Jobs and machines:", run.New(), doctor.New())
	add("plan", "Plan the sizes of reads:", bench.NewCalibrate())
	add("others", "Others:")
	root.SetHelpCommandGroupID("others")
	root.SetCompletionCommandGroupID("others")
	return root
}
