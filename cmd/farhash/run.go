package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/launch"
	"github.com/farhash/farhash/rma/shm"
)

// runFlags are the flags of run as given.
type runFlags struct {
	ranks          int
	prefix         bool
	survive        bool
	timeout, grace time.Duration
	hosts          hostFlags
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run -n RANKS [flags] -- PROGRAM [ARGS...]",
		Short: "Start a program as the ranks of one job, on this host or several",
		Args:  args(cobra.MinimumNArgs(1)),
		Long: `Starts PROGRAM once for each rank. The processes find each other through shared
memory. Output is passed on line by line and signals are forwarded. The exit code is
that of the first rank that failed, 128 plus the signal for one that was killed, or 4
where a rank says that it could not go on without another one that was lost; the others
then have the grace period to end by themselves. With --survive the job goes on
without a rank that was killed, and the exit code is that of the others.

With --rendezvous the job has several hosts: run this on each of them, with the same
address, which is one of the host with --node-rank 0, and the same token. Who knows the
token is let in; what the ranks say to each other then is neither encrypted nor signed,
and the ports of UCX ask for no token: only hosts of the job may reach them (see farhash
doctor). PROGRAM must be built with -tags ucx.`,
		Example: `  farhash run -n 4 -- farhash explore models/philosophers-12.pnml
  (umask 077; head -c 24 /dev/urandom | base64 > token)   # and copy it to the other host
  farhash run --rendezvous 10.0.0.1:29500 --nnodes 2 --node-rank 0 --nproc 2 \
      --token-file token -- farhash explore models/philosophers-12.pnml`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if flags := cmd.Flags(); flags.Changed("ranks") == flags.Changed("nproc") {
				return usage(errors.New("give the number of ranks by one of -n and --nproc"))
			}
			return f.run(given)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.ranks, "ranks", "n", 0, "number of processes to start on this host")
	flags.IntVar(&f.ranks, "nproc", 0, "the same as -n, as torchrun calls it")
	flags.BoolVarP(&f.prefix, "prefix", "p", false, "put [rank] before each line of output")
	flags.DurationVar(&f.timeout, "timeout", shm.DefaultTimeout,
		"how long ranks wait for each other to arrive")
	flags.DurationVar(&f.grace, "grace", launch.DefaultGrace,
		"how long the others may go on when a rank has failed")
	flags.BoolVar(&f.survive, "survive", false,
		"let the others go on for good when a signal has killed a rank")
	f.hosts.register(cmd)
	flags.SetInterspersed(false)
	return cmd
}

func (f *runFlags) run(given []string) error {
	if f.ranks < 1 || f.ranks > shm.MaxRanks {
		return usage(fmt.Errorf("-n must be 1 to %d, not %d", shm.MaxRanks, f.ranks))
	}
	if f.timeout <= 0 {
		return usage(fmt.Errorf("--timeout must be positive, not %v", f.timeout))
	}
	if f.grace < 0 {
		return usage(fmt.Errorf("--grace must not be negative, but is %v", f.grace))
	}
	if f.grace == 0 {
		f.grace = -1 // no time; to launch 0 is the default
	}
	opts := launch.Options{
		Ranks: f.ranks, Program: given[0], Args: given[1:], Prefix: f.prefix,
		Env:    []string{farhash.TimeoutVariable + "=" + f.timeout.String()},
		Stdout: os.Stdout, Stderr: os.Stderr, Stdin: os.Stdin, Grace: f.grace, Survive: f.survive,
		Cleanup: func(job string) { _ = shm.RemoveJob("", job) },
	}
	if err := f.hosts.apply(&opts); err != nil {
		return usage(err)
	}
	code, err := launch.Run(context.Background(), opts)
	if err != nil || code != 0 {
		return &exitError{code: code, err: err}
	}
	return nil
}
