package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/shm"
	"github.com/farhash/farhash/set"
)

func newDoctor() *cobra.Command {
	mpiRank := false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what works on this machine, and what to do about the rest",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if mpiRank {
				return beMPIRank(cmd.Context())
			}
			return examine(cmd.Context(), os.Stdout)
		},
	}
	cmd.Flags().BoolVar(&mpiRank, "mpi-rank", false, "try out MPI as a rank of it")
	_ = cmd.Flags().MarkHidden("mpi-rank")
	return cmd
}

// probeWords is the size of the windows that doctor makes: 64 MiB.
const probeWords = 8 << 20

// examine prints one line for each thing that matters.
func examine(ctx context.Context, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", what, fmt.Sprintf(format, args...))
	}
	line("system", "%s/%s, %d cores for this process, %s", runtime.GOOS, runtime.GOARCH,
		runtime.GOMAXPROCS(0), runtime.Version())
	line("search kernels", "%v; the first is used", set.Kernels())
	if avail, err := memory.Now(); err != nil {
		line("memory", "unknown: %v", err)
	} else {
		line("memory", "%s available, says %s", memory.Format(avail.Bytes), avail.Source)
	}
	switch launcher, launched, err := farhash.Launched(); {
	case err != nil:
		line("launcher", "trouble: %v", err)
	case launched:
		line("launcher", "this process is a rank started by %s", launcher)
	default:
		line("launcher", "none: a program started like this is a job of one rank")
	}
	job := local.Single()
	line("ranks as goroutines", "%s", probeEngine(ctx, job, hugeRemedyLocal))
	_ = job.Close()
	shared, err := shm.Join(ctx, shm.Config{Size: 1, Timeout: 10 * time.Second,
		Job: fmt.Sprintf("doctor-%d", os.Getpid())})
	if err != nil {
		line("ranks as processes", "do not work: %v", err)
		err = nil // it has been told
	} else {
		line("ranks as processes", "%s", probeEngine(ctx, shared, hugeRemedyShared))
		err = shared.Close()
	}
	line("ranks under MPI", "%s", probeMPI(ctx))
	if told := w.Flush(); told != nil {
		err = errors.Join(err, fmt.Errorf("printing the answer: %w", told))
	}
	return err
}

const (
	hugeRemedyLocal = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled " +
		"gives them where it is \"never\""
	hugeRemedyShared = "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled " +
		"gives them to shared memory"
)

// probeEngine makes a window, touches it, and tells what it is made of.
func probeEngine(ctx context.Context, job rma.Job, remedy string) string {
	win, err := job.NewWindow(ctx, rma.Spec{Name: "doctor", Words: probeWords})
	if err != nil {
		return fmt.Sprintf("do not work: %v", err)
	}
	defer win.Close()
	words := win.Words(0)
	for i := 0; i < len(words); i += 512 {
		words[i] = 1
	}
	report := []string{"work"}
	huge, err := memory.HugeBytes(words)
	switch share := float64(huge) / float64(len(words)*8); {
	case err != nil:
		report = append(report, fmt.Sprintf("huge pages: unknown (%v)", err))
	case share > 0.5:
		report = append(report, fmt.Sprintf("%.0f %% in huge pages", 100*share))
	default:
		report = append(report, fmt.Sprintf(
			"%.0f %% in huge pages, which costs speed in large tables: %s", 100*share, remedy))
	}
	return strings.Join(report, "; ")
}
