package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/shm"
	"github.com/farhash/farhash/set"
)

// doctorFlags are the flags of doctor as given.
type doctorFlags struct{ json, mpiRank, ucxProbe bool }

// New is the command.
func New() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Diagnose this machine",
		Args:  cli.NoArgs,

		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Tests what ranks need on this machine: CPUs, huge pages, limits, shared memory, MPI,
UCX. A finding is "ok", a "note" (costs speed or memory in some cases) or a "warning"
(does not work, or costs much). Notes and warnings have a remedy. The exit code is 0
whatever the findings are.

--json prints one object:

  program, system  the version of farhash, and the platform
  warnings, notes  how many there are
  findings         a list; each has group, name, level, message, remedy and values. The
                   names of values end with their units`,
		Example: `  farhash doctor
  farhash doctor --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.mpiRank:
				return beMPIRank(cmd.Context())
			case f.ucxProbe:
				return examineUCX(cmd.Context(), os.Stdout)
			}
			return f.run(cmd.Context(), os.Stdout)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.mpiRank, "mpi-rank", false, "test MPI as one of its ranks")
	flags.BoolVar(&f.ucxProbe, "ucx-probe", false, "test UCX and print JSON")
	_ = flags.MarkHidden("mpi-rank")
	_ = flags.MarkHidden("ucx-probe")
	return cmd
}

// The groups of findings, beside the groups of a machine.
const (
	groupSystem = "system"
	groupRanks  = "ranks"
	groupUCX    = "many hosts"
)

// run tests everything and prints the findings. A signal ends it after the windows of the tests are
// closed: one that was being made would stay in /dev/shm.
func (f *doctorFlags) run(ctx context.Context, out io.Writer) error {
	ctx = cli.CatchSignals(ctx)
	r := Report{Program: cli.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	r.Add(kernel(ctx), available(), launcher())
	here := Here()
	r.Add(here.Findings()...)
	job := local.Single()
	r.Add(probeEngine(ctx, "ranks as goroutines", job, HugeRemedy))
	err := job.Close()
	processes, closed := probeProcesses(ctx)
	r.Add(processes, probeMPI(ctx))
	r.Add(probeUCX(ctx, here)...)
	if ctx.Err() != nil {
		return cli.Interrupted(ctx, "nothing is reported")
	}
	write := r.WriteText
	if f.json {
		write = r.WriteJSON
	}
	printed := write(out)
	if printed != nil {
		printed = fmt.Errorf("printing the answer: %w", printed)
	}
	return errors.Join(err, closed, printed)
}

// kernel is how sets search batches here.
func kernel(ctx context.Context) Finding {
	f := Finding{Group: groupSystem, Name: "search kernel", Level: OK}
	job := local.Single()
	defer job.Close()
	s, err := set.New(ctx, job, set.Config{Buckets: 1})
	if err != nil {
		f.Level, f.Message = Warning, err.Error()
		return f
	}
	defer s.Close()
	is := s.Stats()
	f.Message = fmt.Sprintf("%s, with %d searches in flight", is.Kernel, is.InFlight)
	if is.Prefetch != "" {
		f.Message += ", and " + is.Prefetch + " for insertions"
	}
	f.Values = map[string]any{"kernel": is.Kernel, "inFlight": is.InFlight,
		"prefetch": is.Prefetch}
	return f
}

// minMemoryBytes is what even a small search needs.
const minMemoryBytes = 256 << 20

func available() Finding {
	f := Finding{Group: groupSystem, Name: "memory", Level: OK}
	avail, err := memory.Now()
	if err != nil {
		f.Level, f.Message = Note, fmt.Sprintf("unknown: %v", err)
		f.Remedy = "give a search its memory: farhash explore --mem 2GiB"
		return f
	}
	f.Message = fmt.Sprintf("%s available, according to %s", memory.Format(avail.Bytes),
		avail.Source)
	f.Values = map[string]any{"availableBytes": avail.Bytes, "source": avail.Source}
	if avail.Bytes < minMemoryBytes {
		f.Level = Note
		f.Remedy = "end other programs, or raise the limit of the control group (memory.max)"
	}
	return f
}

func launcher() Finding {
	f := Finding{Group: groupSystem, Name: "launcher", Level: OK}
	name, launched, err := farhash.Launched()
	switch {
	case err != nil:
		f.Level, f.Message = Warning, err.Error()
		f.Remedy = "set these variables for all ranks to what the message asks for, or unset them"
	case launched:
		f.Message = "this process is a rank started by " + name
	default:
		f.Message = "none: a program started in this way is a job of one rank"
	}
	f.Values = map[string]any{"launcher": name}
	return f
}

// probeProcesses tests ranks that share memory; err is the error of closing the job.
func probeProcesses(ctx context.Context) (f Finding, err error) {
	const name = "ranks as processes"
	job, err := shm.Join(ctx, shm.Config{Size: 1, Timeout: 10 * time.Second,
		Job: fmt.Sprintf("doctor-%d", os.Getpid())})
	if err != nil {
		return doesNotWork(name, err), nil // the finding reports it
	}
	return probeEngine(ctx, name, job, SharedHugeRemedy), job.Close()
}

// doesNotWork is the finding for ranks that do not work.
func doesNotWork(name string, err error) Finding {
	return Finding{Group: groupRanks, Name: name, Level: Warning,
		Message: fmt.Sprintf("do not work: %v", err),
		Remedy:  "see the findings memory, memory limit and shared memory above"}
}

// probeWords is the size of the windows that doctor makes: 64 MiB.
const probeWords = 8 << 20

// probeEngine makes a window, writes to it, and reports its share of huge pages.
func probeEngine(ctx context.Context, name string, job rma.Job, remedy string) Finding {
	win, err := job.NewWindow(ctx, rma.Spec{Name: "doctor", Words: probeWords})
	if err != nil {
		return doesNotWork(name, err)
	}
	defer win.Close()
	words := win.Words(0)
	for i := 0; i < len(words); i += 512 {
		words[i] = 1
	}
	f := Finding{Group: groupRanks, Name: name, Level: OK}
	huge, err := memory.HugeBytes(words)
	if err != nil {
		f.Message = fmt.Sprintf("work; huge pages: unknown (%v)", err)
		return f
	}
	share := float64(huge) / float64(len(words)*8)
	f.Values = map[string]any{"hugeShare": share}
	f.Message = fmt.Sprintf("work; %.0f %% in huge pages", 100*share)
	if share <= 0.5 {
		f.Level, f.Remedy = Note, remedy
		f.Message += ", which makes large tables slower"
	}
	return f
}
