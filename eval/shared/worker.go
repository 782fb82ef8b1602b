package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/eval/internal/measure"
)

// WorkerName is the command that a process of the measurement runs.
const WorkerName = "shared-worker"

// warmPart of the time comes first and is not measured: memory is mapped, and all others begin.
const warmPart = .2

// task is what a process is told first: to open a store.
type task struct {
	Place   place
	Process int // its number
}

// order is what it is told then, any number of times.
type order struct {
	Workload workload
	Batch    int
	Seconds  float64
}

// outcome answers a task, and each order.
type outcome struct {
	Calls uint64
	Took  time.Duration
	Error string
}

// Worker is the command. It takes a task and orders from standard input, until its end.
func Worker() *cobra.Command {
	return &cobra.Command{Use: WorkerName, Hidden: true, Args: cobra.NoArgs,
		Short: "One process of the command shared",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return work(cmd.Context(), json.NewDecoder(cmd.InOrStdin()),
				json.NewEncoder(cmd.OutOrStdout()))
		}}
}

func work(ctx context.Context, in *json.Decoder, out *json.Encoder) (err error) {
	runtime.LockOSThread() // stores in C have memory of the thread
	defer runtime.UnlockOSThread()
	var t task
	if err := in.Decode(&t); err != nil {
		return fmt.Errorf("%s is started by the command shared: %w", WorkerName, err)
	}
	s, err := t.Place.open(ctx)
	if err != nil {
		return out.Encode(outcome{Error: err.Error()})
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p := newPiece(pieceCalls, t.Process)
	p.follow(measure.NewLaw(measure.Zipf, int(t.Place.Records)), drawn)
	for err = out.Encode(outcome{}); err == nil; {
		var o order
		if err := in.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		result, failed := o.obey(s, p)
		if failed != nil {
			result.Error = failed.Error()
		}
		err = out.Encode(result)
	}
	return err
}

// obey measures a workload.
func (o *order) obey(s store, p *piece) (sum outcome, err error) {
	begin := time.Now()
	seconds := func(n float64) time.Time {
		return begin.Add(time.Duration(n * float64(time.Second)))
	}
	warm, end := seconds(warmPart*o.Seconds), seconds(o.Seconds)
	for sum.Calls == 0 || time.Now().Before(end) {
		measured := time.Now().After(warm)
		until := end
		if !measured {
			until = warm
		}
		p.fill(o.Workload)
		n, took, err := p.run(s, o.Batch, until)
		if err == nil {
			err = p.check(n)
		}
		if err != nil {
			return sum, err
		}
		if measured {
			sum.Calls += uint64(n)
			sum.Took += took
		}
	}
	return sum, nil
}

// crew is the processes that use one store.
type crew []*member

// member is a process that this one has started.
type member struct {
	cmd *exec.Cmd
	to  io.WriteCloser
	in  *json.Encoder
	out *json.Decoder
}

// newCrew starts processes. They have opened the store when it returns.
func newCrew(ctx context.Context, at *place, n int) (c crew, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, c.dismiss())
		}
	}()
	for process := range n {
		m, err := newMember(ctx)
		if err != nil {
			return c, err
		}
		c = append(c, m)
		if err := m.in.Encode(task{*at, process + 1}); err != nil {
			return c, err
		}
	}
	_, err = c.outcomes()
	return c, err
}

func newMember(ctx context.Context) (*member, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, own, WorkerName)
	cmd.Stderr = os.Stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &member{cmd, to, json.NewEncoder(to), json.NewDecoder(from)}, cmd.Start()
}

// obey has all processes do the same.
func (c crew) obey(o order) ([]outcome, error) {
	for _, m := range c {
		if err := m.in.Encode(o); err != nil {
			return nil, err
		}
	}
	return c.outcomes()
}

// outcomes takes an answer of each.
func (c crew) outcomes() (all []outcome, err error) {
	for _, m := range c {
		var is outcome
		if err := m.out.Decode(&is); err != nil {
			return nil, fmt.Errorf("a process of the measurement has ended: %w", err)
		}
		if is.Error != "" {
			err = errors.Join(err, errors.New(is.Error))
		}
		all = append(all, is)
	}
	return all, err
}

// dismiss ends the processes.
func (c crew) dismiss() (err error) {
	for _, m := range c {
		err = errors.Join(err, m.to.Close())
	}
	for _, m := range c {
		err = errors.Join(err, m.cmd.Wait())
	}
	return err
}
