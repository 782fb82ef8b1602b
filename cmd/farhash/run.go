package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/launch"
	"github.com/farhash/farhash/rma/shm"
)

func newRun() *cobra.Command {
	var ranks int
	var prefix bool
	var timeout, grace time.Duration
	cmd := &cobra.Command{
		Use:   "run -n RANKS -- PROGRAM [ARGS...]",
		Short: "Start a program as the ranks of one job on this host",
		Args:  args(cobra.MinimumNArgs(1)),
		Long: `Starts PROGRAM once for each rank. The processes find each other through shared
memory. Output is passed on line by line and signals are forwarded. The exit code is
that of the first rank that failed, 128 plus the signal for one that was killed; the
others then have the grace period to end by themselves.`,
		Example: "  farhash run -n 4 -- farhash explore models/philosophers-12.pnml",
		RunE: func(_ *cobra.Command, given []string) error {
			if ranks < 1 || ranks > shm.MaxRanks {
				return usage(fmt.Errorf("-n must be 1 to %d, not %d", shm.MaxRanks, ranks))
			}
			if timeout <= 0 {
				return usage(fmt.Errorf("--timeout must be positive, not %v", timeout))
			}
			code, err := launch.Run(context.Background(), launch.Options{
				Ranks: ranks, Program: given[0], Args: given[1:], Prefix: prefix,
				Env:    []string{farhash.TimeoutVariable + "=" + timeout.String()},
				Stdout: os.Stdout, Stderr: os.Stderr, Stdin: os.Stdin, Grace: grace,
				Cleanup: func(job string) { _ = shm.RemoveJob("", job) },
			})
			if err != nil || code != 0 {
				return &exitError{code: code, err: err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&ranks, "ranks", "n", 0, "number of processes to start")
	flags.BoolVarP(&prefix, "prefix", "p", false, "put [rank] before each line of output")
	flags.DurationVar(&timeout, "timeout", shm.DefaultTimeout,
		"how long ranks wait for each other to arrive")
	flags.DurationVar(&grace, "grace", launch.DefaultGrace,
		"how long the others may go on when a rank has failed")
	_ = cmd.MarkFlagRequired("ranks")
	flags.SetInterspersed(false)
	return cmd
}
