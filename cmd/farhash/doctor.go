package main

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
	"github.com/farhash/farhash/internal/doctor"
	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/shm"
	"github.com/farhash/farhash/set"
)

// doctorFlags are the flags of doctor as given.
type doctorFlags struct{ json, mpiRank, ucxLook bool }

func newDoctor() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what works on this machine, and what to do about the rest",
		Args:  args(cobra.NoArgs),
		Long: `Tries out what ranks need on this machine: CPUs, huge pages, limits, shared memory,
MPI and UCX. What is not "ok" is a "note" (costs speed or room in some cases) or a
"warning" (does not work, or costs much), and has a remedy. The exit code is 0 also then.

--json prints one object: program, system, warnings, notes (how many), and findings, each
with group, name, level, says, remedy and values; units are last in names of values.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.mpiRank:
				return beMPIRank(cmd.Context())
			case f.ucxLook:
				return lookAtUCX(cmd.Context(), os.Stdout)
			}
			return f.run(cmd.Context(), os.Stdout)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVar(&f.mpiRank, "mpi-rank", false, "try out MPI as a rank of it")
	flags.BoolVar(&f.ucxLook, "ucx-look", false, "try out UCX and print JSON")
	_ = flags.MarkHidden("mpi-rank")
	_ = flags.MarkHidden("ucx-look")
	return cmd
}

// The groups of findings, beside those of a machine.
const (
	groupSystem = "system"
	groupRanks  = "ranks"
	groupUCX    = "many hosts"
)

// run examines everything and prints what it finds. A signal ends it when what it tries out is
// put away: a window that was being made would stay in /dev/shm.
func (f *doctorFlags) run(ctx context.Context, out io.Writer) error {
	ctx, caught := catchSignals(ctx)
	r := doctor.Report{Program: version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	r.Add(kernels(), available(), launcher())
	here := doctor.Here()
	r.Add(here.Findings()...)
	job := local.Single()
	r.Add(probeEngine(ctx, "ranks as goroutines", job, doctor.HugeRemedy))
	err := job.Close()
	processes, closed := probeProcesses(ctx)
	r.Add(processes, probeMPI(ctx))
	r.Add(probeUCX(ctx, here.Cards())...)
	if signal := context.Cause(ctx); signal != nil {
		return &exitError{code: interruptCode(caught), err: errors.Join(signal, err, closed)}
	}
	write := r.WriteText
	if f.json {
		write = r.WriteJSON
	}
	if told := write(out); told != nil {
		told = fmt.Errorf("printing the answer: %w", told)
		return errors.Join(err, closed, told)
	}
	return errors.Join(err, closed)
}

func kernels() doctor.Finding {
	names := set.Kernels()
	return doctor.Finding{Group: groupSystem, Name: "search kernels", Level: doctor.OK,
		Says: fmt.Sprintf("%v; the first is used", names), Values: map[string]any{"kernels": names}}
}

// memoryLeastBytes is where even a small search has trouble.
const memoryLeastBytes = 256 << 20

func available() doctor.Finding {
	f := doctor.Finding{Group: groupSystem, Name: "memory", Level: doctor.OK}
	avail, err := memory.Now()
	if err != nil {
		f.Level, f.Says = doctor.Note, fmt.Sprintf("unknown: %v", err)
		f.Remedy = "say how much a search may take: farhash explore --mem 2GiB"
		return f
	}
	f.Says = fmt.Sprintf("%s available, says %s", memory.Format(avail.Bytes), avail.Source)
	f.Values = map[string]any{"availableBytes": avail.Bytes, "source": avail.Source}
	if avail.Bytes < memoryLeastBytes {
		f.Level = doctor.Note
		f.Remedy = "end other programs, or raise the limit of the control group (memory.max)"
	}
	return f
}

func launcher() doctor.Finding {
	f := doctor.Finding{Group: groupSystem, Name: "launcher", Level: doctor.OK}
	name, launched, err := farhash.Launched()
	switch {
	case err != nil:
		f.Level, f.Says = doctor.Warning, fmt.Sprintf("trouble: %v", err)
		f.Remedy = "set the variables that it names for all ranks alike, to what it asks for, or " +
			"unset them"
	case launched:
		f.Says = "this process is a rank started by " + name
	default:
		f.Says = "none: a program started like this is a job of one rank"
	}
	f.Values = map[string]any{"launcher": name}
	return f
}

// probeProcesses tries out ranks that share memory; err is trouble at the end.
func probeProcesses(ctx context.Context) (f doctor.Finding, err error) {
	const name = "ranks as processes"
	job, err := shm.Join(ctx, shm.Config{Size: 1, Timeout: 10 * time.Second,
		Job: fmt.Sprintf("doctor-%d", os.Getpid())})
	if err != nil {
		return doesNotWork(name, err), nil // it has been told
	}
	return probeEngine(ctx, name, job, doctor.SharedHugeRemedy), job.Close()
}

// doesNotWork is what is found of ranks that do not.
func doesNotWork(name string, err error) doctor.Finding {
	return doctor.Finding{Group: groupRanks, Name: name, Level: doctor.Warning,
		Says:   fmt.Sprintf("do not work: %v", err),
		Remedy: "see memory, memory limit and shared memory above"}
}

// probeWords is the size of the windows that doctor makes: 64 MiB.
const probeWords = 8 << 20

// probeEngine makes a window, touches it, and tells what it is made of.
func probeEngine(ctx context.Context, name string, job rma.Job, remedy string) doctor.Finding {
	win, err := job.NewWindow(ctx, rma.Spec{Name: "doctor", Words: probeWords})
	if err != nil {
		return doesNotWork(name, err)
	}
	defer win.Close()
	words := win.Words(0)
	for i := 0; i < len(words); i += 512 {
		words[i] = 1
	}
	f := doctor.Finding{Group: groupRanks, Name: name, Level: doctor.OK}
	huge, err := memory.HugeBytes(words)
	if err != nil {
		f.Says = fmt.Sprintf("work; huge pages: unknown (%v)", err)
		return f
	}
	share := float64(huge) / float64(len(words)*8)
	f.Values = map[string]any{"hugeShare": share}
	f.Says = fmt.Sprintf("work; %.0f %% in huge pages", 100*share)
	if share <= 0.5 {
		f.Level, f.Remedy = doctor.Note, remedy
		f.Says += ", which costs speed in large tables"
	}
	return f
}
