// Package run is the command farhash run, which starts the ranks of a job.
package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/rma/shm"
)

// runFlags are the flags of run as given.
type runFlags struct {
	ranks          int
	prefix         bool
	survive        bool
	timeout, grace time.Duration
	lost           time.Duration
	hosts          hostFlags
}

// New is the command.
func New() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run -n RANKS [flags] -- PROGRAM [ARGS...]",
		Short: "Start a program as the ranks of a job, on one host or several",
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				return cli.Usage(errors.New("PROGRAM is missing: what to start; for example: " +
					"farhash run -n 4 -- farhash explore examples/philosophers-12.pnml"))
			}
			return nil
		},
		Long: `Starts PROGRAM once for each rank and waits for all of them. The ranks of a host find
each other through shared memory. Their output is passed on line by line, and signals
are forwarded.

The exit code is 0 if all ranks end with 0. Otherwise it is the code of the first rank that
failed, 128 plus the signal for a rank that a signal killed, or 4 if another rank then
ends with 4 because of that loss, as farhash explore does. It is 127 if PROGRAM is not
found, 126 if it cannot be executed, and 2 for wrong usage of farhash run itself. After
a failure the other ranks have the time of --grace to end. With --survive the job
continues without a killed rank, and its exit code is the others'.

For a job on several hosts run the command on each of them, with --rendezvous: an
address of the host that has --node-rank 0, the same for all. PROGRAM must be built with
-tags ucx, as in the example; the farhash of make build is not. Only processes with the
token of --token-file are admitted. Their messages are then neither encrypted nor
signed, and the ports of UCX ask for no token: only the hosts of the job may reach them
(see farhash doctor).`,
		Example: `  farhash run -n 4 -- farhash explore examples/philosophers-12.pnml

  On several hosts: build with UCX in the sources of farhash, make a token,
  copy both to all hosts, and run the last command on each with its number.
  CGO_ENABLED=1 go build -tags ucx -o farhash-ucx ./cmd/farhash
  (umask 077; head -c 24 /dev/urandom | base64 > token)
  farhash run --rendezvous 10.0.0.1:29500 --nnodes 2 --node-rank 0 \
      --nproc 2 --token-file token -- \
      ./farhash-ucx explore examples/philosophers-12.pnml`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if flags := cmd.Flags(); flags.Changed("ranks") == flags.Changed("nproc") {
				return cli.Usage(errors.New("give the number of ranks by either -n or --nproc; " +
					"for example: farhash run -n 4 -- " + given[0]))
			}
			return f.run(given)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.ranks, "ranks", "n", 0, "`N` processes to start on this host")
	flags.IntVar(&f.ranks, "nproc", 0, "`N` as for -n; the name in torchrun")
	flags.BoolVarP(&f.prefix, "prefix", "p", false, "put [rank] before each line of output")
	flags.DurationVar(&f.timeout, "timeout", shm.DefaultTimeout,
		"`TIME` that ranks wait for each other at the start")
	flags.DurationVar(&f.lost, "timeout-lost", 0,
		"`TIME` for which another host may be out of reach before its ranks are lost; 3s if "+
			"not given")
	flags.DurationVar(&f.grace, "grace", launch.DefaultGrace,
		"`TIME` that other ranks have to end after one has failed")
	flags.BoolVar(&f.survive, "survive", false,
		"let the other ranks continue after a signal has killed one")
	f.hosts.register(cmd)
	cli.CompleteFlags(cmd, nil)
	flags.SetInterspersed(false)
	return cmd
}

func (f *runFlags) run(given []string) error {
	if f.ranks < 1 || f.ranks > shm.MaxRanks {
		return cli.Usage(fmt.Errorf("-n must be 1 to %d, not %d", shm.MaxRanks, f.ranks))
	}
	if f.timeout <= 0 {
		return cli.Usage(fmt.Errorf("--timeout must be positive, not %v", f.timeout))
	}
	if f.lost < 0 {
		return cli.Usage(fmt.Errorf("--timeout-lost must be positive, not %v", f.lost))
	}
	if f.grace < 0 {
		return cli.Usage(fmt.Errorf("--grace must not be negative, but is %v", f.grace))
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
	if f.lost > 0 {
		opts.Env = append(opts.Env, farhash.LostVariable+"="+f.lost.String())
	}
	if err := f.hosts.apply(&opts); err != nil {
		return cli.Usage(err)
	}
	code, err := launch.Run(context.Background(), opts)
	if err != nil || code != 0 {
		return &cli.ExitError{Code: code, Err: err}
	}
	return nil
}
