package main

import (
	"github.com/spf13/cobra"
)

// The groups of commands in the help.
const (
	groupExplore = "explore"
	groupData    = "data"
	groupNamed   = "named"
	groupJobs    = "jobs"
	groupPlan    = "plan"
	groupOthers  = "others"
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

// exitCodes are the codes of all commands but farhash run. docs/explore.md has the same.
const exitCodes = `  0    done
  1    failed: files, memory or other ranks did not allow it
  2    wrong usage
  3    incomplete: memory is full, or a limit that was given is reached
  4    incomplete: a rank was lost
  130  interrupted by Ctrl-C (SIGINT)
  143  interrupted by SIGTERM`

const listOfExitCodes = "\n\nExit codes:\n\n" + exitCodes

const aboutExitCodes = exitCodes + `

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

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "farhash",
		Version:       version(),
		Short:         "Hash tables in the memory of many processes",
		SilenceErrors: true,
		SilenceUsage:  true,
		Long: aboutRoot + "\n\nExit codes:\n\n" + aboutExitCodes + "\n\n" +
			aboutCompletion,
		Example: rootExamples,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(badFlag(c, err)) })
	root.AddGroup(&cobra.Group{ID: groupExplore, Title: "Explore and measure:"},
		&cobra.Group{ID: groupData, Title: "Files of records:"},
		&cobra.Group{ID: groupNamed, Title: "Tables by name:"},
		&cobra.Group{ID: groupJobs, Title: "Jobs and machines:"},
		&cobra.Group{ID: groupPlan, Title: "Plan the sizes of reads:"},
		&cobra.Group{ID: groupOthers, Title: "Others:"})
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Show the help of a command",
		Example: "  farhash help explore", GroupID: groupOthers,
		RunE: func(_ *cobra.Command, given []string) error {
			about, _, err := root.Find(given)
			if err != nil {
				return usage(err)
			}
			return about.Help()
		}})
	root.SetCompletionCommandGroupID(groupOthers)
	for group, commands := range map[string][]*cobra.Command{
		groupExplore: {newExplore(), newSymbolic(), newPetri(), newBench()},
		groupData:    {newDedup()},
		groupNamed:   {newTables(), newCheck()},
		groupJobs:    {newRun(), newDoctor()},
		groupPlan:    {newCalibrate()},
	} {
		for _, c := range commands {
			c.GroupID = group
			foldUsages(c)
			root.AddCommand(c)
		}
	}
	return root
}
